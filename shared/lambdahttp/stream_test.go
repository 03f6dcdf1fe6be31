package lambdahttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/clock"
)

// committedHead is the prelude of every committed answer with the zero bytes behind it.
const committedHead = `{"statusCode":200,"multiValueHeaders":{"Cache-Control":["no-store"],"Content-Type":["application/json; charset=utf-8"]}}` +
	"\x00\x00\x00\x00\x00\x00\x00\x00"

// internalError is a 500 that was answered plainly.
const internalError = `{"statusCode":500,"multiValueHeaders":{"Cache-Control":["no-store"],"Content-Type":["application/json; charset=utf-8"],"X-Request-Id":["req-1"]}}` +
	"\x00\x00\x00\x00\x00\x00\x00\x00" + `{"error":"internal_error","request_id":"req-1"}`

// plainHead is the prelude of an error that was answered plainly.
func plainHead(status string) string {
	return `{"statusCode":` + status + `,"multiValueHeaders":{"Cache-Control":["no-store"],"Content-Type":["application/json; charset=utf-8"]}}` +
		"\x00\x00\x00\x00\x00\x00\x00\x00"
}

// stage is an endpoint that a test leads step by step.
type stage struct {
	*bundle
	steps chan func(http.ResponseWriter, *http.Request)
	ready chan struct{} // after each step
	out   pieces
	ended chan error // what InvokeStream returned
	taken string     // what until took
}

// pieces takes a stream. It is read with its methods only.
type pieces chan string

func (p pieces) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}

// perform begins an invocation. Its endpoint takes steps until one is nil. prepare, if any, sets the bundle up and gives the context.
func perform(t *testing.T, prepare func(*bundle) context.Context) *stage {
	t.Helper()
	s := &stage{
		bundle: setup(t), steps: make(chan func(http.ResponseWriter, *http.Request)), ready: make(chan struct{}),
		out: make(pieces, 1000), ended: make(chan error, 1),
	}
	within := t.Context()
	if prepare != nil {
		within = prepare(s.bundle)
	}
	h := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for step := range s.steps {
			if step == nil {
				return
			}
			step(w, r)
			s.ready <- struct{}{}
		}
	}), s.options())
	payload, err := json.Marshal(event())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.out)
		s.ended <- h.InvokeStream(within, payload, s.out)
	}()
	s.do(func(http.ResponseWriter, *http.Request) {}) // it has begun
	return s
}

func (b *bundle) options() Options {
	return Options{Logger: slog.New(slog.NewJSONHandler(&b.logs, nil)), Metrics: &b.metrics, Clock: b.clock, MaxResponse: b.max}
}

// do lets the endpoint take a step.
func (s *stage) do(step func(w http.ResponseWriter, r *http.Request)) {
	s.steps <- step
	<-s.ready
}

// end lets the endpoint take a last step, which need not return.
func (s *stage) end(step func(w http.ResponseWriter, r *http.Request)) {
	s.steps <- step
	if step != nil {
		select {
		case <-s.ready:
			s.steps <- nil
		case <-s.ended: // it panicked
			s.ended <- nil
		}
	}
}

// passed is the step that opens the way to the commit.
func passed(late func(error) []byte) func(http.ResponseWriter, *http.Request) {
	return func(_ http.ResponseWriter, r *http.Request) { Passed(r.Context(), late) }
}

// writes is a step that answers.
func writes(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Own", "1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func fails(err error) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, err) }
}

// whole is the rest of the stream.
func (s *stage) whole() string {
	s.t.Helper()
	var b strings.Builder
	for p := range s.out {
		b.WriteString(p)
	}
	if err := <-s.ended; err != nil {
		s.t.Errorf("the invocation failed: %v", err)
	}
	return b.String()
}

// next is the next piece of the stream, which a test waits for before it moves the clock on.
func (s *stage) next() string { return <-s.out }

// reconcile is the late function of these tests.
func reconcile(err error) []byte {
	b, _ := json.Marshal(map[string]string{"error": "reconciliation_required", "cause": err.Error()})
	return b
}

// want200 is a committed stream of n bytes of white space and a body.
func want200(n int, body string) string { return committedHead + strings.Repeat("\n", n) + body }

