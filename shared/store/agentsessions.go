package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/agentsession"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
)

// idOf is what follows the kind in an item's key.
func idOf(it item) string {
	_, id, _ := strings.Cut(getStr(it, "pk"), "#")
	return id
}

func decodePrincipal(it item) (p agentsession.Principal, err error) {
	if doc := getStr(it, "principal"); doc != "" {
		if err := json.Unmarshal([]byte(doc), &p); err != nil {
			return p, fmt.Errorf("store: %s: principal: %w", getStr(it, "pk"), err)
		}
	}
	return p, nil
}

func (a *agents) sessionItem(v *agentsession.Session, expires time.Time) (item, error) {
	principal, err := grantDoc(v.Principal)
	if err != nil {
		return nil, err
	}
	it := a.sessionRef(v.ID).item(expires)
	setTexts(it, map[string]string{
		"aid": v.AuthorizationID, "app": v.ClientAppID, "device": v.DeviceLabel, "behalf": v.OnBehalfOf, "display": v.Display, "acc": v.AccessHash,
	})
	it["principal"], it["granted"], it["created"] = principal, strs(v.AllowedRoutes), millis(v.CreatedAt)
	it["ref_exp"], it["acc_exp"] = millis(v.RefreshExpiresAt), millis(v.AccessExpiresAt)
	return it, nil
}

func decodeSession(it item) (*agentsession.Session, error) {
	if it == nil {
		return nil, nil
	}
	principal, err := decodePrincipal(it)
	return &agentsession.Session{
		ID: idOf(it), AuthorizationID: getStr(it, "aid"), ClientAppID: getStr(it, "app"), DeviceLabel: getStr(it, "device"), Principal: principal,
		OnBehalfOf: getStr(it, "behalf"), AllowedRoutes: getStrs(it, "granted"), Display: getStr(it, "display"), CreatedAt: getTime(it, "created"),
		RefreshExpiresAt: getTime(it, "ref_exp"), AccessHash: getStr(it, "acc"), AccessExpiresAt: getTime(it, "acc_exp"),
		RevokedAt: getTime(it, "revoked_at"), ReusedAt: getTime(it, "reused_at"), LastSeenAt: getTime(it, "seen_at"),
	}, err
}

func (a *agents) accessItem(hash, sessionID, appID string, expires time.Time) item {
	it := a.accessRef(hash).item(expires.Add(agentSessionKept))
	it["sid"], it["app"] = str(sessionID), str(appID)
	return it
}

func (a *agents) refreshItem(hash, sessionID string, expires time.Time) item {
	it := a.refreshRef(hash).item(expires.Add(agentSessionKept))
	it["sid"], it["stat"], it["exp"] = str(sessionID), str(string(agentsession.TokenActive)), millis(expires)
	return it
}

func decodeRefresh(it item) *agentsession.RefreshToken {
	if it == nil {
		return nil
	}
	return &agentsession.RefreshToken{
		Hash: idOf(it), SessionID: getStr(it, "sid"), State: agentsession.TokenState(getStr(it, "stat")), ExpiresAt: getTime(it, "exp"),
		Successor: getStr(it, "succ"),
	}
}

func (a *agents) ReadRefresh(ctx context.Context, appID, tokenHash, session string) (rows agentsession.RefreshRows, err error) {
	refs := []ref{a.s.recordRef(kindClient, appID)}
	if tokenHash != "" {
		refs = append(refs, a.refreshRef(tokenHash))
	}
	if tokenHash != "" && session != "" {
		refs = append(refs, a.sessionRef(session))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil {
		return rows, err
	}
	if rows.Client, err = a.s.decodeClient(ctx, items[0]); err != nil || tokenHash == "" {
		return rows, err
	}
	if rows.Token = decodeRefresh(items[1]); rows.Token == nil {
		return rows, nil
	}
	if session == rows.Token.SessionID {
		rows.Session, err = decodeSession(items[2])
	} else {
		rows.Session, _, err = a.ReadSession(ctx, rows.Token.SessionID, "")
	}
	return rows, err
}

// Rotate is conditional on the token's state and on the session's, in this order. The used token names its successor, so that a transaction
// which was carried out, and is refused when it is asked for again, is not taken for somebody else's.
func (a *agents) Rotate(ctx context.Context, r agentsession.Rotation) error {
	session := a.sessionRef(r.SessionID)
	used := update(a.table(), a.refreshRef(r.Old).at(), "SET stat = :used, succ = :new", "stat = :active AND sid = :sid", item{
		":used": str(string(agentsession.TokenUsed)), ":active": str(string(agentsession.TokenActive)), ":new": str(r.New), ":sid": str(r.SessionID),
	})
	condition := "attribute_not_exists(revoked_at) AND acc = :old AND ref_exp > :now"
	replaced := update(a.table(), session.at(), "SET acc = :new, acc_exp = :exp", condition, item{
		":new": str(r.NewAccess), ":exp": millis(r.AccessExpiresAt), ":old": str(r.OldAccess), ":now": millis(r.Now),
	})
	err := a.s.transact(ctx, used, replaced, remove(a.accessRef(r.OldAccess), "", nil),
		putNew(a.table(), a.accessItem(r.NewAccess, r.SessionID, r.ClientAppID, r.ExpiresAt)),
		putNew(a.table(), a.refreshItem(r.New, r.SessionID, r.ExpiresAt)))
	var failed *ConditionFailed
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Failed[0] && getStr(failed.Items[0], "succ") == r.New:
		return nil
	case failed.Failed[0] || failed.Failed[1]:
		return agentsession.ErrMoved
	}
	return err
}

