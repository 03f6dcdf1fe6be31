package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/delivery"
	"bailing/shared/job"
)

// Outbox rows are items job#<id> / outbox#<terminal number>#<target> of the jobs table. Pending ones are in the index "due",
// in partitions of their own: neither jobs nor callbacks wait for the other's sweep. Dead letters are in the index "dead" by
// the time of their death, closed ones in other partitions than open ones.

var _ delivery.Store = (*Store)(nil)

const outboxSK = "outbox#"

func outboxKey(k job.OutboxKey) (pk, sk string) {
	return jobPK(k.JobID), fmt.Sprintf("%s%04d#%s", outboxSK, k.Terminal, k.Target)
}

func (s *Store) outboxRef(k job.OutboxKey) ref {
	pk, sk := outboxKey(k)
	return ref{s.jobs(), pk, sk}
}

func outboxItemKey(k job.OutboxKey) item { return key(outboxKey(k)) }

// parseOutboxKey reads the key back from an item.
func parseOutboxKey(it item) (job.OutboxKey, error) {
	id, isJob := strings.CutPrefix(getStr(it, "pk"), "job#")
	rest, isRow := strings.CutPrefix(getStr(it, "sk"), outboxSK)
	n, target, cut := strings.Cut(rest, "#")
	terminal, err := strconv.Atoi(n)
	if !isJob || !isRow || !cut || err != nil {
		return job.OutboxKey{}, fmt.Errorf("store: %s/%s is no outbox row", getStr(it, "pk"), getStr(it, "sk"))
	}
	return job.OutboxKey{JobID: id, Terminal: terminal, Target: job.OutboxTarget(target)}, nil
}

func outboxDue(jobID string) string { return "outbox-" + dueShard(jobID) }

// deadShards spreads the index "dead", which an outage of a big receiver fills quickly.
const deadShards = 4

const (
	deadOpen   = "open"
	deadClosed = "closed"
)

func deadPartition(which string, shard int) string { return fmt.Sprintf("%s#%d", which, shard) }

func deadShard(which, jobID string) string {
	n, _ := strconv.Atoi(strings.TrimPrefix(dueShard(jobID), "due#")) // the number is ours
	return deadPartition(which, n%deadShards)
}

// tell builds what the transaction that ends a job writes for those who have to be told, and notes it in ended. A job that
// failed ends even when its values cannot be read or written; then its rows are dead letters.
func (s *Store) tell(ctx context.Context, row item, o job.Outcome, ended *job.Ended) ([]types.TransactWriteItem, error) {
	callbackURL, deliveryURL := getStr(row, "cb"), getStr(row, "dl")
	if callbackURL == "" && deliveryURL == "" {
		return nil, nil
	}
	terminal := int(getNum(row, "term")) + 1
	actions, keys, err := s.tellWhole(ctx, row, o, terminal)
	if err != nil {
		if o.Status != job.Failed || ctx.Err() != nil {
			return nil, err
		}
		j := decodeState(row)
		end(j, o)
		j.Result = nil
		drafts, bad := delivery.Salvage(j, terminal, callbackURL, deliveryURL)
		if bad != nil {
			return nil, bad
		}
		s.log.ErrorContext(ctx, "callback not composed, its dead letter says so", "job_id", j.ID, "error", err)
		actions, keys = nil, nil
		for _, d := range drafts {
			it := s.outboxItem(d, j.Owner, o.Now)
			it["body"] = binary(d.Body)
			actions = append(actions, putNew(s.jobs(), it))
		}
	}
	ended.Outbox = keys
	return actions, nil
}

