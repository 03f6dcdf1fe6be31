package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/agentsession"
	"bailing/shared/approval"
	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/limit"
	"bailing/shared/model"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

// method is one call of a store method in a world that is the same each time.
type method struct {
	name    string
	arrange func(*stand, *testing.T)
	// act returns what the caller learns. Nothing in it may depend on chance or on the clock.
	act func(context.Context, *stand) (any, error)
	// again are errors by which the method says, when it is repeated, that it was done before.
	again []error
	// reads changes nothing, so that one world serves every fault.
	reads bool
}

func jobIn(thread, id string) *job.Job {
	return &job.Job{
		ID: id, RequestID: "request-" + id, Status: job.Queued, Owner: "shop", ThreadKey: thread, Input: "in",
		Metadata: json.RawMessage(`{}`), CreatedAt: start, UpdatedAt: start, QueuedAt: start,
		Snapshot: job.Snapshot{RouteKey: "r", Target: "llm", TargetKind: registry.InHub},
	}
}

func eventOf(id string) job.Event {
	return job.Event{ID: id, At: start, Name: id, Stage: job.StageExecution, Severity: job.Info, Title: id}
}

// create launches j behind whoever is in its thread.
func create(ctx context.Context, s *store.Store, j *job.Job, t job.Thread) error {
	t.Key = j.ThreadKey
	if j.Head = t.Head == ""; j.Head {
		t.Head = j.ID
	} else {
		t.Waiting = append(slices.Clone(t.Waiting), j.ID)
	}
	e := job.RequestEntry{RequestID: j.RequestID, JobID: j.ID, Owner: j.Owner, Fingerprint: "f"}
	return s.CreateJob(ctx, j, e, t, eventOf("received"))
}

// aThread arranges the running job "a" with the waiting job "b" behind it.
func aThread(s *stand, t *testing.T) {
	t.Helper()
	aQueue(s, t)
	if _, err := s.ClaimJob(t.Context(), "a", "w", start, start.Add(job.Lease)); err != nil {
		t.Fatal(err)
	}
}

// aQueue arranges the queued job "a" with the waiting job "b" behind it.
func aQueue(s *stand, t *testing.T) {
	t.Helper()
	if err := create(t.Context(), s.Store, jobIn("t", "a"), job.Thread{}); err != nil {
		t.Fatal(err)
	}
	if err := create(t.Context(), s.Store, jobIn("t", "b"), job.Thread{Version: 1, Head: "a"}); err != nil {
		t.Fatal(err)
	}
}

func nothing(*stand, *testing.T) {}

var (
	fenceA = job.Fence{JobID: "a", Claim: 1}
	big    = strings.Repeat("b", 100<<10)
	failed = job.Outcome{Status: job.Failed, Error: "e", Now: start}
)

