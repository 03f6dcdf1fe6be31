package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/store"
)

// Backend is a store whose tables, as the topology describes them, and bucket exist.
type Backend struct {
	Store *store.Store
	// Clock is the store's. Its waits must end by themselves: a system clock, or a manual one that skips them.
	Clock clock.Clock
	// Settle waits until indexes have caught up with the tables; nil where they always have.
	Settle func()

	// What the store was made of, to plant what it would never write.
	DB     store.DynamoDB
	S3     store.S3
	Bucket string
	Prefix string // of table names
}

// promise is one subtest.
type promise struct {
	name string
	test func(t *testing.T, b *bundle)
}

// Run checks every promise. open is called once for each.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	for _, part := range [][]promise{reads, launches, claims, endings, looks, reruns, lists, exports, outbox, runs, journal, tickets, ticketUses, ticketWaits, dueMarks, seats, reconciliations, values, limits, usages, agentLogins, versions} {
		for _, p := range part {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				p.test(t, &bundle{Backend: b, now: b.Clock.Now().UTC().Truncate(time.Millisecond)})
			})
		}
	}
}

// bundle is what one subtest works with.
type bundle struct {
	Backend
	now time.Time // when it began, in the precision that the store keeps
}

// draft is a job with every member set that a launch sets, of a thread of its own.
func (b *bundle) draft() *job.Job {
	id := uuid.NewString()
	return &job.Job{
		ID: id, RequestID: "req-" + id, Status: job.Queued, Owner: "shop", Source: "shop", Profile: "readonly", Project: "p",
		ThreadKey: "thread-" + id, ThreadID: 1<<52 - 1, SessionID: "session", Continue: true, CallbackURL: "https://shop.example/cb",
		Input: "Where is order SO-1001?", Metadata: json.RawMessage(`{"n":12345678901234567890.10}`),
		Snapshot: job.Snapshot{
			RouteKey: "orders", RouteName: "Orders", Target: "llm", TargetKind: registry.InHub,
			TargetConfig: json.RawMessage(`{"credential":"demo"}`), TargetTimeoutMS: 1000, Retry: &registry.Retry{Max: 2, BackoffMS: 500},
		},
		CreatedAt: b.now, UpdatedAt: b.now, QueuedAt: b.now,
	}
}

func entry(j *job.Job) job.RequestEntry {
	return job.RequestEntry{RequestID: j.RequestID, JobID: j.ID, Owner: j.Owner, Fingerprint: "fp-" + j.ID}
}

func (b *bundle) event(id string) job.Event {
	return job.Event{
		ID: id, At: b.now, Name: "event", Stage: job.StageExecution, Severity: job.Info, Title: "Title", Summary: "summary",
		Detail: map[string]any{"id": id},
	}
}

// create is CreateJob with j as the thread's head, or behind it.
func (b *bundle) create(ctx context.Context, j *job.Job, t job.Thread) error {
	t.Key = j.ThreadKey
	j.Head = t.Head == ""
	if j.Head {
		t.Head = j.ID
	} else {
		t.Waiting = append(t.Waiting[:len(t.Waiting):len(t.Waiting)], j.ID)
	}
	return b.Store.CreateJob(ctx, j, entry(j), t, b.event("received"))
}

// join creates j in its thread as that is now, however often it moves.
func (b *bundle) join(ctx context.Context, j *job.Job) error {
	_, thread, err := b.Store.ReadThread(ctx, "none", j.ThreadKey)
	for err == nil {
		err = b.create(ctx, j, thread)
		var moved *job.ThreadMoved
		if !errors.As(err, &moved) {
			return err
		}
		thread, err = moved.Now, nil
	}
	return err
}

// launch stores a job in the thread; "" is a new one.
func (b *bundle) launch(t *testing.T, thread string) *job.Job {
	t.Helper()
	j := b.draft()
	if thread != "" {
		j.ThreadKey = thread
	}
	must(t, b.join(t.Context(), j))
	return j
}

const lease = 20 * time.Minute

func (b *bundle) claim(t *testing.T, id string) job.Fence {
	t.Helper()
	j, err := b.Store.ClaimJob(t.Context(), id, uuid.NewString(), b.now, b.now.Add(lease))
	must(t, err)
	return job.Fence{JobID: id, Claim: j.Claim}
}

// running is a job that is claimed.
func (b *bundle) running(t *testing.T) (*job.Job, job.Fence) {
	t.Helper()
	j := b.launch(t, "")
	return j, b.claim(t, j.ID)
}

func (b *bundle) finish(t *testing.T, f job.Fence) *job.NextHead {
	t.Helper()
	ended, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: b.now}, b.event("finished"))
	must(t, err)
	return ended.Next
}

func (b *bundle) read(t *testing.T, id string) *job.Job {
	t.Helper()
	j, err := b.Store.ReadJob(t.Context(), id)
	must(t, err)
	return j
}

func (b *bundle) thread(t *testing.T, key string) job.Thread {
	t.Helper()
	_, thread, err := b.Store.ReadThread(t.Context(), "none", key)
	must(t, err)
	return thread
}

// audit is the ids that event put into the details of a job's audit records.
func (b *bundle) audit(t *testing.T, jobID string) []string {
	t.Helper()
	docs, err := b.Store.JobAudit(t.Context(), jobID)
	must(t, err)
	ids := []string{}
	for _, doc := range docs {
		var r struct {
			Detail struct {
				ID string `json:"id"`
			} `json:"detail"`
		}
		must(t, json.Unmarshal(doc, &r))
		ids = append(ids, r.Detail.ID)
	}
	return ids
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("err = %v, want %v", err, want)
	}
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s = %s, want %s", what, brief(got), brief(want))
	}
}

// brief keeps a failed comparison of large values readable.
func brief(v any) string {
	const most = 600
	if s := fmt.Sprintf("%+v", v); len(s) > most {
		return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
	} else {
		return s
	}
}
