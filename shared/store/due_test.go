package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/store"
	"bailing/shared/toolcall"
)

// between lets something happen after a method has read and before it writes.
type between struct {
	store.DynamoDB
	meanwhile func()
}

func (b *between) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f := b.meanwhile; f != nil {
		b.meanwhile = nil
		f()
	}
	return b.DynamoDB.TransactWriteItems(ctx, in, o...)
}

// An approval that comes after the end has read the job keeps it from ending all the same.
func TestApprovalBetweenTheReadsOfAnEndAndItsTransaction(t *testing.T) {
	t.Parallel()
	lapsed := start.Add(time.Hour)
	for name, tc := range map[string]struct {
		arrange func(*stand, *testing.T)
		end     func(context.Context, *store.Store) (job.Ended, error)
		want    job.Status
		marks   int
	}{
		"of a worker": {aTicket, func(ctx context.Context, s *store.Store) (job.Ended, error) {
			return s.FinishJob(ctx, fenceA, job.Outcome{Status: job.Done, Result: []byte(`{}`), Now: start}, eventOf("finished"))
		}, job.Running, 1},
		"of a job that nobody took": {func(s *stand, t *testing.T) {
			aTicket(s, t)
			arranged(t, s.ReleaseJob(t.Context(), fenceA, job.Release{Now: start}, eventOf("yield")))
		}, func(ctx context.Context, s *store.Store) (job.Ended, error) {
			o := failed
			o.DueLapsed = true
			return s.ExpireJob(ctx, "a", start, o, eventOf("expired"))
		}, job.Queued, 1},
		"of a job whose other call has lapsed": {func(s *stand, t *testing.T) {
			aThread(s, t)
			other := ticketOf(8, "other")
			other.ExpiresAt = start.Add(2 * time.Minute)
			arranged(t, s.OpenTicket(t.Context(), fenceA, toolcall.Opening{Ticket: other}, toolcall.Record{Round: 1}, eventOf("pending")))
			v, err := s.ReadDecision(t.Context(), 8, "shop", "e")
			arranged(t, err)
			arranged(t, s.OpenTicket(t.Context(), fenceA, toolcall.Opening{Ticket: ticketOf(7, "h")}, toolcall.Record{Round: 1}, eventOf("pending")))
			arranged(t, s.DecideTicket(t.Context(), v, approval.Change{
				Ruling: approval.Ruling{Approved: true, DecisionID: "e", At: start}, Due: &job.DueTicket{ID: 8, ExpiresAt: other.ExpiresAt},
			}))
		}, func(ctx context.Context, s *store.Store) (job.Ended, error) {
			return s.FinishJob(ctx, fenceA, job.Outcome{Status: job.Failed, Error: "e", Now: lapsed.Add(-time.Millisecond), DueLapsed: true}, eventOf("finished"))
		}, job.Running, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			tc.arrange(s, t)
			db := &between{DynamoDB: s.backend.DB, meanwhile: func() { arranged(t, rule(t.Context(), s, true)) }}
			slow := store.New(store.Options{DB: db, Prefix: prefix, Clock: s.backend.Clock})
			if _, err := tc.end(t.Context(), slow); !errors.Is(err, job.ErrDue) {
				t.Errorf("err = %v, want that a call is due", err)
			}
			j, err := s.ReadJob(t.Context(), "a")
			arranged(t, err)
			if j.Status != tc.want || len(j.Due) != tc.marks {
				t.Errorf("the job is %s with %v", j.Status, j.Due)
			}
		})
	}
}

// A head that is taken after the decision has read it is not displaced: the decision is weighed anew.
func TestClaimBetweenTheReadsOfADecisionAndItsTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	aTicketOfTheEnded(s, t)
	db := &between{DynamoDB: s.backend.DB, meanwhile: func() {
		_, err := s.ClaimJob(t.Context(), "b", "w", start, start.Add(job.Lease))
		arranged(t, err)
	}}
	slow := *s
	slow.Store = store.New(store.Options{DB: db, Prefix: prefix, Clock: s.backend.Clock})
	if err := rule(t.Context(), &slow, true); !errors.Is(err, approval.ErrMoved) {
		t.Errorf("err = %v, want that it moved", err)
	}
	arranged(t, rule(t.Context(), s, true))
	_, thread, err := s.ReadThread(t.Context(), "llm", "t")
	arranged(t, err)
	if thread.Head != "b" || len(thread.Waiting) != 1 || thread.Waiting[0] != "a" {
		t.Errorf("%+v", thread)
	}
}
