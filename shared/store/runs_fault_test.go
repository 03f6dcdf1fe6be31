package store_test

import (
	"context"
	"testing"

	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// anEnded arranges the job "a", which has ended, with its callback, and the job "b", whose turn it is.
func anEnded(s *stand, t *testing.T) {
	t.Helper()
	aThread(s, t)
	if _, err := s.FinishJob(t.Context(), fenceA, failed, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
}

// aFrozen arranges the job "a", which has ended with an open call.
func aFrozen(s *stand, t *testing.T) {
	t.Helper()
	aReservedCall(s, t)
	if _, err := s.FinishJob(t.Context(), fenceA, failed, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
}

// runsWrites are the writes of administrators to jobs, for the same tests as all others.
func runsWrites() []method {
	rerun := func(ctx context.Context, s *stand) (any, error) {
		v := job.RerunView{
			Job:  &job.Job{ID: "a", Status: job.Failed, ThreadKey: "t", CreatedAt: start},
			Ends: 1, Thread: job.Thread{Key: "t", Version: 3, Head: "b", Waiting: []string{"a"}},
		}
		return nil, s.RequeueJob(ctx, v, start, eventOf("rerun"))
	}
	closeCall := func(ctx context.Context, s *stand) (any, error) {
		e := entryOf(toolcall.ClosedHappened)
		e.Closing = &toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "r", By: "jo", At: start}
		return nil, s.CloseCall(ctx, e, eventOf("closed"))
	}
	return []method{
		{name: "RequeueJob", arrange: anEnded, again: []error{job.ErrMoved}, act: rerun},
		{name: "CloseCall", arrange: aFrozen, again: []error{toolcall.ErrCloseMoved}, act: closeCall},
		{name: "FinishJob, frozen", arrange: aReservedCall, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return s.FinishJob(ctx, fenceA, failed, eventOf("finished"))
		}},
	}
}

// runsReaders are the reads of administrators. Records of the ledger have keys that are drawn, so that no two worlds with some are
// the same: those two read none.
func runsReaders() []method {
	list := []method{
		{name: "ListJobs", act: func(ctx context.Context, s *stand) (any, error) { return s.ListJobs(ctx, job.ListQuery{Limit: 10}) }},
		{name: "ReadBrief", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadBrief(ctx, "a") }},
		{name: "RequestJob", act: func(ctx context.Context, s *stand) (any, error) { return s.RequestJob(ctx, "request-a") }},
		{name: "ReadRerun", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadRerun(ctx, "a") }},
		{name: "ReadLive", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadLive(ctx, 10) }},
		{name: "JobTickets", act: func(ctx context.Context, s *stand) (any, error) { return s.JobTickets(ctx, "a", 10) }},
		{name: "ConfigChanges", act: func(ctx context.Context, s *stand) (any, error) { return s.ConfigChanges(ctx, 10, 0) }},
		{name: "ProviderEvents", act: func(ctx context.Context, s *stand) (any, error) { return s.ProviderEvents(ctx, "shop", 10) }},
	}
	for i := range list {
		list[i].arrange, list[i].reads = anEnded, true
	}
	return append(list,
		method{name: "ListUnresolved", arrange: aFrozen, reads: true, act: func(ctx context.Context, s *stand) (any, error) { return s.ListUnresolved(ctx, 10, "") }},
		method{name: "ReadReconciliation", arrange: aFrozen, reads: true, act: func(ctx context.Context, s *stand) (any, error) { return s.ReadReconciliation(ctx, "a", "") }},
	)
}
