package lambdahttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
)

// DefaultBodyMax is the cap on JSON bodies, in bytes, where no configuration sets another (core §0.1).
const DefaultBodyMax = 1 << 20

// ReadJSON reads the body as one strict JSON document of at most maxBytes bytes. An empty body is an empty object. Errors
// are ready to answer with: 413 "payload too large" with max_bytes (core §0.1), or 400 for anything that is not
// strict JSON, duplicate keys and invalid UTF-8 included (D17). Their text never quotes the body.
func ReadJSON(r *http.Request, maxBytes int64) (canonical.Value, error) {
	body, err := ReadBody(r, maxBytes)
	if err != nil {
		return canonical.Value{}, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	v, err := canonical.Parse(body, canonical.Limits{MaxBytes: int(maxBytes)})
	if err != nil {
		return canonical.Value{}, notJSON(err, maxBytes)
	}
	return v, nil
}

// ReadBody reads the body, or fails with 413 when it has more than maxBytes bytes (core §0.1).
func ReadBody(r *http.Request, maxBytes int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBytes+1))
	if err != nil {
		return nil, apierr.Wrap(apierr.Invalid, "the body could not be read", err)
	}
	if int64(len(body)) > maxBytes {
		return nil, tooLarge(maxBytes)
	}
	return body, nil
}

func tooLarge(maxBytes int64) error {
	return apierr.New(apierr.PayloadTooLarge, "payload too large").With("max_bytes", maxBytes)
}

func notJSON(err error, maxBytes int64) error {
	reason := "the body is not JSON"
	switch {
	case errors.Is(err, canonical.ErrTooLarge):
		return tooLarge(maxBytes)
	case errors.Is(err, canonical.ErrDuplicateKey):
		reason = "the body has an object with a duplicate key"
	case errors.Is(err, canonical.ErrInvalidUTF8):
		reason = "the body is not valid UTF-8"
	case errors.Is(err, canonical.ErrTooDeep):
		reason = "the body is nested too deeply"
	}
	return apierr.Wrap(apierr.Invalid, reason, err)
}

// BearerToken is the Authorization header without a leading "Bearer " of any case, which may be absent; "" without a
// credential. The query is never looked at: it ends up in logs (core §0.2).
func BearerToken(r *http.Request) string {
	const scheme = "bearer "
	v := strings.TrimSpace(r.Header.Get("Authorization"))
	if len(v) >= len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
		return strings.TrimSpace(v[len(scheme):])
	}
	if strings.EqualFold(v, "bearer") {
		return ""
	}
	return v
}

// WriteError answers with err (see apierr.Write) and logs the private text of one that is our fault. Use it for every
// failed request: it knows the request id and the logger.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	if e := apierr.Of(err); e.Code.Status() >= http.StatusInternalServerError {
		Logger(ctx).LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("code", string(e.Code)), slog.String("error", e.Error()))
	}
	noteFailure(ctx, err)
	apierr.Write(w, err, RequestID(ctx))
}

type scopeKey struct{}

// scope is what one request carries in its context.
type scope struct {
	requestID string
	traceID   string
	logger    *slog.Logger
}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// RequestID is the gateway's id of the request, or Lambda's id of the invocation; "" outside a request.
func RequestID(ctx context.Context) string { return scopeOf(ctx).requestID }

// TraceID is the root id of the X-Ray trace, or else the request id; "" outside a request.
func TraceID(ctx context.Context) string { return scopeOf(ctx).traceID }

// Logger is the logger of the request: its lines carry request_id and trace_id. Outside a request it discards.
func Logger(ctx context.Context) *slog.Logger { return scopeOf(ctx).logger }
