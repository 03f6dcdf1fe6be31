package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/agentsession"
	"bailing/shared/limit"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

// agents is the rows of local agents' logins in the agents table. No token or code is in it, only SHA-256 of them:
//
//	authz#<id>         / record   the request, its stat (status), and what was approved
//	code#<sha256>      / record   aid: the request that the code belongs to
//	session#<id>       / record   the session; acc is the hash of the access token that works
//	access#<sha256>    / record   sid, app: whose the access token is; goes when the token is replaced
//	refresh#<sha256>   / record   sid, stat; stays after its use, because reuse is told by it
//	sessions#<list>    / <created>#<id>   one per list that the session is in; see agentLists
//	limit#<name>       / limit    the limits of Create
//
// Each kind of key is unique by a conditional put. A session has more refresh tokens than a transaction can write, so what revokes them
// together is a member of the session (see agentsession.RefreshToken.StateIn), and every use of a token is conditional on it. Items
// expire by ttl long after they mean anything.
type agents struct{ s *Store }

var _ agentsession.Store = (*agents)(nil)

// Agents is the authorizations and sessions of local agents.
func (s *Store) Agents() agentsession.Store { return &agents{s} }

// How long rows outlive their meaning: a business may ask what became of a request, and looks at sessions that ended.
const (
	authorizationKept = 7 * 24 * time.Hour
	agentSessionKept  = 90 * 24 * time.Hour
)

func (a *agents) table() *string { return aws.String(a.s.prefix + topology.TableAgents) }

func (a *agents) ref(kind, name string) ref {
	return ref{table: a.table(), pk: kind + "#" + name, sk: recordSK}
}

func (a *agents) authzRef(id string) ref     { return a.ref("authz", id) }
func (a *agents) codeRef(hash string) ref    { return a.ref("code", hash) }
func (a *agents) sessionRef(id string) ref   { return a.ref("session", id) }
func (a *agents) accessRef(hash string) ref  { return a.ref("access", hash) }
func (a *agents) refreshRef(hash string) ref { return a.ref("refresh", hash) }
func (a *agents) limitRef(name string) ref {
	return ref{table: a.table(), pk: "limit#" + name, sk: "limit"}
}

// item starts an item that expires some time after kept.
func (r ref) item(expires time.Time) item {
	it := newItem(r.pk, r.sk)
	it["ttl"] = num(expires.Unix())
	return it
}

// at is the key of r, for an update.
func (r ref) at() item { return key(r.pk, r.sk) }

// setTexts puts the values that are not empty into it.
func setTexts(it item, values map[string]string) {
	for name, v := range values {
		if v != "" {
			it[name] = str(v)
		}
	}
}

// decodeClient reads a client's record, nil when there is none.
func (s *Store) decodeClient(ctx context.Context, it item) (*registry.Client, error) {
	if err := s.resolveDocs(ctx, it); err != nil {
		return nil, err
	}
	v, err := decodeRecord[registry.Client](it)
	if v == nil || err != nil {
		return nil, err
	}
	return &v.Value, nil
}

// Token reads what a business's token authenticates.
func (a *agents) Token(ctx context.Context, hash string) (*registry.Token, error) {
	return a.s.Token(ctx, hash)
}

// WriteBucket writes a bucket of Create; see [Store.WriteBucket].
func (a *agents) WriteBucket(ctx context.Context, row limit.Row) (limit.Row, bool, error) {
	return a.s.writeBucket(ctx, a.limitRef(row.Key), row)
}

func (a *agents) ReadCreate(ctx context.Context, appID, name string) (*registry.Client, limit.Row, error) {
	items, err := a.s.batchGet(ctx, a.s.recordRef(kindClient, appID), a.limitRef(name))
	if err != nil {
		return nil, limit.Row{}, err
	}
	client, err := a.s.decodeClient(ctx, items[0])
	if err != nil {
		return nil, limit.Row{}, err
	}
	row, err := decodeLimit(name, items[1])
	return client, row, err
}

func (a *agents) CreateAuthorization(ctx context.Context, v *agentsession.Authorization) error {
	it := a.authzRef(v.ID).item(v.CreatedAt.Add(authorizationKept))
	setTexts(it, map[string]string{
		"app": v.ClientAppID, "redirect": v.RedirectURI, "echo": v.State, "device": v.DeviceLabel, "challenge": v.Challenge,
		"stat": string(v.Status),
	})
	it["asked"], it["created"], it["exp"] = strs(v.RequestedRoutes), millis(v.CreatedAt), millis(v.ExpiresAt)
	return a.s.transact(ctx, putNew(a.table(), it))
}

// grantDoc is the stored form of a principal.
func grantDoc(p agentsession.Principal) (types.AttributeValue, error) {
	b, err := plainjson.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("store: principal: %w", err)
	}
	return str(string(b)), nil
}

func decodeAuthorization(it item) (*agentsession.Authorization, error) {
	if it == nil {
		return nil, nil
	}
	v := &agentsession.Authorization{
		ID: idOf(it), ClientAppID: getStr(it, "app"), RedirectURI: getStr(it, "redirect"), State: getStr(it, "echo"),
		RequestedRoutes: getStrs(it, "asked"), DeviceLabel: getStr(it, "device"), Challenge: getStr(it, "challenge"),
		Status: agentsession.Status(getStr(it, "stat")), CreatedAt: getTime(it, "created"), ExpiresAt: getTime(it, "exp"),
		CodeHash: getStr(it, "code"), CodeExpiresAt: getTime(it, "code_exp"), SessionID: getStr(it, "sid"),
	}
	principal, err := decodePrincipal(it)
	v.Grant = agentsession.Grant{Principal: principal, OnBehalfOf: getStr(it, "behalf"), Routes: getStrs(it, "granted"), Display: getStr(it, "display")}
	return v, err
}

