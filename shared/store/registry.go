package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/chance"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

// Kinds of registry records. A kind is the prefix of a record's partition key and its partition in the index "kind".
const (
	kindTarget     = string(registry.KindTarget)
	kindCredential = string(registry.KindCredential)
	kindProvider   = string(registry.KindProvider)
	kindRoute      = "route"
	kindClient     = "client"
)

const recordSK = "record"

// recordInlineMax is the largest record, in bytes of JSON, that its item holds; a larger one (a very long prompt) is a
// value of its own. It leaves room below DynamoDB's 400 KB and keeps ordinary reads at one trip.
const recordInlineMax = 300 << 10

// recordRef names the row of one registry record.
func (s *Store) recordRef(kind, name string) ref {
	return ref{table: s.registry(), pk: kind + "#" + name, sk: recordSK}
}

// tokenRef names the row of the token with this SHA-256, in lower-case hexadecimal.
func (s *Store) tokenRef(hash string) ref {
	return ref{table: s.registry(), pk: "token#" + hash, sk: recordSK}
}

// pauseRef names the kill switch.
func (s *Store) pauseRef() ref { return ref{table: s.registry(), pk: "system", sk: "pause"} }

// resolveDocs brings the documents of outsized records into their items, so that decodeRecord and decodeToken can read
// them. It costs one object read per outsized record, and nothing for the others.
func (s *Store) resolveDocs(ctx context.Context, items ...item) error {
	for _, it := range items {
		if it == nil || it["doc"] != nil {
			continue
		}
		address := getStr(it, "doc_ref")
		if address == "" {
			continue
		}
		doc, err := s.values.GetValue(ctx, address)
		if err != nil {
			return fmt.Errorf("store: record %s: %w", getStr(it, "pk"), err)
		}
		it["doc"] = str(string(doc))
	}
	return nil
}

// decodeRecord reads a record's item, after resolveDocs; nil for an item that does not exist.
func decodeRecord[T any](it item) (*registry.Versioned[T], error) {
	if it == nil {
		return nil, nil
	}
	v := &registry.Versioned[T]{Revision: getNum(it, "rev")}
	if err := json.Unmarshal([]byte(getStr(it, "doc")), &v.Value); err != nil {
		return nil, fmt.Errorf("store: record %s: %w", getStr(it, "pk"), err)
	}
	return v, nil
}

// decodeToken reads a token's item, after resolveDocs; nil for an item that does not exist.
func decodeToken(it item) (*registry.Token, error) {
	c, err := decodeRecord[registry.Client](it)
	if c == nil || err != nil {
		return nil, err
	}
	return &registry.Token{Hash: c.Value.TokenHash, Client: c.Value}, nil
}

// isPaused reads the kill switch; a row that was never written means running.
func isPaused(it item) bool { return it != nil && getBool(it, "paused") }

var _ registry.Store = (*Store)(nil)

// Targets is the records of execution targets.
func (s *Store) Targets() registry.Records[registry.Target] {
	return &records[registry.Target]{s, kindTarget}
}

// Credentials is the records of model credentials.
func (s *Store) Credentials() registry.Records[registry.Credential] {
	return &records[registry.Credential]{s, kindCredential}
}

// Providers is the records of tool providers.
func (s *Store) Providers() registry.Providers {
	return &providers{records[registry.Provider]{s, kindProvider}}
}

// Routes is the records of routes.
func (s *Store) Routes() registry.Routes {
	return &routes{records[registry.Route]{s, kindRoute}}
}

// Clients is the records of clients, with the rows of their tokens.
func (s *Store) Clients() registry.Clients {
	return &clients{records[registry.Client]{s, kindClient}}
}

// records is the rows of one kind:
//
//	<kind>#<name> / record    doc or doc_ref, rev; gk = kind and gs = name put it into the index
type records[T any] struct {
	s    *Store
	kind string
}

// Get reads one record; one trip.
func (r *records[T]) Get(ctx context.Context, name string) (*registry.Versioned[T], error) {
	items, err := r.s.batchGet(ctx, r.s.recordRef(r.kind, name))
	if err != nil {
		return nil, err
	}
	if err := r.s.resolveDocs(ctx, items...); err != nil {
		return nil, err
	}
	return decodeRecord[T](items[0])
}

