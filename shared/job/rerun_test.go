package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

func rerunner(w *jobtest.World) *job.Rerunner {
	return &job.Rerunner{Store: w.Store, Queue: w.Queue, Clock: w.Clock, Logger: slog.New(slog.DiscardHandler)}
}

// ended is a world with one job that ended after what the model wished for.
func ended(t *testing.T, replies ...jobtest.Reply) (w *jobtest.World, id string) {
	t.Helper()
	w = jobtest.New(t, jobtest.NoRetries())
	token := w.Seed()
	id = w.MustLaunch(token, jobtest.Submission("r", callbackMember)).JobID
	w.Model.Then(replies...)
	w.Deliver()
	return w, id
}

var create = jobtest.Wish{Tool: "ticket_create", Args: `{"text":"a"}`}

// I1: a completed side effect is answered from the journal, however often its job is rerun; reads are made anew.
func TestARerunRepeatsNoSideEffect(t *testing.T) {
	t.Parallel()
	look := jobtest.Wish{Tool: "order_get", Args: `{"id":"1"}`}
	w, id := ended(t, jobtest.Call(create, look), jobtest.Say("first"))
	for run := 2; run <= 3; run++ {
		if err := rerunner(w).Rerun(t.Context(), id, "ann"); err != nil {
			t.Fatal(err)
		}
		if j := w.Job(id); j.Status != job.Queued || j.Result != nil || j.Error != "" || j.Usage != nil || j.Attempts != 0 {
			t.Errorf("queued again as %+v", j)
		}
		w.Model.Then(jobtest.Call(create, look), jobtest.Say("again"))
		w.Deliver()
		writes := 0
		for _, r := range w.Business.Sent() {
			if r.Method == "POST" {
				writes++
			}
		}
		if writes != 1 || len(w.Business.Sent())-writes != run {
			t.Errorf("run %d: %d writes, %d calls", run, writes, len(w.Business.Sent()))
		}
		if n := len(w.Events(id, "tool_call_deduped")); n != run-1 {
			t.Errorf("run %d: %d answers from the journal", run, n)
		}
	}
	j := w.Job(id)
	if got := job.BriefOf(j); j.Status != job.Done || got.Summary != "again" {
		t.Errorf("ended as %s: %s", j.Status, j.Result)
	}
	events := w.Events(id, "rerun")
	if len(events) != 2 || events[0].Detail["by"] != "ann" || events[0].Detail["from"] != "done" || events[1].Detail["run"] != 3.0 {
		t.Errorf("audit %+v", events)
	}
}

// Every end of a job is told under a number of its own.
func TestARerunIsToldUnderItsOwnNumber(t *testing.T) {
	t.Parallel()
	w, id := ended(t, jobtest.Say("first"))
	if err := rerunner(w).Rerun(t.Context(), id, "token"); err != nil {
		t.Fatal(err)
	}
	w.Model.Then(jobtest.Say("second"))
	w.Deliver()
	for i, n := range w.Notices.Take() {
		if want := (job.OutboxKey{JobID: id, Terminal: i + 1, Target: job.ToCallback}); n.Key != want {
			t.Errorf("message %+v, want %+v", n.Key, want)
		}
	}
	if rows, err := w.Store.OutboxOf(t.Context(), id); err != nil || len(rows) != 2 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// I4, core §5.8: a run of a job with a side effect of unknown outcome ends before any model is asked.
func TestARerunOfAnUnresolvedSideEffectStopsBeforeTheModel(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	id := w.MustLaunch(w.Seed(), jobtest.Submission("r", callbackMember)).JobID
	w.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	})
	w.Model.Then(jobtest.Call(create))
	w.Deliver()
	before, sent := w.Job(id), len(w.Business.Sent())
	if err := rerunner(w).Rerun(t.Context(), id, "token"); err != nil {
		t.Fatal(err)
	}
	if j := w.Job(id); j.Status != job.Queued || j.Open == nil {
		t.Fatalf("%+v", j)
	}
	w.Deliver() // the model has no answer left: asking it would fail the job in another way
	after := w.Job(id)
	if after.Status != job.Failed || after.Error != job.ReasonReconciliation || string(after.Result) != string(before.Result) || len(w.Business.Sent()) != sent {
		t.Errorf("%s %s, %d requests", after.Status, after.Error, len(w.Business.Sent()))
	}
	if rows, err := w.Store.OutboxOf(t.Context(), id); err != nil || len(rows) != 2 {
		t.Errorf("it is told %d times, %v", len(rows), err)
	}
}

