package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/account"
	"bailing/shared/chance"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
)

// accounts is the rows of administrators in the registry table:
//
//	admin#<username>   / record    doc, rev
//	system             / admins    doc (the roster), rev
//	session#<sha256>   / record    username, epoch, from, until; ttl
//	attempts#<sha256>  / record    at, rev, mark; ttl
//
// They are in no index: the roster names the accounts, and nothing lists sessions.
type accounts struct{ s *Store }

var _ account.Store = (*accounts)(nil)

// Accounts is the administrators' accounts and sessions.
func (s *Store) Accounts() account.Store { return &accounts{s} }

func (a *accounts) accountRef(username string) ref { return a.s.recordRef("admin", username) }
func (a *accounts) sessionRef(hash string) ref     { return a.s.recordRef("session", hash) }
func (a *accounts) attemptsRef(key string) ref     { return a.s.recordRef("attempts", key) }
func (a *accounts) rosterRef() ref                 { return ref{table: a.s.registry(), pk: "system", sk: "admins"} }

// sessionKept and attemptsKept are how long rows outlive their meaning: DynamoDB deletes them some time after their ttl, and
// nothing relies on it.
const (
	sessionKept  = 24 * time.Hour
	attemptsKept = account.FailureWindow + time.Hour
)

func (a *accounts) ReadLogin(ctx context.Context, username, failureKey string) (account.LoginRows, error) {
	refs := []ref{a.attemptsRef(failureKey), a.rosterRef()}
	if username != "" {
		refs = append(refs, a.accountRef(username))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil {
		return account.LoginRows{}, err
	}
	rows := account.LoginRows{Failures: decodeFailures(items[0])}
	if rows.Roster, err = decodeRoster(items[1]); err == nil && username != "" {
		rows.Account, err = decodeRecord[account.Account](items[2])
	}
	return rows, err
}

func (a *accounts) ReadAccount(ctx context.Context, username string) (account.Versioned[account.Roster], *account.Versioned[account.Account], error) {
	items, err := a.s.batchGet(ctx, a.rosterRef(), a.accountRef(username))
	if err != nil {
		return account.Versioned[account.Roster]{}, nil, err
	}
	roster, err := decodeRoster(items[0])
	if err != nil {
		return roster, nil, err
	}
	stored, err := decodeRecord[account.Account](items[1])
	return roster, stored, err
}

// ListAccounts takes two trips, and one more for each further 100 accounts. One that goes in between is left out.
func (a *accounts) ListAccounts(ctx context.Context) ([]account.Account, error) {
	items, err := a.s.batchGet(ctx, a.rosterRef())
	if err != nil {
		return nil, err
	}
	roster, err := decodeRoster(items[0])
	if err != nil {
		return nil, err
	}
	var refs []ref
	for _, name := range roster.Value.Names() {
		refs = append(refs, a.accountRef(name))
	}
	if items, err = a.s.batchGet(ctx, refs...); err != nil {
		return nil, err
	}
	out := make([]account.Account, 0, len(items))
	for _, it := range items {
		v, err := decodeRecord[account.Account](it)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v.Value)
		}
	}
	return out, nil
}

func decodeRoster(it item) (account.Versioned[account.Roster], error) {
	v, err := decodeRecord[account.Roster](it)
	if v == nil || err != nil {
		return account.Versioned[account.Roster]{}, err
	}
	return *v, nil
}

func (a *accounts) PutAccount(ctx context.Context, v account.Versioned[account.Account], roster *account.Versioned[account.Roster], c registry.Change) error {
	write, err := a.putRevision(a.accountRef(v.Value.Username), v.Value, v.Revision)
	if err != nil {
		return err
	}
	actions := []types.TransactWriteItem{write, a.s.putChange(c)}
	if roster != nil {
		if write, err = a.putRevision(a.rosterRef(), roster.Value, roster.Revision); err != nil {
			return err
		}
		actions = append(actions, write)
	}
	return stale(a.s.transact(ctx, actions...))
}

// putRevision is the conditional put of a row with a document. The first revision is drawn: an account that was deleted and made
// anew must not be taken for the earlier one by whoever read that.
func (a *accounts) putRevision(at ref, value any, revision int64) (types.TransactWriteItem, error) {
	doc, err := plainjson.Marshal(value)
	if err != nil {
		return types.TransactWriteItem{}, fmt.Errorf("store: encode %s: %w", at.sk, err)
	}
	it := newItem(at.pk, at.sk)
	it["doc"], it["rev"] = str(string(doc)), num(revision+1)
	if revision == 0 {
		it["rev"] = num(1 + chance.N[int64](firstRevisions))
		return putNew(at.table, it), nil
	}
	return put(at.table, it, "rev = :rev", nil, item{":rev": num(revision)}), nil
}

func (a *accounts) DeleteAccount(ctx context.Context, v account.Versioned[account.Account], roster account.Versioned[account.Roster], c registry.Change) error {
	names, err := a.putRevision(a.rosterRef(), roster.Value, roster.Revision)
	if err != nil {
		return err
	}
	at := a.accountRef(v.Value.Username)
	remove := types.TransactWriteItem{Delete: &types.Delete{
		TableName: at.table, Key: key(at.pk, at.sk),
		ConditionExpression: aws.String("rev = :rev"), ExpressionAttributeValues: item{":rev": num(v.Revision)},
	}}
	return stale(a.s.transact(ctx, remove, names, a.s.putChange(c)))
}