func (s *Store) tellWhole(ctx context.Context, row item, o job.Outcome, terminal int) ([]types.TransactWriteItem, []job.OutboxKey, error) {
	j, err := s.decodeJob(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	end(j, o)
	drafts, skipped, err := delivery.Compose(j, terminal)
	if err != nil {
		return nil, nil, err
	}
	var actions []types.TransactWriteItem
	var keys []job.OutboxKey
	for _, d := range drafts {
		it := s.outboxItem(d, j.Owner, o.Now)
		if err := s.setLarge(ctx, it, "body", d.Body); err != nil {
			return nil, nil, err
		}
		actions = append(actions, putNew(s.jobs(), it))
		keys = append(keys, d.Key)
	}
	if skipped != "" {
		ev, err := s.putEvent(ctx, j.ID, job.Event{
			ID: fmt.Sprintf("delivery-skipped-%d", terminal), At: o.Now, Name: "delivery_skipped", Stage: job.StageDelivery,
			Severity: job.Info, Title: "Delivery left out", Summary: skipped, Detail: map[string]any{"reason": skipped},
		})
		if err != nil {
			return nil, nil, err
		}
		actions = append(actions, ev)
	}
	return actions, keys, nil
}

// end is what endAction does to a job.
func end(j *job.Job, o job.Outcome) {
	j.Status, j.UpdatedAt, j.Head, j.Error = o.Status, o.Now, false, o.Error
	if len(o.Result) > 0 {
		j.Result = o.Result
	}
	if len(o.Usage) > 0 {
		j.Usage = o.Usage
	}
}

func (s *Store) outboxItem(d delivery.Draft, owner string, now time.Time) item {
	it := newItem(outboxKey(d.Key))
	it["owner"], it["url"], it["preview"] = str(owner), str(d.URL), str(d.Preview)
	it["state"] = str(string(delivery.Pending))
	it["claim"], it["tries"] = num(0), num(0)
	it["created"], it["updated"], it["after"] = millis(now), millis(now), millis(now)
	if d.Dead == "" {
		it["dpk"], it["dsk"] = str(outboxDue(d.Key.JobID)), str(dueKey(now.Add(delivery.ResendAfter)))
		return it
	}
	it["state"], it["reason"], it["died"] = str(string(delivery.Dead)), str(d.Dead), millis(now)
	it["xpk"], it["xsk"] = str(deadShard(deadOpen, d.Key.JobID)), str(dueKey(now))
	return it
}

func decodeOutbox(it item) (*delivery.Row, error) {
	k, err := parseOutboxKey(it)
	if err != nil {
		return nil, err
	}
	return &delivery.Row{
		Key: k, Owner: getStr(it, "owner"), URL: getStr(it, "url"), Preview: getStr(it, "preview"),
		Body: getBytes(it, "body"), Address: getStr(it, "body_ref"),
		State: delivery.State(getStr(it, "state")), Attempts: int(getNum(it, "tries")), Claim: getNum(it, "claim"),
		Reason: getStr(it, "reason"), NextAt: getTime(it, "after"), LeaseUntil: getTime(it, "lease"),
		CreatedAt: getTime(it, "created"), UpdatedAt: getTime(it, "updated"), DiedAt: getTime(it, "died"), ResolvedAt: getTime(it, "resolved"),
	}, nil
}

var outboxNames = map[string]string{"#state": "state", "#after": "after"}

// ClaimOutbox is one conditional update that returns the whole row. claimant tells a claim whose answer was lost, and that the
// SDK repeated, from somebody else's.
func (s *Store) ClaimOutbox(ctx context.Context, k job.OutboxKey, from delivery.State, claimant string, now, leaseUntil time.Time) (*delivery.Row, error) {
	values := item{
		":from": str(string(from)), ":one": num(1), ":worker": str(claimant), ":now": millis(now), ":lease": millis(leaseUntil),
		":sv": num(schemaVersion),
	}
	expr := "SET claim = claim + :one, worker = :worker, lease = :lease, updated = :now"
	condition := "#state = :from AND #after <= :now AND sv <= :sv AND (attribute_not_exists(lease) OR lease <= :now) AND attribute_not_exists(resolved)"
	if from == delivery.Pending {
		expr += ", tries = tries + :one, dsk = :dsk"
		values[":dsk"] = str(dueKey(leaseUntil))
	}
	out, err := single(ctx, s, s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: s.jobs(), Key: outboxItemKey(k), UpdateExpression: aws.String(expr), ConditionExpression: aws.String(condition),
		ExpressionAttributeNames: outboxNames, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if err := checkVersion(failed.Item); err != nil {
			return nil, err
		}
		if getStr(failed.Item, "worker") == claimant && getStr(failed.Item, "state") == string(from) {
			return decodeOutbox(failed.Item)
		}
		return nil, delivery.ErrNotClaimable
	}
	if err != nil {
		return nil, fmt.Errorf("store: claim outbox row: %w", err)
	}
	return decodeOutbox(out.Attributes)
}

// SaveAttempt is one transaction: {row, audit record}.
func (s *Store) SaveAttempt(ctx context.Context, row *delivery.Row, r delivery.Result, ev job.Event) error {
	values := item{
		":claim": num(row.Claim), ":from": str(string(row.State)), ":state": str(string(r.State)), ":tries": num(int64(r.Attempts)), ":now": millis(r.Now),
	}
	set, remove := "SET #state = :state, tries = :tries, updated = :now", " REMOVE lease, worker"
	if r.Reason != "" {
		set += ", reason = :reason"
		values[":reason"] = str(r.Reason)
	} else {
		remove += ", reason"
	}
	names := map[string]string{"#state": "state"}
	closed := func() {
		set += ", xpk = :xpk, resolved = :now"
		values[":xpk"] = str(deadShard(deadClosed, row.Key.JobID))
	}
	switch {
	case r.State == delivery.Pending:
		names = outboxNames
		set += ", #after = :after, dsk = :dsk"
		values[":after"], values[":dsk"] = millis(r.NextAt), str(dueKey(r.LookAt))
	case r.State == delivery.Dead && row.State == delivery.Pending:
		remove += ", dpk, dsk"
		set += ", died = :now, xpk = :xpk, xsk = :xsk"
		values[":xpk"], values[":xsk"] = str(deadShard(deadOpen, row.Key.JobID)), str(dueKey(r.Now))
	case r.State == delivery.Delivered && row.State == delivery.Dead:
		closed()
	case r.State == delivery.Delivered:
		remove += ", dpk, dsk"
		if !row.DiedAt.IsZero() {
			closed()
			set += ", xsk = :xsk"
			values[":xsk"] = str(dueKey(row.DiedAt))
		}
	}
	a := update(s.jobs(), outboxItemKey(row.Key), set+remove, "claim = :claim AND #state = :from AND attribute_exists(worker)", values)
	a.Update.ExpressionAttributeNames = names
	return s.outboxWrite(ctx, a, row.Key, ev, delivery.ErrLostClaim)
}

// outboxWrite runs a write of a row with its audit record; lost is what a failed condition means.
func (s *Store) outboxWrite(ctx context.Context, a types.TransactWriteItem, k job.OutboxKey, ev job.Event, lost error) error {
	audit, err := s.putEvent(ctx, k.JobID, ev)
	if err != nil {
		return err
	}
	err = s.transact(ctx, a, audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return lost
	}
	return err
}

// openLetter is the condition of what is done to dead letters that nobody is sending.
const openLetter = "#state = :dead AND attribute_not_exists(resolved) AND (attribute_not_exists(lease) OR lease <= :now)"

// RequeueOutbox is one transaction: {row back to pending, audit record}.
func (s *Store) RequeueOutbox(ctx context.Context, k job.OutboxKey, now, lookAt time.Time, ev job.Event) error {
	a := update(s.jobs(), outboxItemKey(k),
		"SET #state = :pending, tries = :zero, #after = :now, updated = :now, dpk = :dpk, dsk = :dsk REMOVE xpk, xsk, lease, worker", openLetter,
		item{
			":pending": str(string(delivery.Pending)), ":dead": str(string(delivery.Dead)), ":zero": num(0), ":now": millis(now),
			":dpk": str(outboxDue(k.JobID)), ":dsk": str(dueKey(lookAt)),
		})
	a.Update.ExpressionAttributeNames = outboxNames
	return s.outboxWrite(ctx, a, k, ev, delivery.ErrNotClaimable)
}

// ResolveOutbox is one transaction: {row closed, audit record}.
func (s *Store) ResolveOutbox(ctx context.Context, k job.OutboxKey, now time.Time, ev job.Event) error {
	a := update(s.jobs(), outboxItemKey(k), "SET resolved = :now, updated = :now, xpk = :xpk", openLetter,
		item{":dead": str(string(delivery.Dead)), ":now": millis(now), ":xpk": str(deadShard(deadClosed, k.JobID))})
	a.Update.ExpressionAttributeNames = stateName
	return s.outboxWrite(ctx, a, k, ev, delivery.ErrNotClaimable)
}

// PostponeOutbox is one conditional update; a row that is not pending any more is left alone.
func (s *Store) PostponeOutbox(ctx context.Context, k job.OutboxKey, lookAt time.Time) error {
	_, err := single(ctx, s, s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: s.jobs(), Key: outboxItemKey(k), UpdateExpression: aws.String("SET dsk = :dsk"),
		ConditionExpression: aws.String("#state = :pending"), ExpressionAttributeNames: stateName,
		ExpressionAttributeValues: item{":dsk": str(dueKey(lookAt)), ":pending": str(string(delivery.Pending))},
	})
	var failed *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("store: postpone outbox row: %w", err)
	}
	return nil
}

// EachDueOutbox pages through the outbox's shards of the index "due", each minute from another one on.
func (s *Store) EachDueOutbox(ctx context.Context, now time.Time, visit func(job.OutboxKey) error) error {
	return s.eachDue(ctx, "outbox-", now, func(it item) error {
		k, err := parseOutboxKey(it)
		if err != nil {
			return err
		}
		return visit(k)
	})
}

// ReadOutbox reads one row: one trip.
func (s *Store) ReadOutbox(ctx context.Context, k job.OutboxKey) (*delivery.Row, error) {
	items, err := s.batchGet(ctx, s.outboxRef(k))
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		return nil, delivery.ErrNotFound
	}
	return decodeOutbox(items[0])
}

// OutboxOf reads the rows of a job: one trip per megabyte.
func (s *Store) OutboxOf(ctx context.Context, jobID string) ([]*delivery.Row, error) {
	var rows []*delivery.Row
	err := s.query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID)), ":sk": str(outboxSK)},
	}, func(it item) error {
		row, err := decodeOutbox(it)
		rows = append(rows, row)
		return err
	})
	return rows, err
}
