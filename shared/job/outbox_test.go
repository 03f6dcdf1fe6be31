package job_test

import (
	"errors"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

const callbackMember = `"callback_url":"https://acme.example/cb"`

// The end of a job leads to one message for each of those that have to be told.
func TestTheEndOfAJobIsTold(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	r := jobtest.SupportRoute()
	r.Delivery = &registry.Delivery{Type: registry.DeliveryWebhook, URL: "https://acme.example/hook"}
	w.SaveRoute(r)
	id := w.MustLaunch(token, jobtest.Submission("r", callbackMember)).JobID

	// What the route says later is for later jobs.
	r.Delivery = nil
	w.SaveRoute(r)
	_, f := claim(t, w, id, "a")
	if err := w.Lifecycle.Finish(t.Context(), f, outcome); err != nil {
		t.Fatal(err)
	}
	got := w.Notices.Take()
	want := []job.OutboxKey{{JobID: id, Terminal: 1, Target: job.ToCallback}, {JobID: id, Terminal: 1, Target: job.ToDelivery}}
	if len(got) != 2 || got[0] != (jobtest.Notice{Key: want[0]}) || got[1] != (jobtest.Notice{Key: want[1]}) {
		t.Errorf("messages %+v, want %+v", got, want)
	}
	if rows, err := w.Store.OutboxOf(t.Context(), id); err != nil || len(rows) != 2 || rows[1].URL != "https://acme.example/hook" {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

func TestAJobThatNobodyTookIsTold(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	id := w.MustLaunch(w.Seed(), jobtest.Submission("r", callbackMember)).JobID
	w.Clock.Advance(job.QueueTimeout + time.Second)
	w.Sweep()
	if got := w.Notices.Take(); len(got) != 1 || got[0].Key.JobID != id {
		t.Errorf("messages %+v", got)
	}
}

// D11: whoever submitted it was told by the answer.
func TestAJobRejectedAtLaunchIsNotToldAgain(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	r := jobtest.SupportRoute()
	r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "s"
	w.SaveRoute(r)
	var last job.Accepted
	for _, request := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		last = w.MustLaunch(token, jobtest.Submission(request, callbackMember))
	}
	rows, err := w.Store.OutboxOf(t.Context(), last.JobID)
	if last.Status != job.Rejected || err != nil || len(rows) != 0 || len(w.Notices.Take()) != 0 {
		t.Errorf("%s: rows %+v, %v", last.Status, rows, err)
	}
}

// A queue that is down, or none at all, keeps no job from its end: the row is there for the sweeper.
func TestALostCallbackMessageIsNoFailure(t *testing.T) {
	t.Parallel()
	for rule, change := range map[string]func(*jobtest.World){
		"the queue is down": func(w *jobtest.World) { w.Notices.Fail(errors.New("down")) },
		"there is no queue": func(w *jobtest.World) { w.Lifecycle.Notifier = nil },
	} {
		w := jobtest.New(t)
		id := w.MustLaunch(w.Seed(), jobtest.Submission("r", callbackMember)).JobID
		change(w)
		_, f := claim(t, w, id, "a")
		if err := w.Lifecycle.Finish(t.Context(), f, outcome); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
		if rows, err := w.Store.OutboxOf(t.Context(), id); err != nil || len(rows) != 1 {
			t.Errorf("%s: rows %+v, %v", rule, rows, err)
		}
	}
}

func FuzzParseOutboxKey(f *testing.F) {
	f.Add("fde28e3e-23c0-490e-9b51-ea880b1c3c87_1_callback")
	f.Add("fde28e3e-23c0-490e-9b51-ea880b1c3c87_01_delivery")
	f.Add("__")
	f.Fuzz(func(t *testing.T, id string) {
		k, err := job.ParseOutboxKey(id)
		if err == nil && (k.ID() != id || !k.Valid()) {
			t.Errorf("%q is read as %+v", id, k)
		}
		if err != nil && k != (job.OutboxKey{}) {
			t.Errorf("%q is refused, and read as %+v", id, k)
		}
	})
}