func TestWhenAnAnswerIsCommitted(t *testing.T) {
	t.Parallel()
	const second = time.Second
	own := `{"statusCode":201,"multiValueHeaders":{"Content-Type":["text/plain"],"X-Own":["1"]}}` + "\x00\x00\x00\x00\x00\x00\x00\x00" + `{"a":1}`
	taken := apierr.New(apierr.Conflict, "taken")
	cases := []struct {
		name string
		play func(s *stage)
		want string
	}{
		{"done at once", func(s *stage) { s.end(writes(201, `{"a":1}`)) }, own},
		{"done just before 15 s", func(s *stage) {
			s.do(passed(reconcile))
			s.clock.Advance(15*second - 1)
			s.end(writes(201, `{"a":1}`))
		}, own},
		{"done after 15 s", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15 * second)
			s.end(writes(201, `{"a":1}`))
		}, want200(1, `{"a":1}`)},
		{"a line feed every 15 s", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15*second, 15*second, 15*second)
			s.clock.Advance(15*second - 1)
			s.end(writes(200, `[]`))
		}, want200(3, `[]`)},
		{"the gates take longer than 15 s", func(s *stage) {
			s.clock.Advance(40 * second)
			s.do(passed(reconcile))
			s.until(0, 15*second)
			s.end(writes(200, `{}`))
		}, want200(2, `{}`)},
		{"the gates never pass", func(s *stage) {
			s.clock.Advance(10 * time.Minute)
			s.end(writes(201, `{"a":1}`))
		}, own},
		{"an error before the commit", func(s *stage) {
			s.do(passed(reconcile))
			s.clock.Advance(14 * second)
			s.end(fails(taken))
		}, plainHead("409") + `{"error":"taken"}`},
		{"an error after the commit", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15 * second)
			s.end(fails(taken))
		}, want200(1, `{"cause":"conflict: taken","error":"reconciliation_required"}`)},
		{"a panic before the commit", func(s *stage) {
			s.end(func(http.ResponseWriter, *http.Request) { panic("secret") })
		}, internalError},
		{"an endpoint that ends its goroutine", func(s *stage) {
			s.end(func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
		}, internalError},
		{"a panic after the commit", func(s *stage) {
			s.do(passed(func(err error) []byte {
				if apierr.CodeOf(err) != apierr.Internal {
					return []byte(`"not an internal error"`)
				}
				return []byte(`{"error":"reconciliation_required"}`)
			}))
			s.until(15 * second)
			s.end(func(http.ResponseWriter, *http.Request) { panic("secret") })
		}, want200(1, `{"error":"reconciliation_required"}`)},
		{"a panic in late", func(s *stage) {
			s.do(passed(func(error) []byte { panic("secret") }))
			s.until(15 * second)
			s.end(fails(taken))
		}, want200(1, `{"error":"internal_error","request_id":"req-1"}`)},
		{"a late body that is no JSON", func(s *stage) {
			s.do(passed(func(error) []byte { return []byte(`{"a":`) }))
			s.until(15 * second)
			s.end(fails(taken))
		}, want200(1, `{"error":"internal_error","request_id":"req-1"}`)},
		{"no late", func(s *stage) {
			s.do(passed(nil))
			s.until(15 * second)
			s.end(fails(taken))
		}, want200(1, `{"error":"internal_error","request_id":"req-1"}`)},
		{"the last late counts", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15 * second)
			s.do(passed(func(error) []byte { return []byte(`{"reserved":true}`) }))
			s.end(fails(taken))
		}, want200(1, `{"reserved":true}`)},
		{"an answer that is no JSON after the commit", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15 * second)
			s.end(writes(200, `{"a":1`))
		}, want200(1, `{"cause":"the endpoint answered with status 200","error":"reconciliation_required"}`)},
		{"no body after the commit", func(s *stage) {
			s.do(passed(reconcile))
			s.until(15 * second)
			s.end(nil)
		}, want200(1, `{"cause":"the endpoint answered with status 200","error":"reconciliation_required"}`)},
		{"a status of its own after the commit", func(s *stage) {
			s.do(passed(func(err error) []byte {
				var e *StatusError
				if !errors.As(err, &e) {
					return nil
				}
				return e.Body
			}))
			s.until(15 * second)
			s.end(writes(418, `{"teapot":true}`))
		}, want200(1, `{"teapot":true}`)},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := perform(t, nil)
			tc.play(s)
			if got := s.seen() + s.whole(); got != tc.want {
				t.Errorf("stream\n%q, want\n%q", got, tc.want)
			}
			if strings.Contains(s.logs.String(), `"committed":`) != true {
				t.Errorf("no access line: %s", &s.logs)
			}
		})
	}
}

func TestAnAnswerTooLargeAfterTheCommitIsAFailure(t *testing.T) {
	for name, n := range map[string]int{"at the limit": 100, "past it": 101} {
		t.Run(name, func(t *testing.T) {
			text := `"` + strings.Repeat("x", n-2) + `"`
			s := perform(t, func(b *bundle) context.Context {
				b.max = 100
				return b.t.Context()
			})
			s.do(passed(func(error) []byte { return []byte(`"late"`) }))
			s.until(15 * time.Second)
			s.end(writes(200, text))
			want := text
			if n > 100 {
				want = `"late"`
			}
			if got := s.seen() + s.whole(); got != want200(1, want) {
				t.Errorf("stream %q, want the body %s", got, want)
			}
		})
	}
}