// batchGetMax is the most keys of one BatchGetItem.
const batchGetMax = 100

// List reads every record, by name. The index only says which records there are: it lags behind the table, so each
// record is then read strongly, 100 per trip, and a list never shows what a finished save has replaced. A record that is
// newer than the index may be missing for a moment.
func (r *records[T]) List(ctx context.Context) ([]T, error) {
	refs, err := r.s.listKind(ctx, r.kind)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, refs)
}

// read reads the records at refs that exist, in their order.
func (r *records[T]) read(ctx context.Context, refs []ref) ([]T, error) {
	out := make([]T, 0, len(refs))
	for chunk := range slices.Chunk(refs, batchGetMax) {
		items, err := r.s.batchGet(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		if err := r.s.resolveDocs(ctx, items...); err != nil {
			return nil, err
		}
		for _, it := range items {
			v, err := decodeRecord[T](it)
			if err != nil {
				return nil, err
			}
			if v != nil {
				out = append(out, v.Value)
			}
		}
	}
	return out, nil
}

// listKind reads the keys of every record of a kind from the index, in the order of their names.
func (s *Store) listKind(ctx context.Context, kind string) ([]ref, error) {
	in := &dynamodb.QueryInput{
		TableName: s.registry(), IndexName: aws.String(topology.IndexKind),
		KeyConditionExpression:    aws.String("gk = :kind"),
		ExpressionAttributeValues: item{":kind": str(kind)},
		ProjectionExpression:      aws.String("gs"),
	}
	var refs []ref
	for {
		res, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("store: list %s: %w", kind, err)
		}
		for _, it := range res.Items {
			refs = append(refs, s.recordRef(kind, getStr(it, "gs")))
		}
		if len(res.LastEvaluatedKey) == 0 {
			return refs, nil
		}
		in.ExclusiveStartKey = res.LastEvaluatedKey
	}
}

// Put writes the record and its audit record in one transaction.
func (r *records[T]) Put(ctx context.Context, name string, v registry.Versioned[T], c registry.Change) error {
	action, err := r.action(ctx, name, v)
	if err != nil {
		return err
	}
	return stale(r.s.transact(ctx, action, r.s.putChange(c)))
}

// action is the conditional put of a record: the first revision must not exist yet, a later one must follow what was read. The
// first one is drawn, so that a record that was deleted and created again is at no revision that a writer still holds of the
// earlier one.
func (r *records[T]) action(ctx context.Context, name string, v registry.Versioned[T]) (types.TransactWriteItem, error) {
	at := r.s.recordRef(r.kind, name)
	it := newItem(at.pk, at.sk)
	it["gk"], it["gs"] = str(r.kind), str(name)
	it["rev"] = num(v.Revision + 1)
	if err := r.s.setDoc(ctx, it, v.Value); err != nil {
		return types.TransactWriteItem{}, err
	}
	if v.Revision == 0 {
		it["rev"] = num(1 + chance.N[int64](firstRevisions))
		return putNew(at.table, it), nil
	}
	return put(at.table, it, "rev = :rev", nil, item{":rev": num(v.Revision)}), nil
}

// firstRevisions is how many first revisions there are: so many that two of them hardly meet, and few enough that every later one
// is exact in any JSON.
const firstRevisions = 1 << 52

// Delete removes the record and writes the audit record in one transaction.
func (r *records[T]) Delete(ctx context.Context, name string, revision int64, c registry.Change) error {
	return stale(r.s.transact(ctx, remove(r.s.recordRef(r.kind, name), "rev = :rev", item{":rev": num(revision)}), r.s.putChange(c)))
}

// remove is the deletion of an item, for a transaction.
func remove(at ref, condition string, values item) types.TransactWriteItem {
	d := &types.Delete{TableName: at.table, Key: key(at.pk, at.sk)}
	if condition != "" {
		d.ConditionExpression, d.ExpressionAttributeValues = aws.String(condition), values
	}
	return types.TransactWriteItem{Delete: d}
}

