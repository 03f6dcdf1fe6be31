package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

var outbox = []promise{
	{"the end of a job writes a row for its callback and for its route's delivery, with the bytes to send", outboxWritten},
	{"a job without either, and one that was rejected, leaves none", outboxNone},
	{"a job that expires tells, too", outboxExpired},
	{"a large body is kept whole", outboxLarge},
	{"a delivery that the submitter does not want is left out, and recorded", outboxSkipped},
	{"a job that failed ends although it cannot be read; its rows are dead letters", outboxUnreadable},
	{"a second end of a job is another row, numbered on", outboxAgain},
	{"a row is claimed by one at a time, when due, and a lost answer finds its claim", outboxClaim},
	{"a failed attempt makes the row due later", outboxRetry},
	{"a delivered row is not due, and no dead letter", outboxDelivered},
	{"a dead row is listed until it is closed", outboxDead},
	{"a result counts only under its claim", outboxFence},
	{"dead letters are listed latest first, since a time, up to a limit", outboxLetters},
	{"a dead letter that is queued again starts over", outboxRequeued},
	{"jobs and outbox rows are not visited by each other's sweep", outboxApart},
}

const deliveryURL = "https://shop.example/delivered"

// told ends a job that has a callback and a delivery, and returns it as it is then, with the keys of its rows.
func (b *bundle) told(t *testing.T, change func(*job.Job)) (*job.Job, []job.OutboxKey) {
	t.Helper()
	j := b.draft()
	j.Snapshot.Delivery = &registry.Delivery{Type: registry.DeliveryWebhook, URL: deliveryURL}
	if change != nil {
		change(j)
	}
	must(t, b.join(t.Context(), j))
	return j, b.end(t, j, job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"<done>"}`), Now: b.now})
}

func (b *bundle) end(t *testing.T, j *job.Job, o job.Outcome) []job.OutboxKey {
	t.Helper()
	f := b.claim(t, j.ID)
	ended, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
	return ended.Outbox
}

func callbackOf(j *job.Job, terminal int) job.OutboxKey {
	return job.OutboxKey{JobID: j.ID, Terminal: terminal, Target: job.ToCallback}
}

func deliveryOf(j *job.Job, terminal int) job.OutboxKey {
	return job.OutboxKey{JobID: j.ID, Terminal: terminal, Target: job.ToDelivery}
}

func (b *bundle) row(t *testing.T, k job.OutboxKey) *delivery.Row {
	t.Helper()
	row, err := b.Store.ReadOutbox(t.Context(), k)
	must(t, err)
	return row
}

// pending is the callback row of a job that just ended.
func (b *bundle) pending(t *testing.T) job.OutboxKey {
	t.Helper()
	_, keys := b.told(t, func(j *job.Job) { j.Snapshot.Delivery = nil })
	return keys[0]
}

func (b *bundle) take(t *testing.T, k job.OutboxKey, from delivery.State, now time.Time) *delivery.Row {
	t.Helper()
	row, err := b.Store.ClaimOutbox(t.Context(), k, from, uuid.NewString(), now, now.Add(delivery.Lease))
	must(t, err)
	return row
}

// dead makes a row a dead letter at the given time.
func (b *bundle) dead(t *testing.T, at time.Time) job.OutboxKey {
	t.Helper()
	k := b.pending(t)
	row := b.take(t, k, delivery.Pending, b.now)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{State: delivery.Dead, Attempts: 1, Reason: "status 410", Now: at}, b.event("dead")))
	return k
}

func (b *bundle) outboxDue(t *testing.T, k job.OutboxKey, at time.Time) (n int) {
	t.Helper()
	if b.Settle != nil {
		b.Settle()
	}
	must(t, b.Store.EachDueOutbox(t.Context(), at, func(found job.OutboxKey) error {
		if found == k {
			n++
		}
		return nil
	}))
	return n
}

func (b *bundle) wantOutboxDueAt(t *testing.T, k job.OutboxKey, at time.Time) {
	t.Helper()
	if b.outboxDue(t, k, at.Add(-time.Millisecond)) != 0 {
		t.Errorf("due before %s", at.Sub(b.now))
	}
	if n := b.outboxDue(t, k, at); n != 1 {
		t.Errorf("visited %d times at %s, want 1", n, at.Sub(b.now))
	}
}

func (b *bundle) letters(t *testing.T, l delivery.Letters) (keys []job.OutboxKey) {
	t.Helper()
	if b.Settle != nil {
		b.Settle()
	}
	rows, err := b.Store.DeadLetters(t.Context(), l)
	must(t, err)
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

func outboxWritten(t *testing.T, b *bundle) {
	j, keys := b.told(t, nil)
	wantEqual(t, "keys", keys, []job.OutboxKey{callbackOf(j, 1), deliveryOf(j, 1)})
	rows, err := b.Store.OutboxOf(t.Context(), j.ID)
	must(t, err)
	drafts, _, err := delivery.Compose(b.read(t, j.ID), 1)
	must(t, err)
	for i, want := range []string{j.CallbackURL, deliveryURL} {
		wantEqual(t, "row", rows[i], &delivery.Row{
			Key: keys[i], Owner: j.Owner, URL: want, Preview: drafts[i].Preview, Body: drafts[i].Body, State: delivery.Pending,
			NextAt: b.now, CreatedAt: b.now, UpdatedAt: b.now,
		})
		b.wantOutboxDueAt(t, keys[i], b.now.Add(delivery.ResendAfter))
	}
}

func outboxNone(t *testing.T, b *bundle) {
	_, keys := b.told(t, func(j *job.Job) { j.CallbackURL, j.Snapshot.Delivery = "", nil })
	wantEqual(t, "keys", len(keys), 0)
	j := b.draft()
	j.Status = job.Rejected
	must(t, b.Store.CreateJob(t.Context(), j, entry(j), job.Thread{Key: j.ThreadKey}, b.event("rejected")))
	rows, err := b.Store.OutboxOf(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "rows of a rejected job", len(rows), 0)
	_, err = b.Store.ReadOutbox(t.Context(), callbackOf(j, 1))
	wantErr(t, err, delivery.ErrNotFound)
}

func outboxExpired(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	o := job.Outcome{Status: job.Failed, Error: job.ReasonQueueTimeout, Result: json.RawMessage(`{}`), Now: b.now.Add(time.Hour)}
	ended, err := b.Store.ExpireJob(t.Context(), j.ID, j.QueuedAt, o, b.event("expired"))
	must(t, err)
	wantEqual(t, "keys", ended.Outbox, []job.OutboxKey{callbackOf(j, 1)})
	if body := string(b.row(t, callbackOf(j, 1)).Body); !strings.Contains(body, `"status":"error"`) || !strings.Contains(body, job.ReasonQueueTimeout) {
		t.Errorf("body %s", body)
	}
}

func outboxLarge(t *testing.T, b *bundle) {
	text := strings.Repeat("x", 500_000)
	j := b.launch(t, "")
	b.end(t, j, job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"` + text + `"}`), Now: b.now})
	row := b.row(t, callbackOf(j, 1))
	body, err := b.Store.GetValue(t.Context(), row.Address)
	must(t, err)
	if row.Body != nil || !strings.Contains(string(body), text) || len(row.Preview) != 500 {
		t.Errorf("%d bytes inside, %d beside, %d of preview", len(row.Body), len(body), len(row.Preview))
	}
}

