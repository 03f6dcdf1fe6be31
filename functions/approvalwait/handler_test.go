package approvalwait_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"bailing/functions/approvalwait"
	"bailing/shared/approval"
	"bailing/shared/clock"
	"bailing/shared/platform"
)

// keeper remembers what it was asked and fails as told.
type keeper struct {
	asked []string
	err   error
}

func (k *keeper) Notify(_ context.Context, id int64) error {
	k.asked = append(k.asked, fmt.Sprint("notify ", id))
	return k.err
}

func (k *keeper) Hold(_ context.Context, id int64, token string) error {
	k.asked = append(k.asked, fmt.Sprint("hold ", id, " ", token))
	return k.err
}

func (k *keeper) Expire(_ context.Context, id int64) error {
	k.asked = append(k.asked, fmt.Sprint("expire ", id))
	return k.err
}

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func handler(k *keeper) (*approvalwait.Handler, *bytes.Buffer) {
	out := &bytes.Buffer{}
	p := platform.New("approvalwait", platform.Config{}, platform.Options{Output: out, Clock: clock.NewManual(now)})
	return &approvalwait.Handler{Keeper: k, Clock: p.Clock, Logger: p.Logger, Metrics: p.Metrics}, out
}

func TestEachTaskIsTheKeepers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		task approvalwait.Task
		want string
	}{
		{approvalwait.Task{Action: approvalwait.Notify, Ticket: 7}, "notify 7"},
		{approvalwait.Task{Action: approvalwait.Hold, Ticket: 7, Token: "tok"}, "hold 7 tok"},
		{approvalwait.Task{Action: approvalwait.Expire, Ticket: 4503599627370495}, "expire 4503599627370495"},
	} {
		for _, fails := range []error{nil, errors.New("down"), approval.ErrNotDue} {
			k := &keeper{err: fails}
			h, out := handler(k)
			d, err := h.Handle(t.Context(), tc.task)
			if !errors.Is(err, fails) || d != (approvalwait.Done{}) || len(k.asked) != 1 || k.asked[0] != tc.want {
				t.Errorf("%+v: %+v, %v, asked %q", tc.task, d, err, k.asked)
			}
			outcome := map[bool]string{true: "done", false: "failed"}[fails == nil]
			if want := fmt.Sprintf(`"action":%q,"approval_tasks":1,"function":"approvalwait","outcome":%q`, tc.task.Action, outcome); !strings.Contains(out.String(), want) {
				t.Errorf("%+v: no metric with %s in %s", tc.task, want, out)
			}
		}
	}
}

// The machine waits until the deadline, never shorter, and at least a second.
func TestRemainingIsRoundedUp(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]int64{
		time.Hour: 3600, time.Hour + time.Millisecond: 3601, time.Hour - time.Millisecond: 3600, time.Second: 1, time.Millisecond: 1, 0: 1, -time.Hour: 1,
		360 * 24 * time.Hour: 31104000, 99_999_999 * time.Second: 99_999_999, 100_000_000 * time.Second: 99_999_999,
	} {
		k := &keeper{}
		h, _ := handler(k)
		d, err := h.Handle(t.Context(), approvalwait.Task{Action: approvalwait.Remaining, Ticket: 7, Deadline: now.Add(left)})
		if err != nil || d.Seconds != want || len(k.asked) != 0 {
			t.Errorf("%v left: %d, %v, asked %q; want %d", left, d.Seconds, err, k.asked, want)
		}
	}
}

// A ticket that does not exist is nothing to try again for.
func TestATicketThatDoesNotExistIsDone(t *testing.T) {
	t.Parallel()
	h, out := handler(&keeper{err: fmt.Errorf("store: %w", approval.ErrNotFound)})
	if _, err := h.Handle(t.Context(), approvalwait.Task{Action: approvalwait.Expire, Ticket: 7}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), `"outcome":"absent"`) || !strings.Contains(out.String(), "no such ticket") {
		t.Errorf("%s", out)
	}
}

func TestTasksThatAreNone(t *testing.T) {
	t.Parallel()
	for rule, task := range map[string]approvalwait.Task{
		"nothing": {}, "an unknown action": {Action: "decide", Ticket: 7}, "no ticket": {Action: approvalwait.Notify}, "a negative ticket": {Action: approvalwait.Notify, Ticket: -1},
		"hold without a token": {Action: approvalwait.Hold, Ticket: 7}, "a token for another task": {Action: approvalwait.Expire, Ticket: 7, Token: "the-token"},
		"remaining without a deadline": {Action: approvalwait.Remaining, Ticket: 7}, "a deadline for another task": {Action: approvalwait.Notify, Ticket: 7, Deadline: now},
	} {
		k := &keeper{}
		h, _ := handler(k)
		if d, err := h.Handle(t.Context(), task); err == nil || len(k.asked) != 0 || d != (approvalwait.Done{}) {
			t.Errorf("%s: %+v, %v, asked %q", rule, d, err, k.asked)
		}
	}
}

// Who has the token can end the wait: it is in no line of the log, whatever goes wrong.
func TestTheTokenIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, task := range []approvalwait.Task{
		{Action: approvalwait.Hold, Ticket: 7, Token: "the-token"}, {Action: "the-token", Ticket: 7, Token: "the-token"}, {Action: approvalwait.Notify, Ticket: 7, Token: "the-token"},
	} {
		h, out := handler(&keeper{err: errors.New("down")})
		if _, err := h.Handle(t.Context(), task); err == nil || strings.Contains(err.Error(), "the-token") || strings.Contains(out.String(), "the-token") {
			t.Errorf("%v, %s", err, out)
		}
	}
}

func TestFunctionThatCannotBeWired(t *testing.T) {
	t.Parallel()
	if _, err := approvalwait.New(platform.New("approvalwait", platform.Config{}, platform.Options{Output: io.Discard})); err == nil {
		t.Error("without a key for secrets it starts, and could sign nothing")
	}
}
