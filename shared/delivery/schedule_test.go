package delivery

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailing/shared/outbound"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// D7: 0, +2 s, +10 s, 30 s, 2 m, 10 m, 1 h, 6 h, 24 h.
func TestWaitsAreTheSchedule(t *testing.T) {
	t.Parallel()
	want := []time.Duration{
		2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
	}
	if MaxAttempts != len(want)+1 {
		t.Fatalf("%d attempts, want %d", MaxAttempts, len(want)+1)
	}
	for i, base := range want {
		differ := false
		for range 200 {
			d := wait(i+1, 0)
			if d < base || d > base+base/10 || (i < 2 && d != base) {
				t.Fatalf("after attempt %d: %s, want %s and at most a tenth more", i+1, d, base)
			}
			differ = differ || d != base
		}
		if differ != (i >= 2) {
			t.Errorf("after attempt %d: jitter %v", i+1, differ)
		}
	}
}

func TestAReceiverMayAskForALongerWait(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule  string
		n     int
		asked time.Duration
		want  time.Duration
	}{
		{"a shorter one changes nothing", 2, time.Second, 10 * time.Second},
		{"a longer one is waited for", 1, time.Minute, time.Minute},
		{"at most the schedule's longest", 1, 48 * time.Hour, 24 * time.Hour},
	} {
		if got := wait(tc.n, tc.asked); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.rule, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 120 ": 2 * time.Minute, "86400": 24 * time.Hour, "86401": 24 * time.Hour,
		"99999999999999999999": 24 * time.Hour, "-1": 0, "1.5": 0, "soon": 0, "+5": 0,
		"Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 30 Nov 2026 11:59:00 GMT": 0, "Fri, 30 Nov 2029 12:00:00 GMT": 24 * time.Hour,
		"Monday, 30-Nov-26 12:01:00 GMT": time.Minute, "Mon Nov 30 12:00:05 2026": 5 * time.Second,
	} {
		if got := retryAfter(text, noon); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "Mon, 30 Nov 2026 12:00:30 GMT", "", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d := retryAfter(s, noon); d < 0 || d > retryAfterMax {
			t.Errorf("%q: %s", s, d)
		}
	})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const delivered, final, again = "delivered", "final", "again"
	for status, want := range map[int]string{
		200: delivered, 201: delivered, 202: delivered, 204: delivered, 299: delivered,
		300: final, 301: final, 302: final, 303: final, 304: final, 307: final, 308: final,
		400: final, 401: final, 403: final, 404: final, 409: final, 410: final, 422: final, 426: final, 499: final,
		408: again, 425: again, 429: again, 500: again, 501: again, 502: again, 503: again, 504: again, 599: again,
	} {
		v := judge(&outbound.Response{Status: status, Header: http.Header{}}, nil, noon)
		if got := word(v); got != want || v.status != status || (v.reason == "") != v.delivered {
			t.Errorf("%d: %s %+v, want %s", status, got, v, want)
		}
	}
	for phase, want := range map[outbound.Phase]string{
		outbound.PhaseRequest: final, outbound.PhaseBlocked: final,
		outbound.PhaseResolve: again, outbound.PhaseDial: again, outbound.PhaseTLS: again, outbound.PhaseWrite: again, outbound.PhaseHeaders: again,
	} {
		v := judge(nil, &outbound.Error{Phase: phase, Timeout: phase == outbound.PhaseHeaders}, noon)
		if got := word(v); got != want || v.reason == "" || v.status != 0 {
			t.Errorf("%s: %s %+v, want %s", phase, got, v, want)
		}
	}
	if v := judge(nil, errors.New("anything"), noon); word(v) != again || strings.Contains(v.reason, "anything") {
		t.Errorf("%+v", v)
	}
}

// An answer whose head came decides, even when its body stalls or breaks off.
func TestTheStatusDecidesWithoutTheBody(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "delivered", 410: "final", 503: "again"} {
		err := &outbound.Error{Phase: outbound.PhaseBody, Timeout: true, Status: status, Header: http.Header{"Retry-After": {"60"}}}
		v := judge(nil, err, noon)
		if got := word(v); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
		if want == "again" && v.retryAfter != time.Minute {
			t.Errorf("Retry-After: %s", v.retryAfter)
		}
	}
}

func word(v verdict) string {
	switch {
	case v.delivered:
		return "delivered"
	case v.final:
		return "final"
	}
	return "again"
}
