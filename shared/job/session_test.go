package job_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// sessions is a world whose route has the given policy.
type sessions struct {
	*jobtest.World
	token, other string
	n            int
}

func openSessions(t *testing.T, change func(*registry.Route)) *sessions {
	w := &sessions{World: jobtest.New(t)}
	w.token = w.Seed()
	w.other = w.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	r := jobtest.SupportRoute()
	change(&r)
	w.SaveRoute(r)
	return w
}

// launch submits a job with this metadata.
func (w *sessions) launch(token, metadata string) (job.Accepted, *job.Job) {
	w.n++
	a := w.MustLaunch(token, jobtest.Submission(fmt.Sprint("r", w.n), `"metadata":`+metadata))
	return a, w.Job(a.JobID)
}

func TestSessionPolicyNew(t *testing.T) {
	t.Parallel()
	w := openSessions(t, func(r *registry.Route) { r.SessionPolicy = registry.SessionNew })
	a, first := w.launch(w.token, `{}`)
	b, second := w.launch(w.token, `{}`)
	if !textlimit.UUID(*a.SessionID) || *a.SessionID == *b.SessionID || *a.Continue || *b.Continue {
		t.Errorf("sessions %s and %s, continue %v and %v", *a.SessionID, *b.SessionID, *a.Continue, *b.Continue)
	}
	if first.ThreadKey == second.ThreadKey || !first.Head || !second.Head {
		t.Error("jobs of this policy wait for each other")
	}
}

func TestSessionPolicyFixed(t *testing.T) {
	t.Parallel()
	w := openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "desk-1" })
	a, first := w.launch(w.token, `{}`)
	b, second := w.launch(w.other, `{}`)
	if *a.SessionID != "desk-1" || *b.SessionID != "desk-1" || *a.Continue || !*b.Continue {
		t.Errorf("sessions %s and %s, continue %v and %v", *a.SessionID, *b.SessionID, *a.Continue, *b.Continue)
	}
	if first.ThreadKey != second.ThreadKey || !first.Head || second.Head {
		t.Error("all jobs of this route share one thread")
	}
}

func TestSessionPolicyPerKey(t *testing.T) {
	t.Parallel()
	w := openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionKeyField = registry.SessionPerKey, "customer" })
	a, first := w.launch(w.token, `{"customer":"c-1"}`)
	b, second := w.launch(w.token, `{"customer":"c-1"}`)
	c, third := w.launch(w.token, `{"customer":"c-2"}`)
	if !textlimit.UUID(*a.SessionID) || *b.SessionID != *a.SessionID || *a.Continue || !*b.Continue {
		t.Errorf("sessions %s and %s, continue %v and %v", *a.SessionID, *b.SessionID, *a.Continue, *b.Continue)
	}
	if *c.SessionID == *a.SessionID || *c.Continue || first.ThreadKey != second.ThreadKey || third.ThreadKey == first.ThreadKey {
		t.Error("another key is another session and thread")
	}
	d, fourth := w.launch(w.other, `{"customer":"c-1"}`)
	if *d.SessionID == *a.SessionID || *d.Continue || fourth.ThreadKey == first.ThreadKey || fourth.ThreadID == first.ThreadID {
		t.Error("a client that guesses another one's key got into its conversation")
	}
	number, fifth := w.launch(w.token, `{"customer":7}`)
	if _, sixth := w.launch(w.token, `{"customer":"7"}`); sixth.ThreadKey != fifth.ThreadKey || *number.Continue {
		t.Error("a number is its text")
	}
}

func TestSessionPolicyPassthrough(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct{ field, metadata string }{
		"the default field": {"", `{"session_id":"s-1"}`},
		"its own field":     {"conversation", `{"conversation":"s-1","session_id":"other"}`},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			w := openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionKeyField = registry.SessionPassthrough, tc.field })
			a, first := w.launch(w.token, tc.metadata)
			b, second := w.launch(w.other, tc.metadata)
			if *a.SessionID != "s-1" || !*a.Continue || *b.SessionID != "s-1" || !*b.Continue {
				t.Errorf("sessions %s and %s, continue %v and %v", *a.SessionID, *b.SessionID, *a.Continue, *b.Continue)
			}
			if first.ThreadKey == second.ThreadKey {
				t.Error("two clients with the same session id share a thread")
			}
		})
	}
}

func TestSessionKeyThatIsMissing(t *testing.T) {
	t.Parallel()
	for _, policy := range []registry.SessionPolicy{registry.SessionPerKey, registry.SessionPassthrough} {
		w := openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionKeyField = policy, "key" })
		for _, metadata := range []string{`{}`, `{"key":""}`, `{"key":null}`, `{"key":["a"]}`, `{"key":true}`} {
			a, first := w.launch(w.token, metadata)
			_, second := w.launch(w.token, metadata)
			if !textlimit.UUID(*a.SessionID) || *a.Continue || first.ThreadKey == second.ThreadKey {
				t.Errorf("%s with %s does not act as new", policy, metadata)
			}
		}
	}
}

