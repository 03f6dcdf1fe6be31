package poller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/uuid"

	"bailing/scripts/local/invoke"
	"bailing/shared/topology"
)

// Schedule invokes a function every topology.Function.Every, the first time at once, and never twice at a time: a run
// that takes longer than the period is followed by the next one, and the periods in between are dropped.
type Schedule struct {
	o        Options
	every    time.Duration
	function invoke.Function
}

// NewSchedule is the schedule of fn.
func NewSchedule(fn topology.Function, h lambda.Handler, o Options) (*Schedule, error) {
	switch {
	case fn.Every <= 0:
		return nil, fmt.Errorf("function %s has no schedule", fn.Name)
	case h == nil:
		return nil, fmt.Errorf("function %s has no handler", fn.Name)
	}
	o = o.withDefaults()
	return &Schedule{
		o: o, every: fn.Every,
		function: invoke.Function{Name: fn.Name, Handler: h, Timeout: fn.Timeout, Clock: o.Clock, NewID: o.NewID},
	}, nil
}

// Run invokes the function until ctx ends. An invocation that fails is logged; the next one comes on time.
func (s *Schedule) Run(ctx context.Context) {
	running := newInflight(ctx)
	defer running.drain(s.o.Clock, s.o.Grace)
	for ctx.Err() == nil {
		tick := s.o.Clock.After(s.every)
		done := make(chan struct{})
		running.wg.Go(func() {
			defer close(done)
			s.invoke(running.ctx)
		})
		if !wait(ctx, done) || !wait(ctx, tick) {
			return
		}
	}
}

// wait is true when c delivers or closes, false when ctx ends first.
func wait[T any](ctx context.Context, c <-chan T) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Schedule) invoke(ctx context.Context) {
	newID := s.o.NewID
	if newID == nil {
		newID = uuid.NewString
	}
	payload, err := json.Marshal(events.EventBridgeEvent{
		Version: "0", ID: newID(), DetailType: "Scheduled Event", Source: "aws.events",
		AccountID: invoke.Account, Region: invoke.Region, Time: s.o.Clock.Now().Truncate(time.Second),
		Resources: []string{"arn:aws:events:" + invoke.Region + ":" + invoke.Account + ":rule/" + s.function.Name},
		Detail:    json.RawMessage("{}"),
	})
	if err != nil {
		s.o.Logger.Error("event not encoded", "function", s.function.Name, "error", err)
		return
	}
	if _, err := s.function.Invoke(ctx, payload); err != nil {
		s.o.Logger.Error("function error", "function", s.function.Name, "error", err)
	}
}
