package agentsession_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"bailing/shared/agentsession"
	"bailing/shared/apierr"
	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/awslocal/provision"
	"bailing/shared/canonical"
	"bailing/shared/clock"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

const (
	prefix   = "bailing-"
	verifier = "Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"
	// challenge is that of verifier (agent §14).
	challenge = "oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc"
	loopback  = "http://127.0.0.1:49733/callback"
	page      = "https://erp.example.net/agent/authorize?lang=en"
	home      = "203.0.113.7"
	token     = "0123456789abcdef0123456789abcdef"
)

var start = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// world is the service over stand-ins of its own, with the enabled client "depot-agent".
type world struct {
	*agentsession.Service
	t     *testing.T
	env   *awslocaltest.Env
	store *store.Store
	clock *clock.Manual
	log   *lockedBuffer
}

// lockedBuffer collects log lines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var _ io.Writer = (*lockedBuffer)(nil)

// backingOff is a manual clock on which waits, which are the back-off of writes that met, take their real time.
type backingOff struct{ *clock.Manual }

func (backingOff) After(d time.Duration) <-chan time.Time { return time.After(d) }

func open(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(start), log: &lockedBuffer{}}
	w.env = awslocaltest.Start(t, awslocaltest.SharedClock(w.clock))
	if _, err := provision.Create(t.Context(), w.env.Config("test"), topology.System(), prefix); err != nil {
		t.Fatal(err)
	}
	w.store = store.New(store.Options{DB: dynamodb.NewFromConfig(w.env.Config("store")), Prefix: prefix, Clock: backingOff{w.clock}})
	w.Service = w.process()
	w.client(func(*registry.Client) {})
	return w
}

// process is a service that remembers nothing yet.
func (w *world) process() *agentsession.Service {
	return &agentsession.Service{
		Store: w.store.Agents(), Clock: w.clock, NewID: uuid.NewString, Random: rand.Reader,
		Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// client stores "depot-agent", or another one when change gives it another id, anew.
func (w *world) client(change func(*registry.Client)) *registry.Client {
	w.t.Helper()
	c := registry.Client{
		AppID: "depot-agent", Name: "Depot agent", AllowedRoutes: []string{"depot-desk", "yard-ops"}, Enabled: true, AgentAuthorizeURL: page,
		TokenHash: registry.TokenHash(token),
	}
	change(&c)
	if c.AppID != "depot-agent" {
		c.TokenHash = registry.TokenHash(c.AppID)
	}
	stored, err := w.store.Clients().Get(w.t.Context(), c.AppID)
	must(w.t, err)
	v, old := registry.Versioned[registry.Client]{Value: c}, ""
	if stored != nil {
		v.Revision, old = stored.Revision, stored.Value.TokenHash
	}
	must(w.t, w.store.Clients().Put(w.t.Context(), v, old, registry.Change{At: w.clock.Now()}))
	return &c
}

// own is the client as it is now.
func (w *world) own() *registry.Client {
	w.t.Helper()
	v, err := w.store.Clients().Get(w.t.Context(), "depot-agent")
	must(w.t, err)
	return &v.Value
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// parsed is a body; text that is no JSON is an unreadable one.
func parsed(text string) canonical.Value {
	v, err := canonical.Parse([]byte(text), canonical.Limits{})
	if err != nil {
		return canonical.Value{}
	}
	return v
}

// members is a body whose members can be replaced; nil leaves one out.
type members map[string]any

func (m members) with(name string, value any) members {
	out := members{}
	for k, v := range m {
		out[k] = v
	}
	if out[name] = value; value == nil {
		delete(out, name)
	}
	return out
}

func (m members) value(t *testing.T) canonical.Value {
	t.Helper()
	b, err := json.Marshal(m)
	must(t, err)
	return parsed(string(b))
}

var (
	request = members{
		"client_app_id": "depot-agent", "redirect_uri": loopback, "state": "Zt9fQ2-state", "requested_routes": []string{"depot-desk"},
		"device_label": "Yard laptop 3", "code_challenge": challenge, "code_challenge_method": "S256",
	}
	principal = members{"id": "op-15", "tenant": "yard-2", "roles": []string{"clerk"}}
	approval  = members{
		"principal": principal, "on_behalf_of": "yard-2:op-15", "allowed_routes": []string{"depot-desk"}, "subject_display": members{"name": "Yard 2"},
	}
)

// asked is the id of a new request.
func (w *world) asked(m members) string {
	w.t.Helper()
	created, err := w.Create(w.t.Context(), m.value(w.t), uuid.NewString()) // an address of its own: no limit
	must(w.t, err)
	return created.AuthorizationID
}

// approved is the code of a new request that was approved, and its id.
func (w *world) approved(m members) (code, id string) {
	w.t.Helper()
	id = w.asked(request)
	r, err := w.Approve(w.t.Context(), w.own(), id, m.value(w.t))
	must(w.t, err)
	return w.codeOf(r), id
}

func (w *world) codeOf(r agentsession.Redirect) string {
	w.t.Helper()
	u, err := url.Parse(r.RedirectURI)
	must(w.t, err)
	return u.Query().Get("code")
}

func codeGrant(code string) members {
	return members{"grant_type": "authorization_code", "client_app_id": "depot-agent", "code": code, "redirect_uri": loopback, "code_verifier": verifier}
}

func refreshGrant(token string) members {
	return members{"grant_type": "refresh_token", "client_app_id": "depot-agent", "refresh_token": token}
}

// login is the tokens of a new session.
func (w *world) login() agentsession.Tokens {
	w.t.Helper()
	tokens, _ := w.loginAs(approval)
	return tokens
}

func (w *world) loginAs(m members) (tokens agentsession.Tokens, authorizationID string) {
	w.t.Helper()
	code, id := w.approved(m)
	tokens, err := w.Token(w.t.Context(), codeGrant(code).value(w.t))
	must(w.t, err)
	return tokens, id
}

func (w *world) refresh(ctx context.Context, token string) (agentsession.Tokens, error) {
	return w.Token(ctx, refreshGrant(token).value(w.t))
}

// session is the session as it is stored.
func (w *world) session(id string) *agentsession.Session {
	w.t.Helper()
	s, _, err := w.store.Agents().ReadSession(w.t.Context(), id, "")
	must(w.t, err)
	return s
}

func (w *world) authorization(id string) *agentsession.Authorization {
	w.t.Helper()
	a, err := w.store.Agents().ReadAuthorization(w.t.Context(), id)
	must(w.t, err)
	return a
}

// wantCode checks the machine code and the status of an error.
func wantCode(t *testing.T, what string, err error, status int, code string) {
	t.Helper()
	if err == nil || apierr.Of(err).Code.Status() != status || apierr.Of(err).Message != code {
		t.Errorf("%s: %v, want %d %s", what, err, status, code)
	}
}

// works reports whether an access token is admitted.
func (w *world) works(access string) bool {
	w.t.Helper()
	_, _, err := w.Authenticate(w.t.Context(), access)
	if err != nil {
		wantCode(w.t, "authenticate", err, 401, "unauthorized")
	}
	return err == nil
}

func long(n int) string { return strings.Repeat("x", n) }

// remove deletes a record of the agents table.
func (w *world) remove(pk string) {
	w.t.Helper()
	_, err := dynamodb.NewFromConfig(w.env.Config("test")).DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(prefix + topology.TableAgents), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: "record"},
		},
	})
	must(w.t, err)
}
