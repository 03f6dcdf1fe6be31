package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/jobrun"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

func second(n int) time.Time { return jobtest.Start.Add(time.Duration(n) * time.Second) }

func TestSeatOf(t *testing.T) {
	t.Parallel()
	peers := map[string]job.Peer{
		"old": {Status: job.Queued, CreatedAt: second(1)}, "twin-a": {Status: job.Queued, CreatedAt: second(5)},
		"twin-z": {Status: job.Queued, CreatedAt: second(5)}, "young": {Status: job.Queued, CreatedAt: second(8)},
		"younger": {Status: job.Queued, CreatedAt: second(9)}, "runs": {Status: job.Running, CreatedAt: second(8)},
		"sent": {Status: job.Dispatched, CreatedAt: second(8)},
	}
	for _, tc := range []struct {
		rule    string
		head    string
		waiting []string

		isHead, demotes bool
		want            []string // the waiting ones after that
	}{
		{rule: "an empty thread", isHead: true},
		{rule: "an older head", head: "old", want: []string{"j"}},
		{rule: "a younger head that queues", head: "young", isHead: true, demotes: true, want: []string{"young"}},
		{rule: "a younger head that runs", head: "runs", want: []string{"j"}},
		{rule: "a younger head that an executor has", head: "sent", want: []string{"j"}},
		{rule: "a head that cannot be read", head: "unknown", want: []string{"j"}},
		{rule: "a head of the same age and a larger id", head: "twin-z", isHead: true, demotes: true, want: []string{"twin-z"}},
		{rule: "a head of the same age and a smaller id", head: "twin-a", want: []string{"j"}},
		{rule: "between older and younger", head: "runs", waiting: []string{"old", "young", "younger"}, want: []string{"old", "j", "young", "younger"}},
		{rule: "before all that wait", head: "runs", waiting: []string{"young", "younger"}, want: []string{"j", "young", "younger"}},
		{rule: "behind all that wait", head: "old", waiting: []string{"old", "unknown"}, want: []string{"old", "unknown", "j"}},
		{rule: "one that cannot be read counts as older", head: "old", waiting: []string{"unknown", "young"}, want: []string{"unknown", "j", "young"}},
		{rule: "a displaced head is the first that waits", head: "young", waiting: []string{"younger"}, isHead: true, demotes: true, want: []string{"young", "younger"}},
	} {
		before := job.Thread{Key: "t", Version: 3, Head: tc.head, Waiting: tc.waiting, SessionID: "s", Uncounted: []string{"other"}}
		kept := job.Thread{Key: "t", Version: 3, Head: tc.head, Waiting: slices.Clone(tc.waiting), SessionID: "s", Uncounted: []string{"other"}}
		id := "j"
		if tc.head == "twin-a" || tc.head == "twin-z" {
			id = "twin-m"
			for i := range tc.want {
				if tc.want[i] == "j" {
					tc.want[i] = id
				}
			}
		}
		s := job.SeatOf(&job.Job{ID: id, Status: job.Done, CreatedAt: second(5)}, before, peers)
		want := job.Seat{Head: tc.isHead, Thread: job.Thread{Key: "t", Version: 3, Head: tc.head, Waiting: tc.want, SessionID: "s", Uncounted: []string{"other", id}}}
		if tc.isHead {
			want.Thread.Head = id
		}
		if tc.demotes {
			want.Demoted = tc.head
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %+v, want %+v", tc.rule, s, want)
		}
		if !reflect.DeepEqual(before, kept) {
			t.Errorf("%s: the thread that was read is another one now: %+v", tc.rule, before)
		}
	}
}

// naive is a thread as a line of people: whoever stands at the counter is served, the others stand by age.
type naive struct {
	line    []string // the head first
	serving bool     // the head is being served
	age     map[string]int
	back    map[string]bool // came again with an approval
}