func writes() []method {
	var taken *job.RequestTaken
	return []method{
		{name: "CreateJob", arrange: nothing, again: []error{taken}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, create(ctx, s.Store, jobIn("t", "a"), job.Thread{})
		}},
		{name: "CreateJob, large, waiting", arrange: aThread, again: []error{taken}, act: func(ctx context.Context, s *stand) (any, error) {
			j := jobIn("t", "c")
			j.Input = big
			return nil, create(ctx, s.Store, j, job.Thread{Version: 2, Head: "a", Waiting: []string{"b"}})
		}},
		{name: "CreateJob, rejected", arrange: aThread, again: []error{taken}, act: func(ctx context.Context, s *stand) (any, error) {
			j := jobIn("t", "c")
			j.Status = job.Rejected
			return nil, create(ctx, s.Store, j, job.Thread{Head: "a"})
		}},
		{name: "ClaimJob", arrange: aQueue, act: func(ctx context.Context, s *stand) (any, error) {
			return s.ClaimJob(ctx, "a", "w", start, start.Add(job.Lease))
		}},
		{name: "ReleaseJob", arrange: aThread, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.ReleaseJob(ctx, fenceA, job.Release{RunAfter: start.Add(time.Minute), Attempts: 1, Recovered: true, Now: start}, eventOf("retry"))
		}},
		{name: "FinishJob, large", arrange: aThread, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return s.FinishJob(ctx, fenceA, job.Outcome{Status: job.Done, Result: json.RawMessage(`"` + big + `"`), Usage: json.RawMessage(`{"tokens":3,"cost_usd":0.1}`), Now: start}, eventOf("finished"))
		}},
		{name: "ExpireJob", arrange: aQueue, again: []error{job.ErrNotClaimable}, act: func(ctx context.Context, s *stand) (any, error) {
			return s.ExpireJob(ctx, "a", start, failed, eventOf("expired"))
		}},
		{name: "PostponeJob", arrange: aQueue, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.PostponeJob(ctx, "a", start.Add(time.Hour), false)
		}},
		{name: "SaveRound, large", arrange: aThread, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.SaveRound(ctx, fenceA, jobrun.Round{Number: 1, Message: model.Message{Content: big}}, eventOf("round"))
		}},
		{name: "BeginCall", arrange: aThread, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.BeginCall(ctx, fenceA, nil, eventOf("tool_call"))
		}},
		{name: "CompleteCall", arrange: aThread, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.CompleteCall(ctx, fenceA, toolcall.Record{Round: 1}, eventOf("tool_result"))
		}},
		{name: "AddEvent, large", arrange: nothing, act: func(ctx context.Context, s *stand) (any, error) {
			ev := eventOf("e")
			ev.Detail = map[string]any{"big": big}
			return nil, s.AddEvent(ctx, "a", ev)
		}},
		// A bucket write whose answer was lost must not look like a lost race: the caller would charge twice.
		{name: "WriteBucket", arrange: nothing, act: func(ctx context.Context, s *stand) (any, error) {
			_, won, err := s.WriteBucket(ctx, limit.Row{Key: "client#h", Bucket: charge()})
			return won, err
		}},
		{name: "Reserve", arrange: aThread, again: []error{toolcall.ErrReserved}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Reserve(ctx, fenceA, entryOf(toolcall.Dispatching), nil, eventOf("tool_call"))
		}},
		{name: "CompleteReserved, large", arrange: aReservedCall, again: []error{toolcall.ErrNotOpen}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.CompleteReserved(ctx, fenceA, entryOf(toolcall.Completed), toolcall.Record{Round: 1, Outcome: toolcall.Outcome{Text: big}}, eventOf("tool_result"))
		}},
		{name: "MarkUncertain", arrange: aReservedCall, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.MarkUncertain(ctx, fenceA, entryOf(toolcall.Uncertain), toolcall.Record{Round: 1}, eventOf("uncertain"))
		}},
		{name: "OpenTicket, large", arrange: aThread, again: []error{approval.ErrExists}, act: func(ctx context.Context, s *stand) (any, error) {
			ticket := approval.Ticket{ID: 7, State: approval.Pending, JobID: "a", Tool: "refund", ArgsHash: "h", CreatedAt: start, ExpiresAt: start, Intent: []byte(`"` + big + `"`)}
			return nil, s.OpenTicket(ctx, fenceA, toolcall.Opening{Ticket: ticket}, toolcall.Record{Round: 1}, eventOf("pending"))
		}},
	}
}

func entryOf(state toolcall.EntryState) toolcall.Entry {
	return toolcall.Entry{State: state, JobID: "a", Tool: "refund", ArgsHash: "h", Claim: 1, Round: 1, CreatedAt: start, UpdatedAt: start}
}

// aReservedCall arranges the running job "a" with an open call.
func aReservedCall(s *stand, t *testing.T) {
	t.Helper()
	aThread(s, t)
	if err := s.Reserve(t.Context(), fenceA, entryOf(toolcall.Dispatching), nil, eventOf("tool_call")); err != nil {
		t.Fatal(err)
	}
}

func charge() ratelimit.Bucket {
	b, _, _ := ratelimit.Bucket{}.Take(start, ratelimit.Policy{Count: 5, Window: time.Minute})
	return b
}