func TestOnlyEndedJobsAreRerun(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	r := rerunner(w)
	refused := func(status job.Status) {
		t.Helper()
		if err := r.Rerun(t.Context(), id, "token"); !errors.Is(err, job.ErrInFlight) || w.Job(id).Status != status {
			t.Errorf("%s: %v", status, err)
		}
	}
	refused(job.Queued)
	_, f := claim(t, w, id, "a")
	refused(job.Running)
	if err := w.Lifecycle.Finish(t.Context(), f, outcome); err != nil {
		t.Fatal(err)
	}
	if err := r.Rerun(t.Context(), id, "token"); err != nil {
		t.Fatal(err)
	}
	refused(job.Queued) // asked for twice
	if err := r.Rerun(t.Context(), "11111111-2222-4333-8444-555555555555", "token"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
}

// A rerun takes its turn in its thread, and no more places than there are.
func TestARerunKeepsTheOrderOfItsThread(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	route := jobtest.SupportRoute()
	route.SessionPolicy, route.SessionFixedID = registry.SessionFixed, "s"
	w.SaveRoute(route)
	first := w.MustLaunch(token, jobtest.Submission("r0")).JobID
	w.Model.Then(jobtest.Say("first"))
	w.Deliver()
	var others []string
	for i := 1; i < job.MaxInFlight; i++ {
		others = append(others, w.MustLaunch(token, jobtest.Submission(fmt.Sprint("r", i))).JobID)
	}
	w.Queue.Take()
	if err := rerunner(w).Rerun(t.Context(), first, "token"); err != nil { // the sixth in flight
		t.Fatal(err)
	}
	if j := w.Job(first); j.Head || len(w.Queue.Take()) != 0 {
		t.Error("the rerun overtook the jobs before it")
	}
	for range others {
		w.Model.Then(jobtest.Say("other"))
	}
	w.Run(t.Context(), others[0])
	w.MustLaunch(token, jobtest.Submission("last")) // the sixth again
	if w.Job(others[0]).Status != job.Done {
		t.Fatal("the head did not end")
	}
	if err := rerunner(w).Rerun(t.Context(), others[0], "token"); !errors.Is(err, job.ErrThreadFull) { // would be the seventh
		t.Errorf("a full thread: %v", err)
	}
	w.Model.Then(jobtest.Say("again"), jobtest.Say("last"))
	w.Deliver()
	if j := w.Job(first); j.Status != job.Done || job.BriefOf(j).Summary != "again" {
		t.Errorf("the rerun ended as %s %s", j.Status, j.Result)
	}
}

// Of reruns at once one happens.
func TestConcurrentRerunsHaveOneWinner(t *testing.T) {
	t.Parallel()
	w, id := ended(t, jobtest.Say("first"))
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch err := rerunner(w).Rerun(t.Context(), id, "token"); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, job.ErrInFlight):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || len(w.Queue.Take()) != 1 || len(w.Events(id, "rerun")) != 1 {
		t.Errorf("%d won, %d records", won.Load(), len(w.Events(id, "rerun")))
	}
}

// A rerun whose message was lost is sent by the sweeper, and one that dies before its transaction changes nothing.
func TestARerunSurvivesWhatDiesAroundIt(t *testing.T) {
	t.Parallel()
	w, id := ended(t, jobtest.Say("first"))
	w.Faults().Set(func(op fault.Op) fault.Fault {
		if op.Action == "TransactWriteItems" {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	if err := rerunner(w).Rerun(t.Context(), id, "token"); err == nil || w.Job(id).Status != job.Done {
		t.Errorf("%v, %s", err, w.Job(id).Status)
	}
	w.Faults().Set(nil)
	w.Queue.Fail(errors.New("queue down"))
	if err := rerunner(w).Rerun(t.Context(), id, "token"); err != nil {
		t.Fatal(err)
	}
	w.Queue.Fail(nil)
	w.Clock.Advance(job.ResendAfter + time.Second)
	w.Sweep()
	w.Model.Then(jobtest.Say("second"))
	w.Deliver()
	if j := w.Job(id); j.Status != job.Done || job.BriefOf(j).Summary != "second" {
		t.Errorf("%s %s", j.Status, j.Result)
	}
}

// The model of a rerun knows nothing of the earlier run.
func TestARerunBeginsAnew(t *testing.T) {
	t.Parallel()
	w, id := ended(t, jobtest.Call(jobtest.Wish{Tool: "order_get", Args: `{"id":"1"}`}), jobtest.Fail(&model.Error{Public: "no"}))
	if j := w.Job(id); j.Status != job.Failed {
		t.Fatalf("ended as %s", j.Status)
	}
	if err := rerunner(w).Rerun(t.Context(), id, "token"); err != nil {
		t.Fatal(err)
	}
	w.Model.Then(jobtest.Say("well"))
	w.Deliver()
	asked := w.Model.Requests()
	if first, last := asked[0], asked[len(asked)-1]; len(first.Messages) != len(last.Messages) {
		t.Errorf("%d messages at first, %d in the rerun", len(first.Messages), len(last.Messages))
	}
	if j := w.Job(id); j.Status != job.Done || j.Error != "" {
		t.Errorf("ended as %s %q", j.Status, j.Error)
	}
}

// endsStore is a job that has ended some number of times.
type endsStore struct{ ends int }

func (s endsStore) ReadRerun(context.Context, string) (job.RerunView, error) {
	return job.RerunView{Job: &job.Job{Status: job.Done}, Ends: s.ends}, nil
}

func (endsStore) RequeueJob(context.Context, job.RerunView, time.Time, job.Event) error { return nil }

func TestAJobEndsAsOftenAsItCanBeTold(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	for ends, want := range map[int]error{job.RunsMax - 1: nil, job.RunsMax: job.ErrRunsUsedUp} {
		r := rerunner(w)
		r.Store = endsStore{ends}
		if err := r.Rerun(t.Context(), "id", "token"); !errors.Is(err, want) {
			t.Errorf("%d ends: %v", ends, err)
		}
	}
}