// Lines of new jobs, jobs that end, and jobs that come back, against that model.
func TestSeatsAgainstAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := naive{age: map[string]int{}, back: map[string]bool{}}
		thread, peers := job.Thread{Key: "t", Version: 1}, map[string]job.Peer{}
		var gone []string
		born := 0
		for range 60 {
			switch r.IntN(4) {
			case 0: // a new job joins, if the quota lets it
				counted := 0
				for _, id := range m.line {
					if !m.back[id] {
						counted++
					}
				}
				if thread.InFlight() != counted {
					t.Fatalf("seed %d: %d in flight, want %d: %+v", seed, thread.InFlight(), counted, thread)
				}
				if counted >= job.MaxInFlight {
					continue
				}
				born++
				id := string(rune('A' + born))
				m.age[id] = born
				m.line = append(m.line, id)
				peers[id] = job.Peer{Status: job.Queued, CreatedAt: second(born)}
				if thread.Head == "" {
					thread.Head = id
				} else {
					thread.Waiting = append(slices.Clone(thread.Waiting), id)
				}
			case 1: // the head is taken
				if len(m.line) > 0 && !m.serving {
					m.serving = true
					peers[thread.Head] = job.Peer{Status: job.Running, CreatedAt: peers[thread.Head].CreatedAt}
				}
			case 2: // it ends
				if !m.serving {
					continue
				}
				id := m.line[0]
				m.line, m.serving = m.line[1:], false
				delete(m.back, id)
				peers[id] = job.Peer{Status: job.Done, CreatedAt: peers[id].CreatedAt}
				gone = append(gone, id)
				var next string
				thread, next = thread.Leave()
				if next != thread.Head {
					t.Fatalf("seed %d: next %q, head %q", seed, next, thread.Head)
				}
			case 3: // one that ended comes back
				if len(gone) == 0 {
					continue
				}
				k := r.IntN(len(gone))
				id := gone[k]
				gone = slices.Delete(gone, k, k+1)
				s := job.SeatOf(&job.Job{ID: id, Status: job.Done, CreatedAt: peers[id].CreatedAt}, thread, peers)
				first := 0
				if m.serving {
					first = 1
				}
				at := first
				for at < len(m.line) && m.age[m.line[at]] < m.age[id] {
					at++
				}
				if demoted := at == 0 && len(m.line) > 0; demoted != (s.Demoted != "") || demoted && s.Demoted != m.line[0] {
					t.Fatalf("seed %d: demotes %q, line %v", seed, s.Demoted, m.line)
				}
				m.line = slices.Insert(m.line, at, id)
				m.back[id] = true
				peers[id] = job.Peer{Status: job.Queued, CreatedAt: peers[id].CreatedAt}
				if s.Head != (at == 0) {
					t.Fatalf("seed %d: head %v, want place %d", seed, s.Head, at)
				}
				thread = s.Thread
			}
			line := thread.Waiting
			if thread.Head != "" {
				line = slices.Concat([]string{thread.Head}, line)
			}
			if !slices.Equal(line, m.line) || len(thread.Uncounted) != len(m.back) {
				t.Fatalf("seed %d: %v without %v, want %v without %v", seed, line, thread.Uncounted, m.line, m.back)
			}
		}
	}
}

func TestParseDue(t *testing.T) {
	t.Parallel()
	a := job.DueTicket{ID: 1<<52 - 1, ExpiresAt: second(2)}
	b, c := job.DueTicket{ID: 1, ExpiresAt: second(1)}, job.DueTicket{ID: 2, ExpiresAt: second(1)}
	if got := job.ParseDue([]string{a.Mark(), c.Mark(), b.Mark()}); !slices.Equal(got, []job.DueTicket{b, c, a}) {
		t.Errorf("%v", got)
	}
	if got := job.ParseDue([]string{"", "1", "@1", "1@", "x@1", "1@x", "1@2@3", b.Mark()}); !slices.Equal(got, []job.DueTicket{b}) {
		t.Errorf("what is no mark is left out: %v", got)
	}
	if got := job.ParseDue(nil); got != nil {
		t.Errorf("%v", got)
	}
	j := job.Job{Due: []job.DueTicket{b, a}}
	for at, want := range map[time.Time]bool{second(1): true, second(2).Add(-time.Millisecond): true, second(2): false} {
		if j.Waits(at) != want {
			t.Errorf("waits at %v: %v", at, !want)
		}
	}
	if (&job.Job{}).Waits(second(0)) {
		t.Error("a job without marks waits")
	}
}

