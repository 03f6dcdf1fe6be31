package job_test

import (
	"errors"
	"testing"

	"bailing/shared/apierr"
)

// refusal is the public half of an error that a submission or a read was answered with.
func refusal(t *testing.T, err error) *apierr.Error {
	t.Helper()
	var e *apierr.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v has no public half", err)
	}
	return e
}

func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want status %d", status)
	}
	if got := refusal(t, err).Code.Status(); got != status {
		t.Errorf("status %d (%v), want %d", got, err, status)
	}
}

// errQueue is a queue that is down.
var errQueue = errors.New("queue down")
