package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

// streamer is a streaming function.
type streamer func(ctx context.Context, w io.Writer) error

func (f streamer) Invoke(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("not in one piece")
}

func (f streamer) InvokeStream(ctx context.Context, _ []byte, w io.Writer) error { return f(ctx, w) }

// river is a gateway with one streaming function behind a real server.
type river struct {
	t      *testing.T
	clock  *clock.Manual
	g      *Gateway
	server *httptest.Server
}

func flow(t *testing.T, h lambda.Handler) *river {
	t.Helper()
	return flowOn(t, clock.NewManual(time.Unix(1_760_000_000, 0)), h)
}

func flowOn(t *testing.T, c *clock.Manual, h lambda.Handler) *river {
	t.Helper()
	t.Parallel()
	r := &river{t: t, clock: c}
	tp := routes("POST /long")
	tp.Functions[0].Streaming, tp.Functions[0].Timeout = true, 15*time.Minute
	var err error
	if r.g, err = New(tp, map[string]lambda.Handler{"f": h}, Options{Clock: r.clock}); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(r.g)
	t.Cleanup(func() {
		r.server.Close()
		if err := r.g.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// post begins a request; its answer's body is not read.
func (r *river) post(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.URL+"/long", strings.NewReader("{}"))
	if err != nil {
		r.t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

func (r *river) want(status int, body string) {
	r.t.Helper()
	res, err := r.post(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Error(err)
	}
	wantAnswer(r.t, res, string(got), status, body)
}

const head = `{"statusCode":201,"headers":{"Content-Type":"text/plain","Server":"own"},"cookies":["a=1","b=2"]}` + "\x00\x00\x00\x00\x00\x00\x00\x00"

// A client reads each piece before the function makes the next one.
func TestPiecesArriveAsTheyCome(t *testing.T) {
	step := make(chan string)
	r := flow(t, streamer(func(_ context.Context, w io.Writer) error {
		for p := range step {
			_, _ = io.WriteString(w, p)
		}
		return nil
	}))
	go func() {
		step <- head[:20] // a head in three pieces, the second of which is cut in the zero bytes
		step <- head[20 : len(head)-3]
		step <- head[len(head)-3:]
	}()
	res, err := r.post(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 201 || strings.Join(res.Header.Values("Set-Cookie"), "|") != "a=1|b=2" || res.Header.Get("X-Amzn-Remapped-Server") != "own" {
		t.Errorf("answer %d %v", res.StatusCode, res.Header)
	}
	for _, p := range []string{"\n", "\n", `{"a":`, `1}`} {
		step <- p
		got := make([]byte, len(p))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != p {
			t.Fatalf("%q, %v; want %q", got, err, p)
		}
	}
	close(step)
	if rest, err := io.ReadAll(res.Body); len(rest) != 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestStreamsThatAreNoAnswer(t *testing.T) {
	const failed = `{"message":"Internal server error"}`
	writes := func(s string, err error) streamer {
		return func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, s)
			return err
		}
	}
	// prelude is a head of n bytes with its zero bytes.
	prelude := func(n int) string {
		frame := `{"statusCode":200,"headers":{"X-A":""}}`
		return frame[:len(frame)-3] + strings.Repeat("x", n-len(frame)-len(delimiter)) + `"}}` + string(delimiter)
	}
	cases := []struct {
		name   string
		f      streamer
		status int
		body   string
	}{
		{"nothing", writes("", nil), 502, failed},
		{"an error before the head", writes("", errors.New("no")), 502, failed},
		{"a panic before the head", func(context.Context, io.Writer) error { panic("no") }, 502, failed},
		{"an unfinished head", writes(head[:len(head)-1], nil), 502, failed},
		{"a head that is not JSON", writes("no\x00\x00\x00\x00\x00\x00\x00\x00", nil), 502, failed},
		{"an impossible status", writes(`{"statusCode":600}`+"\x00\x00\x00\x00\x00\x00\x00\x00", nil), 502, failed},
		{"a head at the limit", writes(prelude(lambdahttp.PreludeMax)+"x", nil), 200, "x"},
		{"a head past the limit", writes(prelude(lambdahttp.PreludeMax+1)+"x", nil), 502, failed},
		{"a head without end", writes(strings.Repeat("x", lambdahttp.PreludeMax), nil), 502, failed},
		{"an empty body", writes(`{"statusCode":200}`+"\x00\x00\x00\x00\x00\x00\x00\x00", nil), 200, ""},
		{"a status without body", writes(`{"statusCode":204}`+"\x00\x00\x00\x00\x00\x00\x00\x00x", nil), 204, ""},
		{"zero bytes in the body", writes(`{"statusCode":200}`+strings.Repeat("\x00", 17), nil), 200, strings.Repeat("\x00", 9)},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) { flow(t, tc.f).want(tc.status, tc.body) })
	}
}

func TestAStreamThatFailsIsCut(t *testing.T) {
	r := flow(t, streamer(func(_ context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, head+"\n")
		return errors.New("no")
	}))
	res, err := r.post(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); string(body) != "\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", body, err)
	}
}

