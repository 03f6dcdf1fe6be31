package jobrun_test

import (
	"strings"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/toolcall"
)

// A job that a person reconciled goes on when it is rerun: the model reads what was found, and nothing is sent again (I1, D30).
func TestRerunAfterClosing(t *testing.T) {
	t.Parallel()
	for finding, says := range map[toolcall.Finding]string{toolcall.Happened: "with status 201", toolcall.NotHappened: "must not be repeated"} {
		b := open(t, nil)
		b.Business.Answer(unreachable)
		b.run(jobtest.Call(ticket("a")))
		b.reconciled("uncertain", "timeout")
		open := b.Job(b.id).Open
		rerun := &job.Rerunner{Store: b.Store, Queue: b.Queue, Clock: b.Clock, Logger: b.Lifecycle.Logger}
		closing := toolcall.Closing{Finding: finding, Reason: "r", By: "jo"}
		if finding == toolcall.Happened {
			closing.Status = 201
		}
		r := &toolcall.Reconciler{Store: b.Store, Clock: b.Clock}
		if _, err := r.Close(t.Context(), b.id, open.IdempotencyKey, closing); err != nil {
			t.Fatal(err)
		}
		if j := b.Job(b.id); j.Open != nil || j.Error != job.ReasonReconciliation {
			t.Errorf("%s: closing changes the record of the call only: %s, open %+v", finding, j.Error, j.Open)
		}
		if err := rerun.Rerun(t.Context(), b.id, "jo"); err != nil {
			t.Fatal(err)
		}
		b.Business.Respond(201, `{"no":8}`)
		j := b.run(jobtest.Call(ticket("a"), ticket("b")), jobtest.Say("done"))
		if j.Status != job.Done || j.Open != nil {
			t.Errorf("%s: job is %s: %s, open %+v", finding, j.Status, j.Error, j.Open)
		}
		if n := len(b.Business.Sent()); n != 2 {
			t.Errorf("%s: %d calls, want the first one and the other ticket", finding, n)
		}
		if texts := b.toolResults(); len(texts) != 2 || !strings.Contains(texts[0], says) || texts[1] != `{"no":8}` {
			t.Errorf("%s: the model read %q", finding, texts)
		}
	}
}