func outboxSkipped(t *testing.T, b *bundle) {
	j, keys := b.told(t, func(j *job.Job) { j.Metadata = json.RawMessage(`{"no_delivery":true}`) })
	wantEqual(t, "keys", keys, []job.OutboxKey{callbackOf(j, 1)})
	docs, err := b.Store.JobAudit(t.Context(), j.ID)
	must(t, err)
	for _, doc := range docs {
		if strings.Contains(string(doc), `"delivery_skipped"`) {
			return
		}
	}
	t.Error("no record of it")
}

func outboxUnreadable(t *testing.T, b *bundle) {
	j := b.draft()
	j.Input = strings.Repeat("x", 100_000)
	must(t, b.join(t.Context(), j))
	f := b.claim(t, j.ID)
	blind := store.New(store.Options{DB: b.DB, Values: noValues{}, Prefix: b.Prefix, Clock: b.Clock})
	_, err := blind.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: b.now}, b.event("finished"))
	wantErr(t, err, errNoValues) // it may be read later
	ended, err := blind.FinishJob(t.Context(), f, job.Outcome{Status: job.Failed, Error: "lost", Now: b.now}, b.event("finished"))
	must(t, err)
	wantEqual(t, "keys to send", len(ended.Outbox), 0)
	row := b.row(t, callbackOf(j, 1))
	if row.State != delivery.Dead || row.Reason != delivery.ReasonUnreadable || row.URL != j.CallbackURL || !strings.Contains(string(row.Body), j.ID) {
		t.Errorf("row %+v", row)
	}
	wantEqual(t, "listed", slices.Contains(b.letters(t, delivery.Letters{Limit: 1000}), row.Key), true)
}