func readers() []method {
	arrange := func(s *stand, t *testing.T) {
		aThread(s, t)
		for _, m := range writes()[8:12] { // rounds, calls and audit
			if _, err := m.act(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := []method{
		{name: "ReadLaunch", act: func(ctx context.Context, s *stand) (any, error) {
			return s.ReadLaunch(ctx, job.LaunchKeys{TokenHash: "h", Route: "r", RequestID: "request-a"})
		}},
		{name: "ReadThread", act: func(ctx context.Context, s *stand) (any, error) {
			_, thread, err := s.ReadThread(ctx, "llm", "t")
			return thread, err
		}},
		{name: "ReadUsage", act: func(ctx context.Context, s *stand) (any, error) {
			w := job.UsageWindow{Scope: job.UsageScope{Kind: job.UsageOfRoute, Name: "r"}, Since: start.Add(-8784 * time.Hour), Now: start}
			return s.ReadUsage(ctx, []job.UsageWindow{w, w})
		}},
		{name: "ReadCost", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadCost(ctx, start, start) }},
		{name: "ReadOwned", act: func(ctx context.Context, s *stand) (any, error) {
			_, j, err := s.ReadOwned(ctx, "h", "a")
			return j, err
		}},
		{name: "LoadRounds", act: func(ctx context.Context, s *stand) (any, error) { return s.LoadRounds(ctx, "a") }},
		{name: "JobAudit", act: func(ctx context.Context, s *stand) (any, error) { return s.JobAudit(ctx, "a") }},
		{name: "EachDue", act: func(ctx context.Context, s *stand) (any, error) {
			ids := map[string]bool{} // a page that is asked for again is no second visit
			err := s.EachDue(ctx, start.Add(time.Hour), func(id string) error { ids[id] = true; return nil })
			return ids, err
		}},
	}
	for i := range list {
		list[i].arrange, list[i].reads = arrange, true
	}
	return list
}

var kinds = map[string]fault.Kind{
	"throttle": fault.Throttle, "conflict": fault.Conflict, "error before": fault.ErrorBefore,
	"error after commit": fault.ErrorAfterCommit, "drop": fault.Drop, "drop after commit": fault.DropAfterCommit,
}

// inject breaks the store's requests for which when says so; other callers are left alone.
func (s *stand) inject(kind fault.Kind, when func(seq int) bool) {
	s.Server.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey != caller || !when(op.Seq) {
			return fault.Fault{}
		}
		return fault.Fault{Kind: kind}
	})
}

func (s *stand) heal() { s.Server.Faults().Set(nil) }

// dump is every row as text, without the expiry of buckets, which follows the clock that retries move, and without the marks
// of their writes and the first revisions of configuration, which are drawn.
func (s *stand) dump(t *testing.T) map[string]string {
	t.Helper()
	db := dynamodb.NewFromConfig(s.config)
	rows := map[string]string{}
	for _, table := range topology.System().Tables {
		out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(prefix + table.Name)})
		if err != nil || len(out.LastEvaluatedKey) > 0 {
			t.Fatalf("scan: %v, %v", err, out)
		}
		for _, it := range out.Items {
			delete(it, "ttl")
			delete(it, "mark")
			if table.Name == topology.TableRegistry {
				delete(it, "rev")
			}
			b, err := json.Marshal(it)
			if err != nil {
				t.Fatal(err)
			}
			rows[table.Name+"/"+text(it, "pk")+"/"+text(it, "sk")] = string(b)
		}
	}
	return rows
}

func text(it map[string]types.AttributeValue, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	return s.Value
}

// clean is what a method does when nothing fails.
type clean struct {
	requests      int
	result        any
	before, after map[string]string
}

func (m method) clean(t *testing.T) clean {
	t.Helper()
	s := open(t)
	m.arrange(s, t)
	c := clean{before: s.dump(t)}
	var n atomic.Int32
	s.inject(fault.None, func(int) bool { n.Add(1); return false })
	var err error
	if c.result, err = m.act(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.heal()
	c.requests, c.after = int(n.Load()), s.dump(t)
	return c
}

// Every request of every method fails in every way, once and for good. No list of requests: a clean run counts them.
func TestNoMethodHalfApplies(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(writes(), outboxWrites(), runsWrites(), ticketWrites(), agentWrites(), readers(), outboxReaders(), runsReaders(), ticketReaders(), agentReaders()) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := m.clean(t)
			if c.requests == 0 || m.reads != reflect.DeepEqual(c.before, c.after) {
				t.Fatalf("%d requests; changed: %v", c.requests, !reflect.DeepEqual(c.before, c.after))
			}
			shared := open(t)
			m.arrange(shared, t)
			for n := 1; n <= c.requests; n++ {
				for name, kind := range kinds {
					s := shared
					if !m.reads {
						s = open(t)
						m.arrange(s, t)
					}
					m.failsOnce(t, s, c, fmt.Sprintf("request %d, %s, once", n, name), kind, n)
					if !m.reads {
						s = open(t)
						m.arrange(s, t)
					}
					m.failsForGood(t, s, c, fmt.Sprintf("request %d, %s, for good", n, name), kind, n)
				}
			}
		})
	}
}

