package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/toolcall"
)

var lists = []promise{
	{"jobs are listed by their launch, the latest first", listedByLaunch},
	{"a list shows of a job what a reader of the whole job sees", listedAlike},
	{"pages follow each other, whatever arrives between them", listedInPages},
	{"a filter reads past what it leaves out", listedFiltered},
	{"a job is found by its request id", foundByRequest},
	{"running jobs, heads and what waits behind them are alive", alive},
	{"tickets of a job are listed without what they froze", jobTickets},
}

// owned is drafts of an owner that no other test has, each launched a second after the one before it.
func (b *bundle) owned(t *testing.T, n int) (owner string, jobs []*job.Job) {
	t.Helper()
	owner = "o-" + uuid.NewString()
	for i := range n {
		j := b.draft()
		j.Owner = owner
		j.CreatedAt = b.now.Add(time.Duration(i) * time.Second)
		must(t, b.join(t.Context(), j))
		jobs = append(jobs, j)
	}
	if b.Settle != nil {
		b.Settle()
	}
	return owner, jobs
}

func (b *bundle) list(t *testing.T, q job.ListQuery) job.Page {
	t.Helper()
	p, err := b.Store.ListJobs(t.Context(), q)
	must(t, err)
	return p
}

func ids(p job.Page) (out []string) {
	for _, j := range p.Jobs {
		out = append(out, j.ID)
	}
	return out
}

// all follows the cursor to the end. In a shared table other jobs fill pages, which come empty.
func (b *bundle) all(t *testing.T, q job.ListQuery) (out []string) {
	t.Helper()
	for {
		p := b.list(t, q)
		out = append(out, ids(p)...)
		if q.After = p.Next; p.Next == "" {
			return out
		}
	}
}

func listedByLaunch(t *testing.T, b *bundle) {
	owner, jobs := b.owned(t, 3)
	want := []string{jobs[2].ID, jobs[1].ID, jobs[0].ID}
	wantEqual(t, "jobs", b.all(t, job.ListQuery{Limit: 10, Owner: owner}), want)
	b.finish(t, b.claim(t, jobs[0].ID)) // what happens later changes no place
	b.rerun(t, jobs[0].ID, b.now.Add(time.Hour))
	wantEqual(t, "jobs", b.all(t, job.ListQuery{Limit: 10, Owner: owner}), want)
}

func listedAlike(t *testing.T, b *bundle) {
	_, jobs := b.owned(t, 1)
	check := func() {
		t.Helper()
		got, err := b.Store.ReadBrief(t.Context(), jobs[0].ID)
		must(t, err)
		wantEqual(t, "brief", *got, job.BriefOf(b.read(t, jobs[0].ID)))
	}
	check()
	f := b.claim(t, jobs[0].ID)
	check()
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"` + strings.Repeat("答", 90_000) + `"}`), Now: b.now}
	_, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
	check()
	b.rerun(t, jobs[0].ID, b.now)
	check()
	b.fail(t, b.claim(t, jobs[0].ID))
	check()
	none, err := b.Store.ReadBrief(t.Context(), uuid.NewString())
	must(t, err)
	wantEqual(t, "unknown job", none, nil)
}

func listedInPages(t *testing.T, b *bundle) {
	owner, jobs := b.owned(t, 5)
	var got []string
	q := job.ListQuery{Limit: 2, Owner: owner}
	for {
		p := b.list(t, q)
		got = append(got, ids(p)...)
		if q.After = p.Next; p.Next == "" {
			break
		}
		later := b.draft()
		later.Owner, later.CreatedAt = owner, b.now.Add(time.Hour)
		must(t, b.join(t.Context(), later))
	}
	slices.Reverse(got)
	var want []string
	for _, j := range jobs {
		want = append(want, j.ID)
	}
	wantEqual(t, "jobs", got, want)
}

func listedFiltered(t *testing.T, b *bundle) {
	owner, jobs := b.owned(t, 3)
	b.finish(t, b.claim(t, jobs[1].ID))
	wantEqual(t, "done", b.all(t, job.ListQuery{Limit: 1, Owner: owner, Status: job.Done}), []string{jobs[1].ID})
	wantEqual(t, "queued", len(b.all(t, job.ListQuery{Limit: 1, Owner: owner, Status: job.Queued, Route: "orders"})), 2)
	wantEqual(t, "another route", len(b.all(t, job.ListQuery{Limit: 1, Owner: owner, Route: "none"})), 0)
}

func foundByRequest(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	id, err := b.Store.RequestJob(t.Context(), j.RequestID)
	must(t, err)
	wantEqual(t, "job", id, j.ID)
	id, err = b.Store.RequestJob(t.Context(), "none-"+j.ID)
	must(t, err)
	wantEqual(t, "no job", id, "")
}

func alive(t *testing.T, b *bundle) {
	running, _ := b.running(t)
	b.launch(t, running.ThreadKey)
	queued, ended := b.launch(t, ""), b.launch(t, "")
	b.finish(t, b.claim(t, ended.ID))
	if b.Settle != nil {
		b.Settle()
	}
	live, err := b.Store.ReadLive(t.Context(), 10_000) // other tests' jobs live in the same table
	must(t, err)
	found := map[string]job.LiveJob{}
	for _, j := range live.Jobs {
		found[j.ID] = j
	}
	if j := found[running.ID]; j.Status != job.Running || j.Waiting != 1 || j.Target != "llm" || !j.LeaseUntil.Equal(b.now.Add(lease)) || !j.Head {
		t.Errorf("running %+v", j)
	}
	if j := found[queued.ID]; j.Status != job.Queued || j.Waiting != 0 || !j.QueuedAt.Equal(b.now) {
		t.Errorf("queued %+v", j)
	}
	if _, ok := found[ended.ID]; ok || live.Truncated {
		t.Errorf("ended %v, truncated %v", ok, live.Truncated)
	}
}

func jobTickets(t *testing.T, b *bundle) {
	j, f := b.running(t)
	var want []int64
	for i, args := range []string{"b", "a"} {
		ticket := b.ticket(f, args, 10)
		ticket.CreatedAt = b.now.Add(time.Duration(i) * time.Second)
		must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: ticket}, toolcall.Record{Round: 1, Index: i}, b.event("pending-"+args)))
		want = append(want, ticket.ID)
	}
	got, err := b.Store.JobTickets(t.Context(), j.ID, 10)
	must(t, err)
	wantEqual(t, "tickets", len(got), 2)
	for i := range got {
		if got[i].ID != want[i] || got[i].Intent != nil || got[i].Sealed != "" || got[i].JobID != j.ID {
			t.Errorf("ticket %+v", got[i])
		}
	}
	one, err := b.Store.JobTickets(t.Context(), j.ID, 1)
	must(t, err)
	wantEqual(t, "bounded", len(one), 1)
}