var errNoValues = errors.New("values are down")

type noValues struct{}

func (noValues) PutValue(_ context.Context, b []byte) (string, error) { return "", errNoValues }
func (noValues) GetValue(_ context.Context, a string) ([]byte, error) { return nil, errNoValues }

// requeue plants the state in which the approval of a call leaves a job that had ended.
func (b *bundle) requeue(t *testing.T, id string) {
	t.Helper()
	_, err := b.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                aws.String(b.Prefix + topology.TableJobs),
		Key:                      map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "job#" + id}, "sk": &types.AttributeValueMemberS{Value: "job"}},
		UpdateExpression:         aws.String("SET #state = :queued, head = :true"),
		ExpressionAttributeNames: map[string]string{"#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":queued": &types.AttributeValueMemberS{Value: string(job.Queued)}, ":true": &types.AttributeValueMemberBOOL{Value: true},
		},
	})
	must(t, err)
}

func outboxAgain(t *testing.T, b *bundle) {
	j, _ := b.told(t, nil)
	b.requeue(t, j.ID)
	keys := b.end(t, j, job.Outcome{Status: job.Failed, Error: "later", Now: b.now})
	wantEqual(t, "keys", keys, []job.OutboxKey{callbackOf(j, 2), deliveryOf(j, 2)})
	if body := string(b.row(t, callbackOf(j, 2)).Body); !strings.Contains(body, `"terminal_seq":2`) {
		t.Errorf("body %s", body)
	}
	if body := string(b.row(t, callbackOf(j, 1)).Body); !strings.Contains(body, `"terminal_seq":1`) || !strings.Contains(body, `"status":"done"`) {
		t.Errorf("the first end changed: %s", body)
	}
}

func outboxClaim(t *testing.T, b *bundle) {
	k := b.pending(t)
	claim := func(claimant string, from delivery.State, now time.Time) (*delivery.Row, error) {
		return b.Store.ClaimOutbox(t.Context(), k, from, claimant, now, now.Add(delivery.Lease))
	}
	_, err := claim("early", delivery.Pending, b.now.Add(-time.Millisecond))
	wantErr(t, err, delivery.ErrNotClaimable)
	_, err = claim("letter", delivery.Dead, b.now)
	wantErr(t, err, delivery.ErrNotClaimable)

	first, err := claim("first", delivery.Pending, b.now)
	must(t, err)
	if first.Claim != 1 || first.Attempts != 1 || !first.LeaseUntil.Equal(b.now.Add(delivery.Lease)) {
		t.Errorf("row %+v", first)
	}
	again, err := claim("first", delivery.Pending, b.now)
	must(t, err)
	wantEqual(t, "the claim whose answer was lost", again, first)
	b.wantOutboxDueAt(t, k, b.now.Add(delivery.Lease))
	_, err = claim("second", delivery.Pending, b.now.Add(delivery.Lease-time.Millisecond))
	wantErr(t, err, delivery.ErrNotClaimable)
	second, err := claim("second", delivery.Pending, b.now.Add(delivery.Lease))
	must(t, err)
	if second.Claim != 2 || second.Attempts != 2 {
		t.Errorf("row %+v", second)
	}
	absent := job.OutboxKey{JobID: uuid.NewString(), Terminal: 1, Target: job.ToCallback}
	_, err = b.Store.ClaimOutbox(t.Context(), absent, delivery.Pending, "w", b.now, b.now.Add(time.Minute))
	wantErr(t, err, delivery.ErrNotClaimable)
}

