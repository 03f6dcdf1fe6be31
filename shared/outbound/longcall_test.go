package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"bailing/shared/clock"
)

// Nothing in the client ends a request earlier than its own limit, the longest of which is 600 s (core §4.6).
func TestARequestMayTakeTenMinutes(t *testing.T) {
	t.Parallel()
	const limit = 600 * time.Second
	for name, tc := range map[string]struct {
		after time.Duration // until the answer begins
		late  bool
	}{
		"an answer at the last moment": {limit - 1, false},
		"an answer too late":           {limit, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manual := clock.NewManual(time.Unix(1_760_000_000, 0))
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				manual.Advance(tc.after)
				if tc.late {
					<-r.Context().Done()
					return
				}
				_, _ = io.WriteString(w, "done")
			})
			res, err := localClient(t, Options{Clock: manual}).Do(context.Background(),
				Request{Method: "POST", URL: s.URL, Timeout: limit, OneSend: true})
			if tc.late {
				if e := failure(t, res, err); !e.Timeout || !e.Sent || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %+v", e)
				}
				return
			}
			if err != nil || string(res.Body) != "done" || res.Duration != limit-1 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}
