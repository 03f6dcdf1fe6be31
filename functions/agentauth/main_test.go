package agentauth_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/agentauth"
	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
	"bailing/shared/lambdahttp/routetree"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

const (
	prefix       = "/agent-auth/v1/"
	app          = "depot-agent"
	authorizeURL = "https://erp.example.net/agent/authorize?lang=en"

	// verifier and challenge are the vector of agent §14.
	verifier  = "Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"
	challenge = "oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc"
	callback  = "http://127.0.0.1:49733/callback"
	state     = "Zt9fQ2-state"

	unknownID = "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"
)

// depot is the client that the tests log agents in for.
func depot() registry.Client {
	return registry.Client{
		AppID: app, Name: "Depot agent", AllowedRoutes: []string{"depot-desk", "yard-ops"}, Enabled: true, AgentAuthorizeURL: authorizeURL,
	}
}

// api is the function as API Gateway invokes it, in a hub with the clients depot-agent and other-agent.
type api struct {
	*jobtest.World
	t       *testing.T
	handler lambda.Handler
	routes  routetree.Tree[topology.Route]
	token   string           // of depot-agent
	other   string           // of other-agent
	told    *strings.Builder // the bodies of all answers
	asked   int

	undescribed bool // answers are not compared with the OpenAPI document: a test that makes many different ones
}

func open(t *testing.T, options ...jobtest.Option) *api {
	t.Helper()
	a := &api{World: jobtest.New(t, options...), t: t, told: &strings.Builder{}}
	a.token = a.SaveClient(depot())
	a.other = a.SaveClient(registry.Client{AppID: "other-agent", AllowedRoutes: []string{"*"}, Enabled: true, AgentAuthorizeURL: "https://other.example/in"})
	var err error
	if a.handler, err = agentauth.New(a.Platform); err != nil {
		t.Fatal(err)
	}
	f, _ := topology.System().FunctionNamed("agentauth")
	for _, r := range f.Routes {
		if err := a.routes.Add(r.Method, r.Path, r); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// saveDepot stores depot-agent anew, changed by f, with the token that it has.
func (a *api) saveDepot(f func(*registry.Client)) {
	a.t.Helper()
	c := depot()
	f(&c)
	a.SaveClientWith(c, a.token)
}

// answer is a response with its body decoded from transport.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// request is one request. The gateway saw it come from 192.0.2.7, unless source says otherwise.
type request struct {
	method, path string
	auth         []string // values of the header Authorization
	query        url.Values
	header       map[string][]string
	body         string
	source       string
}

// described are the answers that were compared with the OpenAPI document already.
var described sync.Map

func (a *api) invoke(payload []byte) answer {
	a.t.Helper()
	out, err := a.handler.Invoke(a.t.Context(), payload)
	if err != nil {
		a.t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		a.t.Fatal(err)
	}
	if r.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			a.t.Fatal(err)
		}
		r.Body = string(b)
	}
	h := http.Header{}
	for name, values := range r.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return answer{r.StatusCode, h, r.Body}
}

// send answers as the function does, and checks what holds for every answer: its headers, and that the OpenAPI document lists it.
func (a *api) send(r request) answer {
	a.t.Helper()
	source := r.source
	if source == "" {
		source = "192.0.2.7"
	}
	e := events.APIGatewayProxyRequest{
		Path: r.path, HTTPMethod: r.method, IsBase64Encoded: true, Body: base64.StdEncoding.EncodeToString([]byte(r.body)),
		MultiValueHeaders: map[string][]string{"Content-Type": {"text/plain"}}, MultiValueQueryStringParameters: r.query,
		RequestContext: events.APIGatewayProxyRequestContext{
			RequestID: "req-1", DomainName: "hub.example", Stage: "v1", Identity: events.APIGatewayRequestIdentity{SourceIP: source},
		},
	}
	match, known := a.routes.Match(r.method, r.path)
	e.Resource, e.PathParameters = match.Resource, match.Params
	for name, values := range r.header {
		e.MultiValueHeaders[name] = values
	}
	if r.auth != nil {
		e.MultiValueHeaders["Authorization"] = r.auth
	}
	payload, err := json.Marshal(e)
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.invoke(payload)
	a.told.WriteString(got.Body + "\n")
	if known && !a.undescribed && match.Value.Method != topology.Any && (got.Status != 405 || got.Body != `{"error":"method_not_allowed"}`) {
		key := fmt.Sprint(r.method, " ", match.Resource, " ", got.Status, " ", got.Body)
		if _, seen := described.LoadOrStore(key, true); !seen {
			contracttest.Response(a.t, r.method, match.Resource, got.Status, []byte(got.Body))
		}
	}
	if ct, cc := got.Header.Get("Content-Type"), got.Header.Get("Cache-Control"); ct != "application/json; charset=utf-8" || cc != "no-store" {
		a.t.Errorf("%s %s: content type %q, cache control %q", r.method, r.path, ct, cc)
	}
	if pragma := got.Header.Get("Pragma"); (r.path == prefix+"token") != (pragma == "no-cache") {
		a.t.Errorf("%s %s: pragma %q (agent §1.1)", r.method, r.path, pragma)
	}
	for name := range got.Header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
			a.t.Errorf("%s %s: header %s (agent §1.1)", r.method, r.path, name)
		}
	}
	return got
}

