package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/chance"
	"bailing/shared/clock"
	"bailing/shared/topology"
)

// schemaVersion is written to every item as "sv". A reader refuses an item from a newer version.
const schemaVersion = 1

// DynamoDB is the part of the client that the store uses.
type DynamoDB interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Options makes a Store.
type Options struct {
	DB     DynamoDB
	Values Values // content-addressed large values
	Prefix string // put before every table name, for example "bailing-"
	Clock  clock.Clock
	Logger *slog.Logger

	AuditRetention time.Duration // how long audit records are kept, from when they say they were made; 0 = for ever
}

// Store reads and writes the product's rows. It is safe for concurrent use.
type Store struct {
	db     DynamoDB
	values Values
	prefix string
	clock  clock.Clock
	log    *slog.Logger

	auditRetention time.Duration
}

// New returns a store over o.DB.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Store{db: o.DB, values: o.Values, prefix: o.Prefix, clock: o.Clock, log: o.Logger, auditRetention: o.AuditRetention}
}

func (s *Store) registry() *string { return aws.String(s.prefix + topology.TableRegistry) }
func (s *Store) jobs() *string     { return aws.String(s.prefix + topology.TableJobs) }
func (s *Store) ledger() *string   { return aws.String(s.prefix + topology.TableLedger) }

// item is a DynamoDB item.
type item = map[string]types.AttributeValue

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
}
func boolean(v bool) types.AttributeValue  { return &types.AttributeValueMemberBOOL{Value: v} }
func binary(v []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: v} }
func strs(v []string) types.AttributeValue {
	l := make([]types.AttributeValue, len(v))
	for i, s := range v {
		l[i] = str(s)
	}
	return &types.AttributeValueMemberL{Value: l}
}

