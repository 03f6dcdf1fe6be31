package delivery

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bailing/shared/chance"
	"bailing/shared/outbound"
)

// waits are the pauses after the first, second, ... failed attempt (D7). The first two are the contract's and exact, the
// others get up to a tenth more, so that receivers that went down together are not called together.
var waits = [...]time.Duration{
	2 * time.Second, 10 * time.Second,
	30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

const (
	// MaxAttempts is how often the schedule tries.
	MaxAttempts = len(waits) + 1
	// exact is how many waits have no jitter.
	exact = 2
	// retryAfterMax is the longest wait that a receiver may ask for: the schedule's own longest.
	retryAfterMax = 24 * time.Hour
)

// wait is the pause after the n-th failed attempt (1 to MaxAttempts-1): the schedule's, or longer when the receiver asked
// for it.
func wait(n int, retryAfter time.Duration) time.Duration {
	d := waits[n-1]
	if n > exact {
		d += chance.N(d / 10)
	}
	return max(d, min(retryAfter, retryAfterMax))
}

// verdict is what an attempt means.
type verdict struct {
	delivered  bool
	final      bool // no further attempt could end differently
	status     int  // 0 = no answer
	reason     string
	retryAfter time.Duration
}

// judge reads what came of a request (core §2.3, D7). The status decides as soon as the head of the answer is there: a
// receiver that answers and then stalls has taken the message.
func judge(res *outbound.Response, err error, now time.Time) verdict {
	var failed *outbound.Error
	switch {
	case err == nil:
		return judgeStatus(res.Status, res.Header, now)
	case !errors.As(err, &failed):
		return verdict{reason: "the request failed"}
	case failed.Status != 0:
		return judgeStatus(failed.Status, failed.Header, now)
	}
	// A blocked address or an unusable URL stays what it is.
	final := failed.Phase == outbound.PhaseBlocked || failed.Phase == outbound.PhaseRequest
	return verdict{final: final, reason: failed.Error()}
}

func judgeStatus(status int, h http.Header, now time.Time) verdict {
	v := verdict{status: status, reason: fmt.Sprintf("status %d", status)}
	switch {
	case status >= 200 && status < 300:
		return verdict{delivered: true, status: status}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		v.retryAfter = retryAfter(h.Get("Retry-After"), now)
	default:
		v.final = true
	}
	return v
}

// retryAfter reads the header's two forms (RFC 9110 §10.2.3); 0 for anything else and for times that have passed.
func retryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	if strings.Trim(s, "0123456789") == "" {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return retryAfterMax // more digits than any wait has
		}
		return min(time.Duration(n)*time.Second, retryAfterMax)
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), retryAfterMax)
}
