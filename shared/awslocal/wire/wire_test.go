package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
)

func TestAccessKeyIsReadFromTheCredentialScope(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"AWS4-HMAC-SHA256 Credential=AKIDLOCAL/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00": "AKIDLOCAL",
		"AWS4-HMAC-SHA256 Credential=AKIDLOCAL": "",
		"Bearer x":                              "",
		"":                                      "",
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Authorization", header)
		if got := AccessKey(r); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func TestEachKindOfFault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		kind            fault.Kind
		status          int // 0: the connection is closed without an answer
		runs, duplicate bool
	}{
		{name: "none", kind: fault.None, status: 200, runs: true},
		{name: "throttle is refused before it takes effect", kind: fault.Throttle, status: 429},
		{name: "conflict concerns DynamoDB only", kind: fault.Conflict, status: 200, runs: true},
		{name: "error before", kind: fault.ErrorBefore, status: 500},
		{name: "error after commit takes effect", kind: fault.ErrorAfterCommit, status: 500, runs: true},
		{name: "drop", kind: fault.Drop},
		{name: "drop after commit takes effect", kind: fault.DropAfterCommit, runs: true},
		{name: "duplicate is handed to the operation", kind: fault.Duplicate, status: 200, runs: true, duplicate: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var inj fault.Injector
			inj.Set(func(fault.Op) fault.Fault { return fault.Fault{Kind: tc.kind} })
			var ran, duplicate bool
			status := func() (status int) {
				w := httptest.NewRecorder()
				defer func() {
					if p := recover(); p != nil && p != http.ErrAbortHandler {
						t.Errorf("panic %v, want http.ErrAbortHandler", p)
					}
				}()
				Serve(w, httptest.NewRequest("POST", "/", nil), &inj, clock.System(), Operation{
					Run: func(w http.ResponseWriter, d bool) {
						ran, duplicate = true, d
						w.WriteHeader(200)
					},
					Throttle: func(w http.ResponseWriter) { w.WriteHeader(429) },
					Fail:     func(w http.ResponseWriter) { w.WriteHeader(500) },
				})
				return w.Code
			}()
			if status != tc.status || ran != tc.runs || duplicate != tc.duplicate {
				t.Errorf("status %d ran %v duplicate %v, want %d %v %v", status, ran, duplicate, tc.status, tc.runs, tc.duplicate)
			}
		})
	}
}

// armed signals each wait that begins on a manual clock.
type armed struct {
	*clock.Manual
	waits chan time.Duration
}

func (a armed) After(d time.Duration) <-chan time.Time {
	ch := a.Manual.After(d)
	a.waits <- d
	return ch
}

func TestDelayIsWaitedOnTheClock(t *testing.T) {
	t.Parallel()
	clk := armed{clock.NewManual(time.Unix(0, 0)), make(chan time.Duration, 1)}
	var inj fault.Injector
	inj.Set(func(fault.Op) fault.Fault { return fault.Fault{Delay: time.Minute} })
	ran := make(chan struct{})
	go Serve(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), &inj, clk, Operation{
		Run: func(http.ResponseWriter, bool) { close(ran) },
	})
	<-clk.waits
	clk.Advance(time.Minute - 1)
	select {
	case <-ran:
		t.Error("ran before the delay was over")
	default:
	}
	clk.Advance(1)
	<-ran
}
