package main

import (
	"context"
	"fmt"

	"bailing/scripts/local/stack"
	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// inFlight is how many governed calls are under way at once, each of a job of its own.
var inFlight = []int{1, 64}

// callRows measures calls of a read-only tool through every gate, store and business included.
func (a *parts) callRows(ctx context.Context, o options, p *progress) ([]row, error) {
	if o.calls == 0 {
		return nil, nil
	}
	sent, err := a.tap()
	if err != nil {
		return nil, err
	}
	defer sent.next.CloseIdle()
	sealer, err := a.platform.Sealer()
	if err != nil {
		return nil, err
	}
	tools := &toolcall.Service{Store: a.store, HTTP: sent, Secrets: sealer, Clock: a.platform.Clock, Logger: a.platform.Logger}
	config, err := a.store.ReadRun(ctx, stack.DemoRoute, stack.DemoModel)
	if err != nil {
		return nil, err
	}
	set, err := tools.Assemble(ctx, config.Route, config.Providers)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, width := range inFlight {
		p.step("making %d governed calls, %d at a time", o.calls, width)
		jobs, err := a.claimed(ctx, o, width, fmt.Sprint("calls-", width), "")
		if err != nil {
			return nil, err
		}
		call := caller(tools, set, jobs)
		// The first call of each job is not counted: it opens connections and fills caches.
		if err := times(ctx, width, width, call(1)); err != nil {
			return nil, err
		}
		value, baseline, err := sent.compare(ctx, o, width, o.calls, call(2))
		if err != nil {
			return nil, err
		}
		r := rateRow(fmt.Sprintf("governed calls, %d at a time", width), "the same requests, net/http", value, baseline)
		if width == 1 {
			r = r.beside("6.5 ms a call")
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// caller makes the calls of a round of the jobs: call i by whichever job has none under way.
func caller(tools *toolcall.Service, set *toolcall.Toolset, jobs []*job.Job) func(round int) func(ctx context.Context, i int) error {
	idle := make(chan *job.Job, len(jobs))
	for _, j := range jobs {
		idle <- j
	}
	return func(round int) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			j := <-idle // there are as many jobs as goroutines that call
			defer func() { idle <- j }()
			out, err := tools.Invoke(ctx, set, toolcall.Call{
				Fence: fence(j), Job: j, Round: round, Index: i, CallID: fmt.Sprint("call_", i), Tool: "order_get", Args: `{"order_no":"SO-1001"}`,
			})
			if err == nil && (out.State != toolcall.Executed || !out.OK) {
				err = fmt.Errorf("a governed call ended as %s: %s", out.State, out.Text)
			}
			return err
		}
	}
}
