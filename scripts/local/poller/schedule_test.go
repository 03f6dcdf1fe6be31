package poller

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/shared/topology"
)

func TestTheSchedule(t *testing.T) {
	t.Parallel()
	c := newClock()
	runs, release := make(chan events.EventBridgeEvent), make(chan error)
	s, err := NewSchedule(topology.Function{Name: "sweeper", Every: time.Minute, Timeout: 5 * time.Minute},
		function(func(_ context.Context, payload []byte) ([]byte, error) {
			var e events.EventBridgeEvent
			if err := json.Unmarshal(payload, &e); err != nil {
				t.Error(err)
			}
			runs <- e
			return []byte("null"), <-release
		}), Options{Clock: c, NewID: func() string { return "id-1" }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()

	first := <-runs // at once
	if first.Source != "aws.events" || first.DetailType != "Scheduled Event" || string(first.Detail) != "{}" || first.ID != "id-1" ||
		!first.Time.Equal(time.Unix(1_760_000_000, 0)) || first.Resources[0] != "arn:aws:events:us-east-1:000000000000:rule/sweeper" {
		t.Errorf("event %+v", first)
	}
	// Three periods pass during the first run: nothing starts beside it, one run follows it.
	c.Advance(3 * time.Minute)
	select {
	case <-runs:
		t.Error("two runs at a time")
	default:
	}
	release <- errors.New("a failure ends nothing")
	if second := <-runs; !second.Time.Equal(time.Unix(1_760_000_180, 0)) {
		t.Errorf("second run at %v", second.Time)
	}
	release <- nil
	c.Advance(time.Minute)
	<-runs
	cancel()
	release <- nil
	<-ended
}

func TestNewScheduleWantsASchedule(t *testing.T) {
	t.Parallel()
	if _, err := NewSchedule(topology.Function{Name: "f"}, function(nil), Options{}); err == nil {
		t.Error("no error")
	}
	if _, err := NewSchedule(topology.Function{Name: "f", Every: time.Minute}, nil, Options{}); err == nil {
		t.Error("no error")
	}
}