func (a *agents) ReadAuthorization(ctx context.Context, id string) (*agentsession.Authorization, error) {
	items, err := a.s.batchGet(ctx, a.authzRef(id))
	if err != nil {
		return nil, err
	}
	return decodeAuthorization(items[0])
}

// moved turns a failed condition on a request into what the request is now.
func moved(err error, action int) error {
	var failed *ConditionFailed
	if !errors.As(err, &failed) || !failed.Failed[action] {
		return err
	}
	now, derr := decodeAuthorization(failed.Items[action])
	if derr != nil {
		return derr
	}
	return &agentsession.Moved{Now: now}
}

// Approve writes the code's row with the request, so that a code is found only by what was approved.
func (a *agents) Approve(ctx context.Context, v *agentsession.Authorization, now time.Time) error {
	principal, err := grantDoc(v.Grant.Principal)
	if err != nil {
		return err
	}
	code := a.codeRef(v.CodeHash).item(v.CodeExpiresAt.Add(authorizationKept))
	code["aid"] = str(v.ID)
	expr := "SET stat = :approved, principal = :principal, behalf = :behalf, granted = :granted, code = :code, code_exp = :code_exp"
	values := item{
		":approved": str(string(agentsession.Approved)), ":pending": str(string(agentsession.Pending)), ":now": millis(now), ":principal": principal,
		":behalf": str(v.Grant.OnBehalfOf), ":granted": strs(v.Grant.Routes), ":code": str(v.CodeHash), ":code_exp": millis(v.CodeExpiresAt),
	}
	if v.Grant.Display != "" {
		expr += ", display = :display"
		values[":display"] = str(v.Grant.Display)
	}
	return moved(a.s.transact(ctx, update(a.table(), a.authzRef(v.ID).at(), expr, "stat = :pending AND exp > :now", values), putNew(a.table(), code)), 0)
}

// End is one conditional write; the transaction makes a repeated request for it harmless.
func (a *agents) End(ctx context.Context, id string, to agentsession.Status, now time.Time) error {
	values := item{":to": str(string(to)), ":pending": str(string(agentsession.Pending))}
	expr, condition := "SET stat = :to", ""
	switch to {
	case agentsession.Denied:
		condition, values[":now"] = "stat = :pending AND exp > :now", millis(now)
	case agentsession.Expired:
		condition, values[":now"] = "stat = :pending AND exp <= :now", millis(now)
	case agentsession.Revoked:
		expr += " REMOVE code, code_exp"
		condition, values[":approved"] = "stat IN (:pending, :approved)", str(string(agentsession.Approved))
	default:
		return fmt.Errorf("store: an authorization does not end %s", to)
	}
	return moved(a.s.transact(ctx, update(a.table(), a.authzRef(id).at(), expr, condition, values)), 0)
}

func (a *agents) ReadCode(ctx context.Context, appID, codeHash string) (*registry.Client, *agentsession.Authorization, error) {
	refs := []ref{a.s.recordRef(kindClient, appID)}
	if codeHash != "" {
		refs = append(refs, a.codeRef(codeHash))
	}
	items, err := a.s.batchGet(ctx, refs...)
	if err != nil {
		return nil, nil, err
	}
	client, err := a.s.decodeClient(ctx, items[0])
	if err != nil || codeHash == "" || items[1] == nil {
		return client, nil, err
	}
	v, err := a.ReadAuthorization(ctx, getStr(items[1], "aid"))
	return client, v, err
}

// Exchange writes the request first: a revocation of it and another use of the code are conditional on the same row.
func (a *agents) Exchange(
	ctx context.Context, v *agentsession.Authorization, session *agentsession.Session, refreshHash string, now time.Time,
) error {
	expires := session.RefreshExpiresAt.Add(agentSessionKept)
	row, err := a.sessionItem(session, expires)
	if err != nil {
		return err
	}
	actions := []types.TransactWriteItem{
		update(a.table(), a.authzRef(v.ID).at(), "SET stat = :consumed, sid = :sid, #ttl = :ttl",
			"stat = :approved AND code = :code AND code_exp > :now", item{
				":consumed": str(string(agentsession.Consumed)), ":approved": str(string(agentsession.Approved)), ":sid": str(session.ID),
				":ttl": num(expires.Unix()), ":code": str(v.CodeHash), ":now": millis(now),
			}),
		putNew(a.table(), row),
		putNew(a.table(), a.accessItem(session.AccessHash, session.ID, session.ClientAppID, session.RefreshExpiresAt)),
		putNew(a.table(), a.refreshItem(refreshHash, session.ID, session.RefreshExpiresAt)),
	}
	actions[0].Update.ExpressionAttributeNames = map[string]string{"#ttl": "ttl"}
	for _, list := range agentLists(session) {
		entry := ref{table: a.table(), pk: list, sk: listKey(position(session))}.item(expires)
		entry["sid"] = str(session.ID)
		actions = append(actions, putNew(a.table(), entry))
	}
	return moved(a.s.transact(ctx, actions...), 0)
}