func outboxRetry(t *testing.T, b *bundle) {
	k := b.pending(t)
	row := b.take(t, k, delivery.Pending, b.now)
	next := b.now.Add(time.Hour)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{
		State: delivery.Pending, Attempts: 1, Reason: "status 500", NextAt: next, LookAt: next.Add(time.Minute), Now: b.now,
	}, b.event("attempt")))
	got := b.row(t, k)
	if got.State != delivery.Pending || got.Reason != "status 500" || !got.NextAt.Equal(next) || !got.LeaseUntil.IsZero() || got.Attempts != 1 {
		t.Errorf("row %+v", got)
	}
	b.wantOutboxDueAt(t, k, next.Add(time.Minute))
	must(t, b.Store.PostponeOutbox(t.Context(), k, next.Add(2*time.Minute)))
	b.wantOutboxDueAt(t, k, next.Add(2*time.Minute))
	b.take(t, k, delivery.Pending, next)
	wantEqual(t, "audit", slices.Contains(b.audit(t, k.JobID), "attempt"), true)
}

func outboxDelivered(t *testing.T, b *bundle) {
	k := b.pending(t)
	row := b.take(t, k, delivery.Pending, b.now)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{State: delivery.Delivered, Attempts: 1, Now: b.now}, b.event("ok")))
	wantEqual(t, "due", b.outboxDue(t, k, b.now.Add(far)), 0)
	wantEqual(t, "listed", slices.Contains(b.letters(t, delivery.Letters{Resolved: true, Limit: 1000}), k), false)
	for _, from := range []delivery.State{delivery.Pending, delivery.Dead} {
		_, err := b.Store.ClaimOutbox(t.Context(), k, from, "w", b.now.Add(far), b.now.Add(far))
		wantErr(t, err, delivery.ErrNotClaimable)
	}
	must(t, b.Store.PostponeOutbox(t.Context(), k, b.now))
	wantEqual(t, "due after postponing", b.outboxDue(t, k, b.now.Add(far)), 0)
}

func outboxDead(t *testing.T, b *bundle) {
	k := b.dead(t, b.now.Add(time.Second))
	wantEqual(t, "due", b.outboxDue(t, k, b.now.Add(far)), 0)
	wantEqual(t, "listed", slices.Contains(b.letters(t, delivery.Letters{Limit: 1000}), k), true)
	row := b.row(t, k)
	if row.State != delivery.Dead || row.Reason != "status 410" || !row.DiedAt.Equal(b.now.Add(time.Second)) {
		t.Errorf("row %+v", row)
	}
	must(t, b.Store.ResolveOutbox(t.Context(), k, b.now.Add(time.Minute), b.event("resolved")))
	wantEqual(t, "listed when closed", slices.Contains(b.letters(t, delivery.Letters{Limit: 1000}), k), false)
	wantEqual(t, "listed with all", slices.Contains(b.letters(t, delivery.Letters{Resolved: true, Limit: 1000}), k), true)
	wantEqual(t, "closed at", b.row(t, k).ResolvedAt, b.now.Add(time.Minute))
	wantErr(t, b.Store.ResolveOutbox(t.Context(), k, b.now, b.event("again")), delivery.ErrNotClaimable)
	wantErr(t, b.Store.RequeueOutbox(t.Context(), k, b.now, b.now, b.event("again")), delivery.ErrNotClaimable)
	_, err := b.Store.ClaimOutbox(t.Context(), k, delivery.Dead, "w", b.now, b.now.Add(time.Minute))
	wantErr(t, err, delivery.ErrNotClaimable)
}