func (a *accounts) ChangePassword(ctx context.Context, v account.Versioned[account.Account], s account.Session, c registry.Change) error {
	write, err := a.putRevision(a.accountRef(v.Value.Username), v.Value, v.Revision)
	if err != nil {
		return err
	}
	at := a.sessionRef(s.Hash)
	move := update(at.table, key(at.pk, at.sk), "SET epoch = :new", "epoch = :old",
		item{":new": str(v.Value.Epoch), ":old": str(s.Epoch)})
	return stale(a.s.transact(ctx, write, move, a.s.putChange(c)))
}

func (a *accounts) OpenSession(ctx context.Context, s account.Session, v account.Versioned[account.Account], rehashed bool) error {
	at := a.sessionRef(s.Hash)
	it := newItem(at.pk, at.sk)
	it["username"], it["epoch"] = str(s.Username), str(s.Epoch)
	it["from"], it["until"] = millis(s.CreatedAt), millis(s.ExpiresAt)
	it["ttl"] = sessionTTL(s.ExpiresAt)
	owner := a.accountRef(v.Value.Username)
	guard := check(owner.table, key(owner.pk, owner.sk), "rev = :rev", item{":rev": num(v.Revision)})
	if rehashed {
		var err error
		if guard, err = a.putRevision(owner, v.Value, v.Revision); err != nil {
			return err
		}
	}
	return stale(a.s.transact(ctx, guard, putNew(at.table, it)))
}

func sessionTTL(until time.Time) types.AttributeValue { return num(until.Add(sessionKept).Unix()) }

func (a *accounts) ReadSession(ctx context.Context, hash, guess string) (*account.Session, *account.Account, error) {
	refs := []ref{a.sessionRef(hash)}
	if guess != "" {
		refs = append(refs, a.accountRef(guess))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil || items[0] == nil {
		return nil, nil, err
	}
	it := items[0]
	s := &account.Session{
		Hash: hash, Username: getStr(it, "username"), Epoch: getStr(it, "epoch"),
		CreatedAt: getTime(it, "from"), ExpiresAt: getTime(it, "until"),
	}
	if s.Username != guess {
		if items, err = a.s.batchGet(ctx, refs[0], a.accountRef(s.Username)); err != nil {
			return nil, nil, err
		}
		if items[0] == nil { // logged out meanwhile
			return nil, nil, nil
		}
		s.Epoch, s.ExpiresAt = getStr(items[0], "epoch"), getTime(items[0], "until")
	}
	v, err := decodeRecord[account.Account](items[1])
	if v == nil || err != nil {
		return s, nil, err
	}
	return s, &v.Value, nil
}

func (a *accounts) ExtendSession(ctx context.Context, s account.Session, until, now time.Time) (bool, error) {
	at := a.sessionRef(s.Hash)
	_, err := single(ctx, a.s, a.s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: at.table, Key: key(at.pk, at.sk),
		UpdateExpression:    aws.String("SET #until = :until, #ttl = :ttl"),
		ConditionExpression: aws.String("epoch = :epoch AND #until > :now AND #until < :until"),
		ExpressionAttributeNames: map[string]string{
			"#until": "until", "#ttl": "ttl",
		},
		ExpressionAttributeValues: item{":until": millis(until), ":ttl": sessionTTL(until), ":epoch": str(s.Epoch), ":now": millis(now)},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) { // which is also what the SDK learns that repeats a write whose answer was lost
		return getStr(failed.Item, "epoch") == s.Epoch && getTime(failed.Item, "until").Equal(until), checkVersion(failed.Item)
	}
	if err != nil {
		return false, fmt.Errorf("store: extend session: %w", err)
	}
	return true, nil
}

func (a *accounts) CloseSession(ctx context.Context, hash string) error {
	at := a.sessionRef(hash)
	return a.s.transact(ctx, types.TransactWriteItem{Delete: &types.Delete{TableName: at.table, Key: key(at.pk, at.sk)}})
}

func decodeFailures(it item) account.Failures {
	f := account.Failures{Revision: getNum(it, "rev")}
	for _, text := range getStrs(it, "at") {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.At = append(f.At, time.UnixMilli(ms).UTC())
		}
	}
	return f
}

// WriteFailures is one conditional write. It is marked, so that one which the SDK repeated because its answer was lost does not
// take itself for a rival.
func (a *accounts) WriteFailures(ctx context.Context, failureKey string, f account.Failures) (account.Failures, bool, error) {
	at := a.attemptsRef(failureKey)
	it := newItem(at.pk, at.sk)
	times := make([]string, len(f.At))
	for i, t := range f.At {
		times[i] = strconv.FormatInt(t.UnixMilli(), 10)
	}
	mark := fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
	it["at"], it["rev"], it["mark"] = strs(times), num(f.Revision+1), str(mark)
	it["ttl"] = num(a.s.clock.Now().Add(attemptsKept).Unix())
	in := &dynamodb.PutItemInput{
		TableName: at.table, Item: it,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if f.Revision == 0 {
		in.ConditionExpression = aws.String("attribute_not_exists(pk)")
	} else {
		in.ConditionExpression = aws.String("rev = :rev")
		in.ExpressionAttributeValues = item{":rev": num(f.Revision)}
	}
	_, err := single(ctx, a.s, a.s.db.PutItem, in)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if err := checkVersion(failed.Item); err != nil {
			return f, false, err
		}
		return decodeFailures(failed.Item), getStr(failed.Item, "mark") == mark, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("store: login attempts: %w", err)
	}
	f.Revision++
	return f, true, nil
}