func FuzzParseDue(f *testing.F) {
	f.Add("1@2")
	f.Add("4503599627370495@4086676800000")
	f.Add("-1@-1")
	f.Fuzz(func(t *testing.T, mark string) {
		for _, d := range job.ParseDue([]string{mark}) {
			if again := job.ParseDue([]string{d.Mark()}); len(again) != 1 || again[0].ID != d.ID || !again[0].ExpiresAt.Equal(d.ExpiresAt) {
				t.Errorf("%q is %+v and then %+v", mark, d, again)
			}
		}
	})
}

func TestWithDelivery(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]string{
		`{}`:                              `{}`,
		`{"z":1.10,"a":[ 1 ]}`:            `{"z":1.10,"a":[ 1 ]}`, // what has no such member keeps its bytes
		`{"no_delivery":true}`:            `{}`,
		`{"no_delivery":false,"b":"<&>"}`: `{"b":"<&>"}`,
		`{"n":12345678901234567890.10,"no_delivery":1,"o":{"no_delivery":1}}`: `{"n":12345678901234567890.10,"o":{"no_delivery":1}}`,
		`null`: `null`,
	} {
		got, err := job.WithDelivery(json.RawMessage(metadata))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", metadata, got, err, want)
		}
	}
	for _, bad := range []string{``, `[]`, `{`} {
		if _, err := job.WithDelivery(json.RawMessage(bad)); err == nil {
			t.Errorf("%q is no metadata", bad)
		}
	}
}

func TestLeaveTakesTheHeadOut(t *testing.T) {
	t.Parallel()
	before := job.Thread{Key: "t", Version: 4, Head: "a", Waiting: []string{"b", "c"}, Uncounted: []string{"c", "a"}, SessionID: "s"}
	after, next := before.Leave()
	want := job.Thread{Key: "t", Version: 4, Head: "b", Waiting: []string{"c"}, Uncounted: []string{"c"}, SessionID: "s"}
	if next != "b" || !reflect.DeepEqual(after, want) || !slices.Equal(before.Uncounted, []string{"c", "a"}) {
		t.Errorf("%+v, next %q; before %+v", after, next, before)
	}
	if after.InFlight() != 1 || before.InFlight() != 1 { // "b" alone is new work
		t.Errorf("%d, %d in flight", after.InFlight(), before.InFlight())
	}
	for range 2 {
		after, next = after.Leave()
	}
	if next != "" || after.Head != "" || after.InFlight() != 0 || len(after.Uncounted) != 0 {
		t.Errorf("%+v, next %q", after, next)
	}
}