func outboxFence(t *testing.T, b *bundle) {
	k := b.pending(t)
	late := b.take(t, k, delivery.Pending, b.now)
	now := b.now.Add(delivery.Lease)
	present := b.take(t, k, delivery.Pending, now)
	r := delivery.Result{State: delivery.Dead, Attempts: 1, Reason: "late", Now: now}
	wantErr(t, b.Store.SaveAttempt(t.Context(), late, r, b.event("late")), delivery.ErrLostClaim)
	must(t, b.Store.SaveAttempt(t.Context(), present, delivery.Result{State: delivery.Delivered, Attempts: 2, Now: now}, b.event("ok")))
	wantErr(t, b.Store.SaveAttempt(t.Context(), present, r, b.event("twice")), delivery.ErrLostClaim)
	wantEqual(t, "state", b.row(t, k).State, delivery.Delivered)
	wantEqual(t, "audit of the late one", slices.Contains(b.audit(t, k.JobID), "late"), false)
}

func outboxLetters(t *testing.T, b *bundle) {
	// Far in the future, so that a shared table has no others there.
	at := b.now.Add(far)
	var keys []job.OutboxKey
	for i := range 9 {
		keys = append(keys, b.dead(t, at.Add(time.Duration(i)*time.Second)))
	}
	must(t, b.Store.ResolveOutbox(t.Context(), keys[4], at, b.event("resolved")))
	wantEqual(t, "two", b.letters(t, delivery.Letters{Since: at, Limit: 2}), []job.OutboxKey{keys[8], keys[7]})
	wantEqual(t, "since", b.letters(t, delivery.Letters{Since: at.Add(3 * time.Second), Limit: 100}), []job.OutboxKey{keys[8], keys[7], keys[6], keys[5], keys[3]})
	wantEqual(t, "all since", b.letters(t, delivery.Letters{Since: at.Add(4 * time.Second), Resolved: true, Limit: 100}),
		[]job.OutboxKey{keys[8], keys[7], keys[6], keys[5], keys[4]})
}

func outboxRequeued(t *testing.T, b *bundle) {
	k := b.dead(t, b.now)
	now := b.now.Add(time.Hour)
	must(t, b.Store.RequeueOutbox(t.Context(), k, now, now.Add(time.Minute), b.event("replayed")))
	wantEqual(t, "listed", slices.Contains(b.letters(t, delivery.Letters{Resolved: true, Limit: 1000}), k), false)
	b.wantOutboxDueAt(t, k, now.Add(time.Minute))
	wantErr(t, b.Store.RequeueOutbox(t.Context(), k, now, now, b.event("again")), delivery.ErrNotClaimable)
	row := b.take(t, k, delivery.Pending, now)
	wantEqual(t, "attempts", row.Attempts, 1)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{State: delivery.Delivered, Attempts: 1, Now: now}, b.event("ok")))
	wantEqual(t, "closed by its delivery", b.row(t, k).ResolvedAt, now)
	wantEqual(t, "listed with all", slices.Contains(b.letters(t, delivery.Letters{Resolved: true, Limit: 1000}), k), true)

	// One that is sent at once keeps its place until that succeeds, and nobody else takes it meanwhile.
	k = b.dead(t, b.now)
	row = b.take(t, k, delivery.Dead, now)
	wantErr(t, b.Store.RequeueOutbox(t.Context(), k, now, now, b.event("meanwhile")), delivery.ErrNotClaimable)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{State: delivery.Dead, Attempts: 1, Reason: "status 500", Now: now}, b.event("failed")))
	wantEqual(t, "died at", b.row(t, k).DiedAt, b.now)
	row = b.take(t, k, delivery.Dead, now)
	must(t, b.Store.SaveAttempt(t.Context(), row, delivery.Result{State: delivery.Delivered, Attempts: 1, Now: now}, b.event("ok")))
	wantEqual(t, "resolved", b.row(t, k).ResolvedAt, now)
}

func outboxApart(t *testing.T, b *bundle) {
	k := b.pending(t)
	b.wantNotDue(t, k.JobID)
	queued := b.launch(t, "")
	if b.Settle != nil {
		b.Settle()
	}
	must(t, b.Store.EachDueOutbox(t.Context(), b.now.Add(far), func(found job.OutboxKey) error {
		if found.JobID == queued.ID {
			t.Error("a queued job was visited")
		}
		return nil
	}))
}
