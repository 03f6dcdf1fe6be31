package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/registry"
)

var callbackA = job.OutboxKey{JobID: "a", Terminal: 1, Target: job.ToCallback}

// aListener arranges the running job "a", whose end has to be told to two receivers.
func aListener(s *stand, t *testing.T) {
	t.Helper()
	j := jobIn("t", "a")
	j.CallbackURL, j.Snapshot.Delivery = "https://shop.example/cb", &registry.Delivery{Type: registry.DeliveryWebhook, URL: "https://shop.example/hook"}
	if err := create(t.Context(), s.Store, j, job.Thread{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ClaimJob(t.Context(), "a", "w", start, start.Add(job.Lease)); err != nil {
		t.Fatal(err)
	}
}

// aCallback arranges the pending callback of "a".
func aCallback(s *stand, t *testing.T) {
	t.Helper()
	aListener(s, t)
	if _, err := s.FinishJob(t.Context(), fenceA, job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`), Now: start}, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
}

// aClaimedCallback arranges it with a worker.
func aClaimedCallback(s *stand, t *testing.T) {
	t.Helper()
	aCallback(s, t)
	if _, err := s.ClaimOutbox(t.Context(), callbackA, delivery.Pending, "w", start, start.Add(delivery.Lease)); err != nil {
		t.Fatal(err)
	}
}

var died = delivery.Result{State: delivery.Dead, Attempts: 1, Reason: "status 410", Now: start}

// aDeadLetter arranges it as a dead letter.
func aDeadLetter(s *stand, t *testing.T) {
	t.Helper()
	aClaimedCallback(s, t)
	if err := s.SaveAttempt(t.Context(), &delivery.Row{Key: callbackA, State: delivery.Pending, Claim: 1}, died, eventOf("dead")); err != nil {
		t.Fatal(err)
	}
}

// outboxWrites are the writes of the outbox, for the same tests as all others.
func outboxWrites() []method {
	held := func(r delivery.Result) func(context.Context, *stand) (any, error) {
		return func(ctx context.Context, s *stand) (any, error) {
			return nil, s.SaveAttempt(ctx, &delivery.Row{Key: callbackA, State: delivery.Pending, Claim: 1}, r, eventOf("attempt"))
		}
	}
	later := start.Add(time.Hour)
	return []method{
		{name: "FinishJob, told, large", arrange: aListener, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return s.FinishJob(ctx, fenceA, job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"` + big + `"}`), Now: start}, eventOf("finished"))
		}},
		{name: "ClaimOutbox", arrange: aCallback, act: func(ctx context.Context, s *stand) (any, error) {
			return s.ClaimOutbox(ctx, callbackA, delivery.Pending, "w", start, start.Add(delivery.Lease))
		}},
		{name: "ClaimOutbox, dead", arrange: aDeadLetter, act: func(ctx context.Context, s *stand) (any, error) {
			return s.ClaimOutbox(ctx, callbackA, delivery.Dead, "v", start, start.Add(delivery.Lease))
		}},
		{name: "SaveAttempt, delivered", arrange: aClaimedCallback, again: []error{delivery.ErrLostClaim}, act: held(delivery.Result{State: delivery.Delivered, Attempts: 1, Now: start})},
		{name: "SaveAttempt, again later", arrange: aClaimedCallback, again: []error{delivery.ErrLostClaim},
			act: held(delivery.Result{State: delivery.Pending, Attempts: 1, Reason: "status 500", NextAt: later, LookAt: later, Now: start})},
		{name: "SaveAttempt, dead", arrange: aClaimedCallback, again: []error{delivery.ErrLostClaim}, act: held(died)},
		{name: "RequeueOutbox", arrange: aDeadLetter, again: []error{delivery.ErrNotClaimable}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.RequeueOutbox(ctx, callbackA, start, later, eventOf("replayed"))
		}},
		{name: "ResolveOutbox", arrange: aDeadLetter, again: []error{delivery.ErrNotClaimable}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.ResolveOutbox(ctx, callbackA, start, eventOf("resolved"))
		}},
		{name: "PostponeOutbox", arrange: aCallback, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.PostponeOutbox(ctx, callbackA, later)
		}},
	}
}

// outboxReaders are the reads of the outbox.
func outboxReaders() []method {
	list := []method{
		{name: "ReadOutbox", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadOutbox(ctx, callbackA) }},
		{name: "OutboxOf", act: func(ctx context.Context, s *stand) (any, error) { return s.OutboxOf(ctx, "a") }},
		{name: "DeadLetters", act: func(ctx context.Context, s *stand) (any, error) {
			return s.DeadLetters(ctx, delivery.Letters{Resolved: true, Limit: 10})
		}},
		{name: "EachDueOutbox", act: func(ctx context.Context, s *stand) (any, error) {
			keys := map[job.OutboxKey]bool{} // a page that is asked for again is no second visit
			err := s.EachDueOutbox(ctx, start.Add(time.Hour), func(k job.OutboxKey) error { keys[k] = true; return nil })
			return keys, err
		}},
	}
	for i := range list {
		list[i].arrange, list[i].reads = aDeadLetter, true
	}
	return list
}