// Reuse writes the presented token and the session; what that means for the session's other tokens follows from the session.
func (a *agents) Reuse(ctx context.Context, tokenHash, sessionID string, now time.Time) error {
	return a.s.transact(ctx,
		update(a.table(), a.sessionRef(sessionID).at(), "SET revoked_at = if_not_exists(revoked_at, :now), reused_at = if_not_exists(reused_at, :now)",
			"attribute_exists(pk)", item{":now": millis(now)}),
		update(a.table(), a.refreshRef(tokenHash).at(), "SET stat = :replayed", "sid = :sid",
			item{":replayed": str(string(agentsession.TokenReplayed)), ":sid": str(sessionID)}))
}

func (a *agents) ReadRefreshToken(ctx context.Context, tokenHash string) (*agentsession.RefreshToken, error) {
	items, err := a.s.batchGet(ctx, a.refreshRef(tokenHash))
	if err != nil {
		return nil, err
	}
	return decodeRefresh(items[0]), nil
}

func (a *agents) ReadAccess(ctx context.Context, hash string) (*agentsession.Owner, error) {
	items, err := a.s.batchGet(ctx, a.accessRef(hash))
	if err != nil || items[0] == nil {
		return nil, err
	}
	return &agentsession.Owner{SessionID: getStr(items[0], "sid"), ClientAppID: getStr(items[0], "app")}, nil
}

func (a *agents) ReadSession(ctx context.Context, id, appID string) (*agentsession.Session, *registry.Client, error) {
	refs := []ref{a.sessionRef(id)}
	if appID != "" {
		refs = append(refs, a.s.recordRef(kindClient, appID))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil {
		return nil, nil, err
	}
	session, err := decodeSession(items[0])
	if err != nil || appID == "" {
		return session, nil, err
	}
	client, err := a.s.decodeClient(ctx, items[1])
	return session, client, err
}

// change updates a session by itself. Its condition failing is an answer: the row as it is comes back with ok false, nil when there is
// none. Updates here may be repeated: each says what the row shall be, whatever it was.
func (a *agents) change(ctx context.Context, id, expr, condition string, values item) (now item, ok bool, err error) {
	out, err := single(ctx, a.s, a.s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: a.table(), Key: a.sessionRef(id).at(), UpdateExpression: aws.String(expr), ConditionExpression: aws.String(condition),
		ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed):
		if len(failed.Item) == 0 {
			return nil, false, nil
		}
		return failed.Item, false, checkVersion(failed.Item)
	case err != nil:
		return nil, false, fmt.Errorf("store: agent session: %w", err)
	}
	return out.Attributes, true, checkVersion(out.Attributes)
}

// Touch repeats in its condition what authentication decides about the session.
func (a *agents) Touch(ctx context.Context, id, accessHash string, now, since time.Time) error {
	_, _, err := a.change(ctx, id, "SET seen_at = :now",
		"acc = :acc AND attribute_not_exists(revoked_at) AND acc_exp >= :now AND ref_exp >= :now AND (attribute_not_exists(seen_at) OR seen_at <= :since)",
		item{":now": millis(now), ":acc": str(accessHash), ":since": millis(since)})
	return err
}