func bearer(token string) []string { return []string{"Bearer " + token} }

// business sends a request with the token of depot-agent.
func (a *api) business(method, path, body string) answer {
	a.t.Helper()
	return a.send(request{method: method, path: prefix + path, auth: bearer(a.token), body: body})
}

// agent sends a request with an access token, or without one.
func (a *api) agent(method, path, token, body string) answer {
	a.t.Helper()
	r := request{method: method, path: prefix + path, body: body}
	if token != "" {
		r.auth = bearer(token)
	}
	return a.send(r)
}

// with is a JSON object with members replaced, added, or, for nil, taken out.
func with(t *testing.T, object string, members map[string]any) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	for name, v := range members {
		if v == nil {
			delete(o, name)
		} else {
			o[name] = v
		}
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wish is the request of trace A1.
const wish = `{"client_app_id":"` + app + `","redirect_uri":"` + callback + `","state":"` + state + `","requested_routes":["depot-desk"],` +
	`"device_label":"Yard laptop 3","code_challenge":"` + challenge + `","code_challenge_method":"S256"}`

// approval is the request of trace A2.
const approval = `{"principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},"on_behalf_of":"yard-2:op-15",` +
	`"allowed_routes":["depot-desk"],"subject_display":{"name":"Yard 2"}}`

// ask creates an authorization and returns its id. Each comes from an address of its own, so that none meets the limit.
func (a *api) ask(members map[string]any) string {
	a.t.Helper()
	a.asked++
	got := a.send(request{method: "POST", path: prefix + "authorizations", body: with(a.t, wish, members), source: "198.51.100." + strconv.Itoa(a.asked)})
	var created struct {
		ID string `json:"authorization_id"`
	}
	got.into(a.t, &created)
	if got.Status != 201 || created.ID == "" {
		a.t.Fatalf("%d %s", got.Status, got.Body)
	}
	return created.ID
}

// approve lets the agent of an authorization in and returns its code.
func (a *api) approve(id string, members map[string]any) string {
	a.t.Helper()
	got := a.business("POST", "authorizations/"+id+"/approve", with(a.t, approval, members))
	return a.redirected(got).Get("code")
}

// redirected is the query of the address that a decision answers with.
func (a *api) redirected(got answer) url.Values {
	a.t.Helper()
	var body struct {
		RedirectURI string `json:"redirect_uri"`
	}
	got.into(a.t, &body)
	u, err := url.Parse(body.RedirectURI)
	if err != nil || got.Status != 200 {
		a.t.Fatalf("%d %s: %v", got.Status, got.Body, err)
	}
	return u.Query()
}

// tokens is the answer of the token endpoint.
type tokens struct {
	TokenType        string          `json:"token_type"`
	Access           string          `json:"access_token"`
	ExpiresIn        int             `json:"expires_in"`
	Refresh          string          `json:"refresh_token"`
	RefreshExpiresIn int             `json:"refresh_expires_in"`
	SessionID        string          `json:"session_id"`
	ClientAppID      string          `json:"client_app_id"`
	Display          json.RawMessage `json:"subject_display"`
	DisplayStatus    string          `json:"subject_display_status"`
}

func exchangeBody(code string) string {
	return `{"grant_type":"authorization_code","client_app_id":"` + app + `","code":"` + code + `","redirect_uri":"` + callback + `","code_verifier":"` + verifier + `"}`
}

func refreshBody(token string) string {
	return `{"grant_type":"refresh_token","client_app_id":"` + app + `","refresh_token":"` + token + `"}`
}

func (a *api) tokensOf(got answer) tokens {
	a.t.Helper()
	var out tokens
	got.into(a.t, &out)
	if got.Status != 200 {
		a.t.Fatalf("%d %s", got.Status, got.Body)
	}
	return out
}

func (a *api) exchange(code string) answer {
	a.t.Helper()
	return a.agent("POST", "token", "", exchangeBody(code))
}

func (a *api) refresh(token string) answer {
	a.t.Helper()
	return a.agent("POST", "token", "", refreshBody(token))
}

// login is a whole login: ask, approve, exchange.
func (a *api) login(members map[string]any) (id string, got tokens) {
	a.t.Helper()
	id = a.ask(nil)
	return id, a.tokensOf(a.exchange(a.approve(id, members)))
}

// works reports whether an access token authenticates.
func (a *api) works(token string) bool {
	a.t.Helper()
	got := a.agent("GET", "session", token, "")
	if got.Status != 200 {
		got.want(a.t, 401, `{"error":"unauthorized"}`)
	}
	return got.Status == 200
}

func (r answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if r.Status != status || r.Body != body {
		t.Errorf("%d %s, want %d %s", r.Status, r.Body, status, body)
	}
}

// refused checks an error of the surface: its code alone (agent §1.8).
func (r answer) refused(t *testing.T, rule string, status int, code string) {
	t.Helper()
	if want := `{"error":"` + code + `"}`; r.Status != status || r.Body != want {
		t.Errorf("%s: %d %s, want %d %s", rule, r.Status, r.Body, status, want)
	}
}

func (r answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