// failsOnce: one failure is repaired within the call. The effect is there exactly once, the answer is that of a clean run.
func (m method) failsOnce(t *testing.T, s *stand, c clean, name string, kind fault.Kind, n int) {
	t.Helper()
	s.inject(kind, func(seq int) bool { return seq == n })
	result, err := m.act(t.Context(), s)
	s.heal()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if !reflect.DeepEqual(result, c.result) {
		t.Errorf("%s: result %+v, want %+v", name, result, c.result)
	}
	if !reflect.DeepEqual(s.dump(t), c.after) {
		t.Errorf("%s: half applied", name)
	}
}

// failsForGood: the call fails and everything or nothing happened; or it got through, and everything did. Repeating it
// after the outage leaves the effect there exactly once.
func (m method) failsForGood(t *testing.T, s *stand, c clean, name string, kind fault.Kind, n int) {
	t.Helper()
	s.inject(kind, func(seq int) bool { return seq >= n })
	_, err := m.act(t.Context(), s)
	s.heal()
	switch now := s.dump(t); {
	case reflect.DeepEqual(now, c.after):
	case err == nil:
		t.Errorf("%s: reported as done, and not done", name)
	case !reflect.DeepEqual(now, c.before):
		t.Errorf("%s: half applied", name)
	}
	if _, err := m.act(t.Context(), s); err != nil && !m.doneBefore(err) {
		t.Errorf("%s: repeated: %v", name, err)
	}
	if !reflect.DeepEqual(s.dump(t), c.after) {
		t.Errorf("%s: repeated: half applied", name)
	}
}

func (m method) doneBefore(err error) bool {
	for _, known := range m.again {
		var done bool
		switch target := known.(type) {
		case *job.RequestTaken:
			done = errors.As(err, &target)
		case *agentsession.Moved:
			done = errors.As(err, &target)
		case *store.ConditionFailed:
			done = errors.As(err, &target)
		default:
			done = errors.Is(err, known)
		}
		if done {
			return true
		}
	}
	return false
}

// A conflict is tried again twelve times; thirteen are an error.
func TestConflictsAreTriedAgainUpToABound(t *testing.T) {
	t.Parallel()
	const bound = 12
	for _, m := range slices.Concat(writes(), outboxWrites(), runsWrites(), ticketWrites(), agentWrites()) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, conflicts := range []int{bound, bound + 1} {
				s := open(t)
				m.arrange(s, t)
				before := s.dump(t)
				seen := 0
				s.Server.Faults().Set(func(op fault.Op) fault.Fault {
					if op.AccessKey != caller || op.Service != "dynamodb" || seen == conflicts || !slices.Contains([]string{"TransactWriteItems", "UpdateItem", "PutItem"}, op.Action) {
						return fault.Fault{}
					}
					seen++
					return fault.Fault{Kind: fault.Conflict}
				})
				_, err := m.act(t.Context(), s)
				s.heal()
				if (err == nil) != (conflicts == bound) || seen != conflicts {
					t.Errorf("after %d of %d conflicts: err = %v", seen, conflicts, err)
				}
				if unchanged := reflect.DeepEqual(s.dump(t), before); unchanged != (err != nil) {
					t.Errorf("err = %v; unchanged: %v", err, unchanged)
				}
			}
		})
	}
}

// A caller that gives up while the store waits between two tries is let go.
func TestGivingUpEndsTheWait(t *testing.T) {
	t.Parallel()
	s := open(t)
	aQueue(s, t)
	ctx, cancel := context.WithCancel(t.Context())
	s.inject(fault.Conflict, func(int) bool { return true })
	patient := store.New(store.Options{DB: s.backend.DB, Prefix: prefix, Clock: &waiting{clock.NewManual(start), cancel}})
	if _, err := patient.ClaimJob(ctx, "a", "w", start, start.Add(job.Lease)); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v, want it cancelled", err)
	}
}

// waiting tells when a wait began. The wait does not end.
type waiting struct {
	clock.Clock
	began func()
}

func (w *waiting) After(d time.Duration) <-chan time.Time {
	defer w.began()
	return w.Clock.After(d)
}
