package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAContextEndsAtItsTimeOnTheClock(t *testing.T) {
	t.Parallel()
	m := NewManual(time.Unix(1000, 0))
	ctx, stop := WithTimeout(t.Context(), m, time.Minute)
	defer stop()
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if at, ok := ctx.Deadline(); !ok || !at.Equal(time.Unix(1060, 0)) {
		t.Errorf("deadline %v, %v", at, ok)
	}
	m.Advance(time.Minute - 1)
	if err := ctx.Err(); err != nil {
		t.Errorf("before its time: %v", err)
	}
	m.Advance(1)
	<-derived.Done()
	if !errors.Is(derived.Err(), context.DeadlineExceeded) {
		t.Errorf("a derived context ended with %v", derived.Err())
	}
}

func TestAnEarlierDeadlineOfTheParentIsKept(t *testing.T) {
	t.Parallel()
	m := NewManual(time.Unix(1000, 0))
	parent, stop := WithTimeout(t.Context(), m, time.Second)
	defer stop()
	ctx, end := WithTimeout(parent, m, time.Minute)
	defer end()
	if at, _ := ctx.Deadline(); !at.Equal(time.Unix(1001, 0)) {
		t.Errorf("deadline %v", at)
	}
	m.Advance(time.Second)
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("err = %v", ctx.Err())
	}
}

func TestAStoppedContextIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, stop := WithTimeout(t.Context(), NewManual(time.Unix(1000, 0)), time.Minute)
	stop()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("err = %v", ctx.Err())
	}
}