// mark gives a job the mark of an approved call, as a decision does.
func mark(t *testing.T, w *jobtest.World, id string, d job.DueTicket) {
	t.Helper()
	c := w.Env.Config("test")
	_, err := dynamodb.NewFromConfig(c).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String(jobtest.Prefix + topology.TableJobs),
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "job#" + id}, "sk": &types.AttributeValueMemberS{Value: "job"}},
		UpdateExpression: aws.String("ADD #due :due"), ExpressionAttributeNames: map[string]string{"#due": "due"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":due": &types.AttributeValueMemberSS{Value: []string{d.Mark()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFinishOfAJobWithADueCallPutsItBack(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	_, f := claim(t, w, id, "a")
	mark(t, w, id, job.DueTicket{ID: 7, ExpiresAt: second(3600)})
	if err := w.Lifecycle.Finish(t.Context(), f, outcome); err != nil {
		t.Fatal(err)
	}
	j := w.Job(id)
	if j.Status != job.Queued || !j.Head || j.Attempts != 0 || j.Recoveries != 0 || j.Result != nil || len(j.Due) != 1 || !j.RunAfter.IsZero() {
		t.Errorf("%+v", j)
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != id || m[0].Delay != 0 {
		t.Errorf("messages %v", m)
	}
	if len(w.Events(id, "finished")) != 0 || len(w.Events(id, "yielded")) != 1 {
		t.Error("the audit says that the job ended")
	}
	// Neither does it end when its tries are used up.
	j, f = claim(t, w, id, "b")
	if err := w.Lifecycle.Retry(t.Context(), j, f, "no", nil); err != nil || w.Job(id).Status != job.Queued {
		t.Errorf("%v, the job is %s", err, w.Job(id).Status)
	}
}

func TestDeferredJobComesBackAfterItsWait(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	j, f := claim(t, w, id, "a")
	mark(t, w, id, job.DueTicket{ID: 7, ExpiresAt: second(3600)})
	if err := w.Lifecycle.Defer(t.Context(), j, f, "rate_limited:tool", time.Minute); err != nil {
		t.Fatal(err)
	}
	j = w.Job(id)
	if j.Status != job.Queued || j.Attempts != 0 || j.Recoveries != 0 || !j.RunAfter.Equal(second(60)) || !j.QueuedAt.Equal(second(60)) || len(j.Due) != 1 {
		t.Errorf("%+v", j)
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].Delay < time.Minute || m[0].Delay > time.Minute+time.Second {
		t.Errorf("messages %v", m)
	}
	if e := w.Events(id, "approval_deferred"); len(e) != 1 || e[0].Stage != "approval" || e[0].Detail["reason"] != "rate_limited:tool" {
		t.Errorf("%+v", e)
	}
	w.Clock.Advance(time.Minute - time.Millisecond)
	if _, err := w.Lifecycle.Claim(t.Context(), id, "b"); !errors.Is(err, job.ErrNotClaimable) {
		t.Errorf("before its time: %v", err)
	}
	w.Clock.Advance(time.Millisecond)
	claim(t, w, id, "b")
	if err := w.Lifecycle.Defer(t.Context(), j, f, "x", time.Minute); !errors.Is(err, job.ErrLostClaim) {
		t.Errorf("by a worker that lost the job: %v", err)
	}
}

// An approved call is tried until its deadline, however often its workers are lost; then the job ends like any other.
func TestRecoverGoesOnUntilTheDeadline(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	due := job.DueTicket{ID: 7, ExpiresAt: second(24 * 3600)}
	mark(t, w, id, due)
	lose := func() {
		t.Helper()
		if j := w.Job(id); j.RunAfter.After(w.Clock.Now()) {
			w.Clock.Advance(j.RunAfter.Sub(w.Clock.Now()))
		}
		j, f := claim(t, w, id, "a")
		if err := w.Lifecycle.Recover(t.Context(), j, f, "lost"); err != nil {
			t.Fatal(err)
		}
	}
	for range job.MaxRecoveries + 3 {
		lose()
	}
	if j := w.Job(id); j.Status != job.Queued || j.Recoveries != job.MaxRecoveries+3 || len(j.Due) != 1 {
		t.Fatalf("%+v", j)
	}
	w.Clock.Advance(due.ExpiresAt.Sub(w.Clock.Now()) - time.Millisecond)
	lose()
	if j := w.Job(id); j.Status != job.Queued {
		t.Fatalf("a millisecond before the deadline: %s", j.Status)
	}
	lose() // its back-off ends after the deadline
	if j := w.Job(id); j.Status != job.Failed || j.Error != job.ReasonWorkerLost || len(j.Due) != 0 {
		t.Errorf("at the deadline: %+v", j)
	}
}

func TestQueueTimeoutWaitsForADueCall(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	due := job.DueTicket{ID: 7, ExpiresAt: second(2 * 3600)}
	mark(t, w, id, due)
	expired := 0
	for w.Clock.Now().Before(due.ExpiresAt) {
		w.Clock.Advance(5 * time.Minute)
		if w.Clock.Now().Before(due.ExpiresAt) {
			expired += w.Sweep().Expired
		}
	}
	if j := w.Job(id); expired != 0 || j.Status != job.Queued || len(w.Queue.Take()) == 0 {
		t.Fatalf("expired %d, the job is %s", expired, j.Status)
	}
	// The worker gets a last chance to say that the deadline passed: the timeout began anew before it.
	for w.Job(id).Status == job.Queued && w.Clock.Now().Before(due.ExpiresAt.Add(3*job.QueueTimeout)) {
		w.Clock.Advance(5 * time.Minute)
		expired += w.Sweep().Expired
	}
	if j := w.Job(id); expired != 1 || j.Status != job.Failed || j.Error != job.ReasonQueueTimeout || len(j.Due) != 0 {
		t.Errorf("expired %d, %+v", expired, j)
	}
}

// A call without a known outcome ends the job at once, and the approved ones wait with it (I4).
func TestSweeperEndsAJobWithAnOpenCallAndKeepsItsDueCalls(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	_, f := claim(t, w, id, "a")
	due := job.DueTicket{ID: 7, ExpiresAt: second(24 * 3600)}
	mark(t, w, id, due)
	ev := job.Event{ID: "e", At: w.Clock.Now(), Name: "e", Stage: job.StageTool, Severity: job.Info}
	if err := w.Store.SaveRound(t.Context(), f, jobrun.Round{Number: 1}, ev); err != nil {
		t.Fatal(err)
	}
	entry := toolcall.Entry{State: toolcall.Dispatching, JobID: id, Tool: "ticket_create", ArgsHash: "h", IdempotencyKey: "k", Claim: f.Claim, Round: 1, CreatedAt: w.Clock.Now()}
	if err := w.Store.Reserve(t.Context(), f, entry, nil, ev); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(job.Lease)
	w.Sweep() // the worker is lost; the next one finds the open call
	w.Deliver()
	j := w.Job(id)
	if j.Status == job.Queued || j.Status == job.Running || j.Open == nil || !slices.Equal(j.Due, []job.DueTicket{due}) {
		t.Fatalf("%+v", j)
	}
	if len(w.Business.Sent()) != 0 {
		t.Error("something was sent")
	}
	// Queued again and taken by nobody, it ends so once more.
	if err := rerunner(w).Rerun(t.Context(), id, "ann"); err != nil {
		t.Fatal(err)
	}
	w.Queue.Take()
	w.Clock.Advance(due.ExpiresAt.Sub(w.Clock.Now()))
	for w.Job(id).Status == job.Queued && w.Clock.Now().Before(due.ExpiresAt.Add(3*job.QueueTimeout)) {
		w.Clock.Advance(5 * time.Minute)
		w.Sweep()
	}
	if again := w.Job(id); again.Status != j.Status || again.Error != j.Error || again.Open == nil || !slices.Equal(again.Due, []job.DueTicket{due}) {
		t.Errorf("%+v", again)
	}
}

// A remote executor's job is no business of the job worker, due call or not.
func TestSweeperSendsNoRemoteJobToTheWorker(t *testing.T) {
	t.Parallel()
	j := &job.Job{
		ID: "j", Status: job.Queued, Head: true, QueuedAt: second(0), Due: []job.DueTicket{{ID: 7, ExpiresAt: second(24 * 3600)}},
		Snapshot: job.Snapshot{TargetKind: "executor"},
	}
	w := jobtest.New(t)
	w.Clock.Advance(job.QueueTimeout + time.Second)
	s := job.Sweeper{Lifecycle: &job.Lifecycle{Store: oneJob{w.Store, j}, Queue: w.Queue, Clock: w.Clock, Logger: w.Platform.Logger}}
	if _, err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := w.Queue.Take(); len(m) != 0 {
		t.Errorf("messages %v", m)
	}
}

// oneJob is a store that has one job to look at.
type oneJob struct {
	job.LifeStore
	j *job.Job
}

func (o oneJob) EachDue(_ context.Context, _ time.Time, visit func(string) error) error {
	return visit(o.j.ID)
}
func (o oneJob) ReadState(context.Context, string) (*job.Job, error) { return o.j, nil }