func getStr(it item, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func getNum(it item, name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

func getBool(it item, name string) bool {
	v, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func getBytes(it item, name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func getStrs(it item, name string) []string {
	v, ok := it[name].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(v.Value))
	for _, e := range v.Value {
		if s, ok := e.(*types.AttributeValueMemberS); ok {
			out = append(out, s.Value)
		}
	}
	return out
}

// getSet reads a set of strings, in no order.
func getSet(it item, name string) []string {
	if v, ok := it[name].(*types.AttributeValueMemberSS); ok {
		return v.Value
	}
	return nil
}

func set(v ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: v} }

// Times are stored as milliseconds: every wire form of the contract has that precision.
func millis(t time.Time) types.AttributeValue { return num(t.UnixMilli()) }

func getTime(it item, name string) time.Time {
	if _, ok := it[name]; !ok {
		return time.Time{}
	}
	return time.UnixMilli(getNum(it, name)).UTC()
}

// key is the primary key of an item.
func key(pk, sk string) item { return item{"pk": str(pk), "sk": str(sk)} }

// newItem starts an item with its key and schema version.
func newItem(pk, sk string) item {
	it := key(pk, sk)
	it["sv"] = num(schemaVersion)
	return it
}

// checkVersion refuses an item that a newer release wrote: guessing at its meaning could repeat a side effect.
func checkVersion(it item) error {
	if v := getNum(it, "sv"); v > schemaVersion {
		return fmt.Errorf("store: item %s/%s has schema version %d, this release reads up to %d",
			getStr(it, "pk"), getStr(it, "sk"), v, schemaVersion)
	}
	return nil
}

// ref names one item of one table, for batched reads.
type ref struct {
	table  *string
	pk, sk string
}

func (r ref) id() string { return *r.table + "\x00" + r.pk + "\x00" + r.sk }

// batchGet reads items of any tables, strongly consistent: one trip per 100 different ones. The answer has one entry per
// ref, nil where the item does not exist.
func (s *Store) batchGet(ctx context.Context, refs ...ref) ([]item, error) {
	return s.batchGetIf(ctx, checkVersion, refs)
}

// batchGetIf is batchGet with another check of every item; its error ends the read.
func (s *Store) batchGetIf(ctx context.Context, check func(item) error, refs []ref) ([]item, error) {
	at := map[string][]int{}
	var distinct []ref
	for i, r := range refs {
		id := r.id()
		if len(at[id]) == 0 {
			distinct = append(distinct, r)
		}
		at[id] = append(at[id], i)
	}
	out := make([]item, len(refs))
	for chunk := range slices.Chunk(distinct, batchGetMax) {
		err := s.batchGetChunk(ctx, check, chunk, func(table string, it item) {
			for _, i := range at[ref{table: &table, pk: getStr(it, "pk"), sk: getStr(it, "sk")}.id()] {
				out[i] = it
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batchGetChunk hands what exists of at most batchGetMax different refs to found. Keys that DynamoDB hands back
// unprocessed are asked for again.
func (s *Store) batchGetChunk(ctx context.Context, check func(item) error, refs []ref, found func(table string, it item)) error {
	want := map[string]types.KeysAndAttributes{}
	for _, r := range refs {
		ka := want[*r.table]
		ka.ConsistentRead = aws.Bool(true)
		ka.Keys = append(ka.Keys, key(r.pk, r.sk))
		want[*r.table] = ka
	}
	for attempt := 0; len(want) > 0; attempt++ {
		if attempt > maxConflictRetries {
			return errors.New("store: batch get: keys stay unprocessed")
		}
		if attempt > 0 {
			if err := s.pause(ctx, attempt); err != nil {
				return err
			}
		}
		res, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: want})
		if err != nil {
			return fmt.Errorf("store: batch get: %w", err)
		}
		for table, items := range res.Responses {
			for _, it := range items {
				if err := check(it); err != nil {
					return err
				}
				found(table, it)
			}
		}
		want = res.UnprocessedKeys
	}
	return nil
}

// maxConflictRetries bounds how often a write that met another transaction is tried again.
const maxConflictRetries = 12

// pause waits before attempt n (1, 2, ...) with full jitter, at most 400 ms.
func (s *Store) pause(ctx context.Context, n int) error {
	ceiling := min(400, 5<<min(n, 7))
	return clock.Sleep(ctx, s.clock, time.Duration(1+chance.N(ceiling))*time.Millisecond)
}

// ConditionFailed reports which conditions of a write did not hold. Items[i] is the stored item of action i (nil when it
// does not exist or its condition held).
type ConditionFailed struct {
	Failed []bool
	Items  []item
}

func (e *ConditionFailed) Error() string { return "store: condition failed" }

// transact runs actions as one transaction. A conflict with another transaction is tried again with back-off; a failed
// condition comes back as *ConditionFailed. The idempotency token is drawn once, so that the SDK's own retry of a
// transaction whose answer was lost does not apply it twice.
func (s *Store) transact(ctx context.Context, actions ...types.TransactWriteItem) error {
	token := fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
	for attempt := 0; ; attempt++ {
		_, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: actions, ClientRequestToken: aws.String(token),
		})
		if err == nil {
			return nil
		}
		retry, mapped := classify(err, len(actions))
		if !retry || attempt == maxConflictRetries {
			return mapped
		}
		if err := s.pause(ctx, attempt+1); err != nil {
			return err
		}
	}
}

// single runs one write of one item. A conflict with a transaction is tried again with back-off.
func single[In, Out any](ctx context.Context, s *Store, write func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In) (*Out, error) {
	for attempt := 0; ; attempt++ {
		out, err := write(ctx, in)
		var conflict *types.TransactionConflictException
		if !errors.As(err, &conflict) || attempt == maxConflictRetries {
			return out, err
		}
		if err := s.pause(ctx, attempt+1); err != nil {
			return nil, err
		}
	}
}

// classify sorts a transaction's error: a failed condition wins over a conflict, since it is an answer. An item of a newer
// release is no answer, whatever it holds.
func classify(err error, n int) (retry bool, mapped error) {
	var busy *types.TransactionInProgressException
	if errors.As(err, &busy) {
		return true, fmt.Errorf("store: transaction: %w", err)
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false, fmt.Errorf("store: transaction: %w", err)
	}
	failed := &ConditionFailed{Failed: make([]bool, n), Items: make([]item, n)}
	condition, conflict := false, false
	var newer error
	for i, r := range cancelled.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "ConditionalCheckFailed":
			condition = true
			failed.Failed[i] = true
			if len(r.Item) > 0 {
				failed.Items[i] = r.Item
				newer = errors.Join(newer, checkVersion(r.Item))
			}
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			conflict = true
		}
	}
	if newer != nil {
		return false, newer
	}
	if condition {
		return false, failed
	}
	return conflict, fmt.Errorf("store: transaction: %w", err)
}

// put, update and check build the actions of a transaction; each asks for the stored item when its condition fails.
func put(table *string, it item, condition string, names map[string]string, values item) types.TransactWriteItem {
	p := &types.Put{TableName: table, Item: it, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	if condition != "" {
		p.ConditionExpression, p.ExpressionAttributeNames, p.ExpressionAttributeValues = aws.String(condition), names, values
	}
	return types.TransactWriteItem{Put: p}
}

func putNew(table *string, it item) types.TransactWriteItem {
	return put(table, it, "attribute_not_exists(pk)", nil, nil)
}

func update(table *string, k item, expr, condition string, values item) types.TransactWriteItem {
	u := &types.Update{
		TableName: table, Key: k, UpdateExpression: aws.String(expr), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if condition != "" {
		u.ConditionExpression = aws.String(condition)
	}
	return types.TransactWriteItem{Update: u}
}

func check(table *string, k item, condition string, values item) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: table, Key: k, ConditionExpression: aws.String(condition), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}