func TestTheTimesOfAStream(t *testing.T) {
	cases := []struct {
		name string
		play func(c *clock.Manual, w io.Writer)
		sent bool // the head
	}{
		{"5 min without a byte", func(c *clock.Manual, _ io.Writer) { c.Advance(idleTimeout) }, false},
		{"5 min without a byte after the head", func(c *clock.Manual, w io.Writer) {
			c.Advance(idleTimeout - 1)
			_, _ = io.WriteString(w, head+"\n")
			c.Advance(idleTimeout)
		}, true},
		{"15 min", func(c *clock.Manual, w io.Writer) {
			_, _ = io.WriteString(w, head)
			for range 3 {
				c.Advance(idleTimeout - 1)
				_, _ = io.WriteString(w, "\n")
			}
			c.Advance(3)
		}, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var r *river
			finish, ended := make(chan struct{}), make(chan struct{})
			r = flow(t, streamer(func(_ context.Context, w io.Writer) error {
				defer close(ended)
				tc.play(r.clock, w)
				<-finish
				_, err := io.WriteString(w, "late")
				return err
			}))
			res, err := r.post(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			switch {
			case tc.sent && (res.StatusCode != 201 || !errors.Is(err, io.ErrUnexpectedEOF) || strings.Trim(string(body), "\n") != ""):
				t.Errorf("answer %d %q, %v", res.StatusCode, body, err)
			case !tc.sent && (res.StatusCode != 504 || string(body) != `{"message":"Endpoint request timed out"}` || err != nil):
				t.Errorf("answer %d %q, %v", res.StatusCode, body, err)
			}
			close(finish) // the invocation has outlived its request
			<-ended
		})
	}
}

func TestAStreamGoesOnWhenTheClientLeaves(t *testing.T) {
	left, ended := make(chan struct{}), make(chan error, 1)
	r := flow(t, streamer(func(ctx context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, head+"\n")
		<-left
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 20 { // more than any socket holds
			if _, err := w.Write(piece); err != nil {
				ended <- err
				return err
			}
		}
		ended <- ctx.Err()
		return nil
	}))
	ctx, leave := context.WithCancel(t.Context())
	res, err := r.post(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	_ = res.Body.Close()
	close(left)
	if err := <-ended; err != nil {
		t.Errorf("the invocation ended with %v", err)
	}
}

// A client that takes nothing holds the stream back for a while, and is dropped then.
func TestAClientThatReadsNothingDoesNotBlockForEver(t *testing.T) {
	ended := make(chan struct{})
	r := flow(t, streamer(func(_ context.Context, w io.Writer) error {
		defer close(ended)
		_, _ = io.WriteString(w, head)
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range 64 { // more than any socket holds
			_, _ = w.Write(piece)
		}
		return nil
	}))
	r.g.wait = 100 * time.Millisecond
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /long HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// The whole way of a long call: through the real adapter, over HTTP, with white space before the body.
func TestALongCallThroughTheGateway(t *testing.T) {
	began, finish := make(chan struct{}), make(chan error)
	m := clock.NewManual(time.Unix(1_760_000_000, 0))
	r := flowOn(t, m, lambdahttp.Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lambdahttp.Passed(r.Context(), func(error) []byte { return []byte(`{"error":"reconciliation_required"}`) })
		began <- struct{}{}
		if err := <-finish; err != nil {
			lambdahttp.WriteError(w, r, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}), lambdahttp.Options{Clock: m}))
	for _, tc := range []struct {
		name    string
		periods int
		err     error
		status  int
		body    string
	}{
		{"soon", 0, nil, 202, `{"ok":true}`},
		{"after 30 s", 2, nil, 200, "\n\n" + `{"ok":true}`},
		{"after 600 s", 40, nil, 200, strings.Repeat("\n", 40) + `{"ok":true}`},
		{"failed after 15 s", 1, errors.New("lost"), 200, "\n" + `{"error":"reconciliation_required"}`},
	} {
		type answered struct {
			res *http.Response
			err error
		}
		got := make(chan answered, 1)
		go func() {
			res, err := r.post(t.Context())
			got <- answered{res, err}
		}()
		<-began
		var a answered
		var seen []byte
		for n := range tc.periods {
			m.Advance(lambdahttp.Heartbeat)
			if n == 0 {
				if a = <-got; a.err != nil {
					t.Fatal(a.err)
				}
			}
			p := make([]byte, 1)
			if _, err := io.ReadFull(a.res.Body, p); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, p...)
		}
		finish <- tc.err
		if tc.periods == 0 {
			if a = <-got; a.err != nil {
				t.Fatal(a.err)
			}
		}
		rest, err := io.ReadAll(a.res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.res.Body.Close()
		body := string(append(seen, rest...))
		if a.res.StatusCode != tc.status || body != tc.body || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %q, want %d %q", tc.name, a.res.StatusCode, body, tc.status, tc.body)
		}
	}
}
