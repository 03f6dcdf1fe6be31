package store_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/agentsession"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

const (
	authz   = "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"
	session = "6f1c2f5e-8c3b-4c5a-9d7e-0a1b2c3d4e5f"
)

// agentClient plants the client of every request here: the record of its change, which a save would write, is drawn.
func agentClient(s *stand, t *testing.T) {
	t.Helper()
	doc, err := json.Marshal(registry.Client{
		AppID: "depot", Enabled: true, AgentAuthorizeURL: "https://erp.example/", AllowedRoutes: []string{"*"}, TokenHash: "client",
	})
	arranged(t, err)
	for _, pk := range []string{"client#depot", "token#client"} {
		it := map[string]types.AttributeValue{}
		for name, v := range map[string]string{"pk": pk, "sk": "record", "doc": string(doc)} {
			it[name] = &types.AttributeValueMemberS{Value: v}
		}
		_, err := dynamodb.NewFromConfig(s.config).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(prefix + topology.TableRegistry), Item: it})
		arranged(t, err)
	}
}

// requestOf is a request in a state.
func requestOf(status agentsession.Status) *agentsession.Authorization {
	a := &agentsession.Authorization{
		ID: authz, ClientAppID: "depot", RedirectURI: "http://127.0.0.1:1/", State: "state-of", RequestedRoutes: []string{"desk"},
		DeviceLabel: "laptop", Challenge: "challenge", Status: status, CreatedAt: start, ExpiresAt: start.Add(agentsession.AuthorizationLife),
	}
	if status != agentsession.Pending {
		a.Grant = agentsession.Grant{
			Principal: agentsession.Principal{ID: "op", Tenant: "yard", Roles: []string{"clerk"}}, OnBehalfOf: "yard:op", Routes: []string{"desk"}, Display: "Yard",
		}
		a.CodeHash, a.CodeExpiresAt = "code", start.Add(agentsession.CodeLife)
	}
	return a
}

func agentSessionOf() *agentsession.Session {
	g := requestOf(agentsession.Approved).Grant
	return &agentsession.Session{
		ID: session, AuthorizationID: authz, ClientAppID: "depot", DeviceLabel: "laptop", Principal: g.Principal, OnBehalfOf: g.OnBehalfOf,
		AllowedRoutes: g.Routes, Display: g.Display, CreatedAt: start, RefreshExpiresAt: start.Add(agentsession.RefreshLife),
		AccessHash: "access", AccessExpiresAt: start.Add(agentsession.AccessLife),
	}
}

func rotationOf() agentsession.Rotation {
	return agentsession.Rotation{
		SessionID: session, ClientAppID: "depot", Old: "refresh", New: "refresh2", OldAccess: "access", NewAccess: "access2",
		AccessExpiresAt: start.Add(time.Hour), ExpiresAt: start.Add(agentsession.RefreshLife), Now: start,
	}
}

func aRequest(s *stand, t *testing.T) {
	t.Helper()
	agentClient(s, t)
	arranged(t, s.Agents().CreateAuthorization(t.Context(), requestOf(agentsession.Pending)))
}

func anApprovedRequest(s *stand, t *testing.T) {
	t.Helper()
	aRequest(s, t)
	arranged(t, s.Agents().Approve(t.Context(), requestOf(agentsession.Approved), start))
}

func aSession(s *stand, t *testing.T) {
	t.Helper()
	anApprovedRequest(s, t)
	arranged(t, s.Agents().Exchange(t.Context(), requestOf(agentsession.Approved), agentSessionOf(), "refresh", start))
}

func aRotatedSession(s *stand, t *testing.T) {
	t.Helper()
	aSession(s, t)
	arranged(t, s.Agents().Rotate(t.Context(), rotationOf()))
}

