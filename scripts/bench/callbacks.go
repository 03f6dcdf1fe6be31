package main

import (
	"context"
	"encoding/json"
	"fmt"

	"bailing/scripts/demo/business"
	"bailing/shared/delivery"
	"bailing/shared/job"
)

// callbackRows measures first attempts at callbacks that a receiver takes: claim, signatures, request, and the saved result.
func (a *parts) callbackRows(ctx context.Context, o options, p *progress) ([]row, error) {
	if o.callbacks == 0 {
		return nil, nil
	}
	p.step("ending %d jobs that have a callback", o.callbacks)
	keys, err := a.outbox(ctx, o)
	if err != nil {
		return nil, err
	}
	service, err := a.platform.Delivery(a.store)
	if err != nil {
		return nil, err
	}
	sent, err := a.tap()
	if err != nil {
		return nil, err
	}
	defer sent.next.CloseIdle()
	service.HTTP = sent
	p.step("delivering %d callbacks, %d at a time", o.callbacks, o.clients)
	value, baseline, err := sent.compare(ctx, o, o.clients, len(keys), func(ctx context.Context, i int) error {
		outcome, err := service.Deliver(ctx, keys[i])
		if err == nil && outcome != delivery.OutcomeDelivered {
			err = fmt.Errorf("the callback %s: %s", keys[i].ID(), outcome)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return []row{rateRow(fmt.Sprintf("callbacks, %d at a time", o.clients), "the same POST, net/http", value, baseline)}, nil
}

// outbox ends jobs whose callbacks go to the business, and returns the rows that wait for an attempt.
func (a *parts) outbox(ctx context.Context, o options) ([]job.OutboxKey, error) {
	jobs, err := a.claimed(ctx, o, o.callbacks, "callback", a.stack.Demo.BusinessURL+business.CallbackPath)
	if err != nil {
		return nil, err
	}
	keys := make([]job.OutboxKey, len(jobs))
	err = times(ctx, o.clients, len(jobs), func(ctx context.Context, i int) error {
		keys[i] = job.OutboxKey{JobID: jobs[i].ID, Terminal: 1, Target: job.ToCallback}
		o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"SO-1001 is on its way."}`)}
		return a.jobs.Finish(ctx, fence(jobs[i]), o)
	})
	return keys, err
}
