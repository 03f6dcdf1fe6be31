package lambdahttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"

	"bailing/shared/apierr"
)

// buffered runs h with a request and a response as net/http makes them, and passes the finished response on in one
// piece.
func buffered(h http.Handler, maxBody int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		likeServer(r)
		buf := &response{header: http.Header{}, maxBody: maxBody, discard: r.Method == http.MethodHead}
		if err := run(h, buf, r); err != nil {
			buf = &response{header: http.Header{}, maxBody: maxBody, discard: buf.discard}
			noteFailure(r.Context(), err)
			apierr.Write(buf, err, RequestID(r.Context()))
		}
		buf.copyTo(w)
	})
}

// likeServer gives the adapter's request the members that a server's request has.
func likeServer(r *http.Request) {
	r.Host = r.URL.Host
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	r.Header.Del("Host")
	// The adapter writes the query in map order; sorted, the same event always is the same request.
	r.URL = &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.Query().Encode()}
	r.RequestURI = r.URL.RequestURI()
}

// run calls h and turns what it did wrong into an internal error.
func run(h http.Handler, w *response, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			logPanic(r.Context(), v)
			err = apierr.Wrap(apierr.Internal, "internal_error", fmt.Errorf("panic: %v", v))
		}
	}()
	h.ServeHTTP(w, r)
	if w.overflow {
		Logger(r.Context()).LogAttrs(r.Context(), slog.LevelError, "response too large", slog.Int("max_bytes", w.maxBody))
		return apierr.Wrap(apierr.Internal, "internal_error", errResponseTooLarge)
	}
	return nil
}

func logPanic(ctx context.Context, v any) {
	Logger(ctx).LogAttrs(ctx, slog.LevelError, "panic",
		slog.String("error", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
}

var errResponseTooLarge = errors.New("response too large for a Lambda function")

// response collects what a handler writes, by the rules of net/http's server.
type response struct {
	header   http.Header // what the handler sees
	sent     http.Header // copy made by the first WriteHeader; nil before
	status   int
	body     bytes.Buffer
	maxBody  int
	overflow bool
	discard  bool // HEAD
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status code %d", status))
	}
	if w.sent != nil || status < 200 {
		return // informational answers have no place in a Lambda response
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.discard:
		return len(p), nil
	case w.body.Len()+len(p) > w.maxBody:
		w.overflow = true
		return 0, errResponseTooLarge
	}
	return w.body.Write(p)
}

func (w *response) copyTo(to http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	for name, values := range w.sent {
		to.Header()[name] = values
	}
	to.WriteHeader(w.status)
	if w.body.Len() > 0 {
		_, _ = to.Write(w.body.Bytes())
	}
}