func (a *agents) Revoke(ctx context.Context, id string, m agentsession.Match, now time.Time) (bool, error) {
	condition, values := "attribute_exists(pk)", item{":now": millis(now)}
	for name, v := range map[string]string{"app": m.ClientAppID, "acc": m.AccessHash, "aid": m.AuthorizationID} {
		if v != "" {
			condition += " AND " + name + " = :" + name
			values[":"+name] = str(v)
		}
	}
	_, found, err := a.change(ctx, id, "SET revoked_at = if_not_exists(revoked_at, :now)", condition, values)
	return found, err
}

func (a *agents) SetDisplay(ctx context.Context, id, appID, name string, now time.Time) (*agentsession.Session, bool, error) {
	expr, values := "REMOVE display", item{":app": str(appID), ":now": millis(now)}
	if name != "" {
		expr, values[":name"] = "SET display = :name", str(name)
	}
	it, ok, err := a.change(ctx, id, expr, "app = :app AND attribute_not_exists(revoked_at) AND ref_exp > :now", values)
	if err != nil || it == nil || getStr(it, "app") != appID {
		return nil, false, err
	}
	session, err := decodeSession(it)
	return session, ok, err
}

// Lists of a client's sessions: all of them, and those of one value of what a business looks for most.
const agentListPrefix = "sessions#"

// agentLists are the lists that a session is in.
func agentLists(v *agentsession.Session) []string {
	return []string{
		agentListPrefix + v.ClientAppID,
		narrowList(v.ClientAppID, "behalf", v.OnBehalfOf),
		narrowList(v.ClientAppID, "tenant", v.Principal.Tenant),
		narrowList(v.ClientAppID, "principal", v.Principal.Tenant, v.Principal.ID),
	}
}

// narrowList names the list of one value: by its hash, for it may be longer than a key.
func narrowList(appID, by string, values ...string) string {
	b, err := plainjson.Marshal(values)
	if err != nil {
		b = nil // strings always have a JSON form
	}
	sum := sha256.Sum256(b)
	return agentListPrefix + appID + "#" + by + "#" + hex.EncodeToString(sum[:])
}

// listFor is the shortest list that holds every session of the filter.
func listFor(f agentsession.Filter) string {
	switch {
	case f.OnBehalfOf != nil:
		return narrowList(f.ClientAppID, "behalf", *f.OnBehalfOf)
	case f.PrincipalID != nil && f.Tenant != nil:
		return narrowList(f.ClientAppID, "principal", *f.Tenant, *f.PrincipalID)
	case f.Tenant != nil:
		return narrowList(f.ClientAppID, "tenant", *f.Tenant)
	}
	return agentListPrefix + f.ClientAppID
}

func position(v *agentsession.Session) agentsession.Position {
	return agentsession.Position{CreatedAt: v.CreatedAt, SessionID: v.ID}
}

// listKey sorts as positions do, backwards.
func listKey(p agentsession.Position) string {
	return fmt.Sprintf("%015d#%s", p.CreatedAt.UnixMilli(), p.SessionID)
}

func positionOf(sk string) agentsession.Position {
	at, id, _ := strings.Cut(sk, "#")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return agentsession.Position{}
	}
	return agentsession.Position{CreatedAt: time.UnixMilli(ms).UTC(), SessionID: id}
}

// ListSessions asks the list which sessions there are, and reads them strongly. A session of the list that is gone is left out; the
// caller judges what else the filter asks for.
func (a *agents) ListSessions(
	ctx context.Context, f agentsession.Filter, after agentsession.Position, n int,
) (list []*agentsession.Session, examined agentsession.Position, more bool, err error) {
	in := &dynamodb.QueryInput{
		TableName: a.table(), ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(n)),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": str(listFor(f))},
	}
	if after.SessionID != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND sk < :after")
		in.ExpressionAttributeValues[":after"] = str(listKey(after))
	}
	page, err := a.s.db.Query(ctx, in)
	if err != nil {
		return nil, after, false, fmt.Errorf("store: agent sessions: %w", err)
	}
	examined = after
	var refs []ref
	for _, it := range page.Items {
		if err := checkVersion(it); err != nil {
			return nil, after, false, err
		}
		examined = positionOf(getStr(it, "sk"))
		refs = append(refs, a.sessionRef(getStr(it, "sid")))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil {
		return nil, after, false, err
	}
	for _, it := range items {
		v, err := decodeSession(it)
		if err != nil {
			return nil, after, false, err
		}
		if v != nil {
			list = append(list, v)
		}
	}
	return list, examined, len(page.LastEvaluatedKey) > 0, nil
}
