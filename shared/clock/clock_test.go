package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestManualFiresOnlyWhatHasEnded(t *testing.T) {
	t.Parallel()
	m := NewManual(time.Unix(1000, 0))
	short, long := m.After(time.Second), m.After(time.Minute)
	m.Advance(2 * time.Second)
	select {
	case at := <-short:
		if !at.Equal(time.Unix(1002, 0)) {
			t.Errorf("short wait fired at %v", at)
		}
	default:
		t.Error("a wait of 1 s did not fire after 2 s")
	}
	select {
	case <-long:
		t.Error("a wait of 1 min fired after 2 s")
	default:
	}
}

func TestSleepEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Sleep(ctx, NewManual(time.Unix(0, 0)), time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
}