// agentWrites are the writes of agents' logins. One whose answer was lost must not look like a rival's: an approval would be a conflict
// with itself, and a rotation would be taken for the reuse of its token, which ends a session (agent §2.8).
func agentWrites() []method {
	var elsewhere *agentsession.Moved
	var exists *store.ConditionFailed
	movedOn := []error{elsewhere}
	return []method{
		{name: "agents: CreateAuthorization", arrange: agentClient, again: []error{exists}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().CreateAuthorization(ctx, requestOf(agentsession.Pending))
		}},
		{name: "agents: WriteBucket", arrange: nothing, act: func(ctx context.Context, s *stand) (any, error) {
			next, _, _ := ratelimit.Bucket{}.Take(start, ratelimit.Policy{Count: 10, Window: time.Minute})
			_, won, err := s.Agents().WriteBucket(ctx, limit.Row{Key: "k", Bucket: next})
			return won, err
		}},
		{name: "agents: Approve", arrange: aRequest, again: movedOn, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().Approve(ctx, requestOf(agentsession.Approved), start)
		}},
		{name: "agents: End, denied", arrange: aRequest, again: movedOn, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().End(ctx, authz, agentsession.Denied, start)
		}},
		{name: "agents: End, expired", arrange: aRequest, again: movedOn, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().End(ctx, authz, agentsession.Expired, start.Add(agentsession.AuthorizationLife))
		}},
		{name: "agents: End, revoked", arrange: anApprovedRequest, again: movedOn, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().End(ctx, authz, agentsession.Revoked, start)
		}},
		{name: "agents: Exchange", arrange: anApprovedRequest, again: movedOn, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().Exchange(ctx, requestOf(agentsession.Approved), agentSessionOf(), "refresh", start)
		}},
		{name: "agents: Rotate", arrange: aSession, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().Rotate(ctx, rotationOf())
		}},
		{name: "agents: Reuse", arrange: aRotatedSession, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().Reuse(ctx, "refresh", session, start)
		}},
		{name: "agents: Touch", arrange: aSession, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Agents().Touch(ctx, session, "access", start, start)
		}},
		{name: "agents: Revoke", arrange: aSession, act: func(ctx context.Context, s *stand) (any, error) {
			return s.Agents().Revoke(ctx, session, agentsession.Match{ClientAppID: "depot"}, start)
		}},
		{name: "agents: SetDisplay", arrange: aSession, act: func(ctx context.Context, s *stand) (any, error) {
			v, active, err := s.Agents().SetDisplay(ctx, session, "depot", "Bay", start)
			return []any{v, active}, err
		}},
		{name: "agents: SetDisplay, none", arrange: aSession, act: func(ctx context.Context, s *stand) (any, error) {
			v, active, err := s.Agents().SetDisplay(ctx, session, "depot", "", start)
			return []any{v, active}, err
		}},
	}
}

// agentReaders are the reads of agents' logins.
func agentReaders() []method {
	all := func(a any, b any, err error) (any, error) { return []any{a, b}, err }
	list := []method{
		{name: "agents: ReadCreate", act: func(ctx context.Context, s *stand) (any, error) { return all(s.Agents().ReadCreate(ctx, "depot", "k")) }},
		{name: "agents: ReadAuthorization", act: func(ctx context.Context, s *stand) (any, error) { return s.Agents().ReadAuthorization(ctx, authz) }},
		{name: "agents: ReadCode", act: func(ctx context.Context, s *stand) (any, error) {
			return all(s.Agents().ReadCode(ctx, "depot", "code"))
		}},
		{name: "agents: ReadRefresh, cold", act: func(ctx context.Context, s *stand) (any, error) {
			return s.Agents().ReadRefresh(ctx, "depot", "refresh", "")
		}},
		{name: "agents: ReadRefresh, warm", act: func(ctx context.Context, s *stand) (any, error) {
			return s.Agents().ReadRefresh(ctx, "depot", "refresh", session)
		}},
		{name: "agents: ReadRefreshToken", act: func(ctx context.Context, s *stand) (any, error) { return s.Agents().ReadRefreshToken(ctx, "refresh") }},
		{name: "agents: ReadAccess", act: func(ctx context.Context, s *stand) (any, error) { return s.Agents().ReadAccess(ctx, "access2") }},
		{name: "agents: ReadSession", act: func(ctx context.Context, s *stand) (any, error) {
			return all(s.Agents().ReadSession(ctx, session, "depot"))
		}},
		{name: "agents: Token", act: func(ctx context.Context, s *stand) (any, error) { return s.Agents().Token(ctx, "client") }},
		{name: "agents: ListSessions", act: func(ctx context.Context, s *stand) (any, error) {
			list, at, more, err := s.Agents().ListSessions(ctx, agentsession.Filter{ClientAppID: "depot"}, agentsession.Position{}, 10)
			return []any{list, at, more}, err
		}},
	}
	for i := range list {
		list[i].arrange, list[i].reads = aRotatedSession, true
	}
	return list
}