func TestSessionKeyLimit(t *testing.T) {
	t.Parallel()
	for _, policy := range []registry.SessionPolicy{registry.SessionPerKey, registry.SessionPassthrough} {
		w := openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionKeyField = policy, "key" })
		w.launch(w.token, `{"key":"`+strings.Repeat("k", 191)+`"}`)
		w.launch(w.token, `{"key":"k`+strings.Repeat("😀", 95)+`"}`) // 191 UTF-16 units
		for _, long := range []string{strings.Repeat("k", 192), strings.Repeat("😀", 96)} {
			_, err := w.Launch(w.token, jobtest.Submission("long", `"metadata":{"key":"`+long+`"}`))
			wantStatus(t, err, 400)
		}
	}
}

func fixedThread(t *testing.T) *sessions {
	return openSessions(t, func(r *registry.Route) { r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "desk" })
}

func TestSeventhJobInFlightIsRejected(t *testing.T) {
	t.Parallel()
	w := fixedThread(t)
	var ids []string
	for range job.MaxInFlight {
		a, _ := w.launch(w.token, `{}`)
		if a.Status != job.Queued {
			t.Fatalf("status %s within the quota", a.Status)
		}
		ids = append(ids, a.JobID)
	}
	seventh, stored := w.launch(w.token, `{}`)
	if seventh.Status != job.Rejected || stored.Status != job.Rejected || stored.Error != "thread_inflight_quota" || stored.Head {
		t.Errorf("answer %s, stored %s, error %q", seventh.Status, stored.Status, stored.Error)
	}
	if *seventh.Route != jobtest.Route || *seventh.SessionID != "desk" {
		t.Errorf("answer %s", wire(t, seventh))
	}
	if e := w.Events(seventh.JobID, "rejected"); len(e) != 1 || e[0].Detail["reason"] != "thread_inflight_quota" {
		t.Errorf("events %+v", e)
	}
	if again := w.MustLaunch(w.token, jobtest.Submission("r7", `"metadata":{}`)); again.JobID != seventh.JobID || again.Status != job.Rejected {
		t.Errorf("replay of a rejected job: %s", wire(t, again))
	}

	// One ends, one place is free.
	w.Queue.Take()
	w.Model.Then(jobtest.Say("one"))
	w.Run(t.Context(), ids[0])
	if eighth, _ := w.launch(w.token, `{}`); eighth.Status != job.Queued {
		t.Errorf("status %s after a place became free", eighth.Status)
	}
}

func TestThreadKeepsItsOrder(t *testing.T) {
	t.Parallel()
	w := fixedThread(t)
	var ids []string
	for range job.MaxInFlight {
		a, _ := w.launch(w.token, `{}`)
		ids = append(ids, a.JobID)
		w.Model.Then(jobtest.Say("done"))
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != ids[0] {
		t.Fatalf("messages %v: only the head is queued", m)
	}
	// A message for a job that is not the head changes nothing.
	w.Run(t.Context(), ids[3])
	if j := w.Job(ids[3]); j.Status != job.Queued || j.Claim != 0 {
		t.Fatalf("job behind the head: %s, claim %d", j.Status, j.Claim)
	}
	for i, id := range ids {
		w.Run(t.Context(), id)
		if j := w.Job(id); j.Status != job.Done || j.Head {
			t.Fatalf("job %d: %s, head %v", i, j.Status, j.Head)
		}
		var next []string
		for _, m := range w.Queue.Take() {
			next = append(next, m.JobID)
		}
		if want := ids[i+1 : min(i+2, len(ids))]; !slices.Equal(next, want) {
			t.Fatalf("after job %d the queue has %v, want %v", i, next, want)
		}
	}
	// The thread remembers its session when nothing is in flight.
	if a, j := w.launch(w.token, `{}`); !*a.Continue || !j.Head {
		t.Errorf("continue %v, head %v", *a.Continue, j.Head)
	}
}

func TestConcurrentJobsOfOneThread(t *testing.T) {
	t.Parallel()
	const callers = 12
	w := fixedThread(t)
	ids := make([]string, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			a, err := w.Launch(w.token, jobtest.Submission(fmt.Sprint("c", i)))
			if err != nil {
				t.Error(err)
			}
			ids[i] = a.JobID
		})
	}
	wg.Wait()
	queued, heads := 0, 0
	for _, id := range ids {
		j := w.Job(id)
		if j.Status == job.Queued {
			queued++
			w.Model.Then(jobtest.Say("done"))
		}
		if j.Head {
			heads++
		}
	}
	if queued != job.MaxInFlight || heads != 1 {
		t.Errorf("%d in flight and %d heads, want %d and 1", queued, heads, job.MaxInFlight)
	}
	w.Deliver()
	for _, id := range ids {
		if j := w.Job(id); !j.Status.Terminal() {
			t.Errorf("job %s is %s: lost in its thread", id, j.Status)
		}
	}
}