func TestTheStreamEndsAfterTheEndpointAlsoWhenTheClientHasLeft(t *testing.T) {
	b := setup(t)
	leave, saved := make(chan struct{}), false
	h := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Passed(r.Context(), reconcile)
		b.clock.Advance(Heartbeat)
		<-leave
		saved = true
		_, _ = io.WriteString(w, "{}")
	}), b.options())
	payload, _ := json.Marshal(event())
	gone := errors.New("gone")
	err := h.InvokeStream(t.Context(), payload, writerFunc(func(p []byte) (int, error) {
		close(leave)
		return 0, gone
	}))
	if !errors.Is(err, gone) || !saved {
		t.Errorf("err = %v, saved: %v", err, saved)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTheEndpointsTimeEndsBeforeTheInvocations(t *testing.T) {
	s := perform(t, func(b *bundle) context.Context {
		ctx, stop := clock.WithTimeout(b.t.Context(), b.clock, 15*time.Minute)
		b.t.Cleanup(stop)
		return ctx
	})
	var deadline time.Time
	var ended error
	s.do(func(_ http.ResponseWriter, r *http.Request) {
		Passed(r.Context(), reconcile)
		deadline, _ = r.Context().Deadline()
	})
	if want := s.clock.Now().Add(15*time.Minute - SendMargin); !deadline.Equal(want) {
		t.Errorf("deadline %s, want %s", deadline, want)
	}
	s.until(15 * time.Minute)
	s.end(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended = r.Context().Err()
		WriteError(w, r, ended)
	})
	got := s.seen() + s.whole()
	if !errors.Is(ended, context.DeadlineExceeded) || !strings.HasPrefix(got, committedHead+"\n") || !strings.HasSuffix(got, `"error":"reconciliation_required"}`) {
		t.Errorf("ended with %v: %q", ended, got)
	}
}

func TestAMissedLineFeedIsNotMadeUpFor(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(time.Unix(1_760_000_000, 0))
	c := &call{done: make(chan struct{}), answer: answer{status: 200, body: []byte("{}")}}
	b := newCommitted(t.Context(), m, c)
	p := make([]byte, 10)
	for _, wait := range []time.Duration{0, 100 * time.Second, 5 * time.Second} { // at 0, 100 and 105 s
		m.Advance(wait)
		if n, err := b.Read(p); n != 1 || p[0] != '\n' || err != nil {
			t.Fatalf("%q, %v", p[:n], err)
		}
	}
	close(c.done)
	m.Advance(time.Hour)
	if rest, err := io.ReadAll(b); string(rest) != "{}" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestPassedOutsideAStreamingFunctionDoesNothing(t *testing.T) {
	b := setup(t)
	r := b.invoke(func(w http.ResponseWriter, r *http.Request) {
		Passed(r.Context(), reconcile)
		b.clock.Advance(time.Minute)
		WriteError(w, r, apierr.New(apierr.Conflict, "taken"))
	}, event())
	wantAnswer(t, r, 409, `{"error":"taken"}`)
	Passed(context.Background(), reconcile)
}

func TestInvokeReturnsTheStreamInOnePiece(t *testing.T) {
	b := setup(t)
	h := Streaming(http.HandlerFunc(writes(202, "\xff\x00")), b.options())
	payload, _ := json.Marshal(event())
	out, err := h.Invoke(t.Context(), payload)
	want := `{"statusCode":202,"multiValueHeaders":{"Content-Type":["text/plain"],"X-Own":["1"]}}` + "\x00\x00\x00\x00\x00\x00\x00\x00\xff\x00"
	if string(out) != want || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := h.Invoke(t.Context(), []byte("no")); err == nil || !strings.Contains(err.Error(), "no event") && !strings.Contains(err.Error(), "not an event") {
		t.Errorf("err = %v", err)
	}
}

func TestABadEventOfAStreamingFunctionIsAnswered(t *testing.T) {
	b := setup(t)
	e := event()
	e.Path = "/%zz"
	payload, _ := json.Marshal(e)
	out, err := Streaming(http.NotFoundHandler(), b.options()).Invoke(t.Context(), payload)
	if want := plainHead("400") + `{"error":"malformed path"}`; string(out) != want || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

func TestTheAccessLineOfACommittedAnswerSaysWhatBecameOfIt(t *testing.T) {
	s := perform(t, nil)
	s.do(passed(reconcile))
	s.until(15 * time.Second)
	s.end(fails(apierr.Wrap(apierr.Internal, "internal_error", errors.New("cause"))))
	_ = s.whole()
	for _, line := range s.lines() {
		if line["msg"] == "request" {
			if line["status"] != 200.0 || line["committed"] != true || line["answer_status"] != 500.0 || line["duration_ms"] != 15000.0 {
				t.Errorf("line %v", line)
			}
			return
		}
	}
	t.Error("no access line")
}

// until moves the clock on, and after each step takes pieces up to the line feed that is due then.
func (s *stage) until(steps ...time.Duration) {
	for _, d := range steps {
		s.clock.Advance(d)
		for {
			p := s.next()
			s.taken += p
			if strings.HasSuffix(p, "\n") {
				break
			}
		}
	}
}

// seen is what until took.
func (s *stage) seen() string { return s.taken }