// setDoc puts the JSON of a record into its item, or beside it when it is outsized.
func (s *Store) setDoc(ctx context.Context, it item, value any) error {
	doc, err := plainjson.Marshal(value)
	if err != nil {
		return fmt.Errorf("store: encode record %s: %w", getStr(it, "pk"), err)
	}
	if len(doc) <= recordInlineMax {
		it["doc"] = str(string(doc))
		return nil
	}
	address, err := s.values.PutValue(ctx, doc)
	if err != nil {
		return fmt.Errorf("store: record %s: %w", getStr(it, "pk"), err)
	}
	it["doc_ref"] = str(address)
	return nil
}

// stale turns a failed condition into the registry's word for it.
func stale(err error) error {
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return registry.ErrStale
	}
	return err
}

// clients is the rows of clients and, keyed by the hash of the token, a copy of the client that authenticates a call in
// one read:
//
//	client#<app id> / record
//	token#<sha256>  / record    doc or doc_ref
type clients struct{ records[registry.Client] }

// Put writes the client, its token row and the audit record in one transaction, so that a token row never says anything
// else than its client, and a replaced token is dead at once.
func (c *clients) Put(ctx context.Context, v registry.Versioned[registry.Client], oldHash string, change registry.Change) error {
	client, err := c.action(ctx, v.Value.AppID, v)
	if err != nil {
		return err
	}
	at := c.s.tokenRef(v.Value.TokenHash)
	row := newItem(at.pk, at.sk)
	if err := c.s.setDoc(ctx, row, v.Value); err != nil {
		return err
	}
	actions := []types.TransactWriteItem{client, c.s.putChange(change)}
	if oldHash == v.Value.TokenHash {
		actions = append(actions, put(at.table, row, "", nil, nil))
	} else {
		actions = append(actions, putNew(at.table, row))
		if oldHash != "" {
			actions = append(actions, remove(c.s.tokenRef(oldHash), "", nil))
		}
	}
	return stale(c.s.transact(ctx, actions...))
}

// Delete removes the client and its token row, and writes the audit record, in one transaction. Every write of a client moves its
// revision, so the token row of the revision that was read is the one there is.
func (c *clients) Delete(ctx context.Context, v registry.Versioned[registry.Client], change registry.Change) error {
	client := remove(c.s.recordRef(c.kind, v.Value.AppID), "rev = :rev", item{":rev": num(v.Revision)})
	return stale(c.s.transact(ctx, client, remove(c.s.tokenRef(v.Value.TokenHash), "", nil), c.s.putChange(change)))
}

// Token reads what the token with this SHA-256 authenticates, nil when it is unknown; one trip.
func (s *Store) Token(ctx context.Context, hash string) (*registry.Token, error) {
	items, err := s.batchGet(ctx, s.tokenRef(hash))
	if err != nil {
		return nil, err
	}
	if err := s.resolveDocs(ctx, items...); err != nil {
		return nil, err
	}
	return decodeToken(items[0])
}

// SetPaused turns the kill switch, together with the audit record; one trip.
func (s *Store) SetPaused(ctx context.Context, paused bool, c registry.Change) error {
	at := s.pauseRef()
	it := newItem(at.pk, at.sk)
	it["paused"] = boolean(paused)
	return s.transact(ctx, put(at.table, it, "", nil, nil), s.putChange(c))
}

// Note writes an audit record by itself; one trip.
func (s *Store) Note(ctx context.Context, c registry.Change) error {
	return s.transact(ctx, s.putChange(c))
}

// Configuration changes, and secrets that were shown, are items system#config / <ISO time>#<random> of the ledger.
const (
	changePK   = "system#config"
	changeTime = "2006-01-02T15:04:05.000Z"
)

func (s *Store) putChange(c registry.Change) types.TransactWriteItem {
	at := c.At.UTC()
	it := s.auditItem(changePK, fmt.Sprintf("%s#%016x", at.Format(changeTime), chance.Uint64()), at)
	it["event"], it["at"] = str(cmp.Or(c.Event, "config_change")), millis(at)
	it["by"], it["method"], it["path"] = str(c.By), str(c.Method), str(c.Path)
	return put(s.ledger(), it, "", nil, nil)
}
