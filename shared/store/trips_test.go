package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/runs"
	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/capability"
	"bailing/shared/clock"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/outbound"
	"bailing/shared/platform"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

// trips is an HTTP client of AWS that counts sequential trips to DynamoDB: requests that are under way together are one
// trip. It holds every request back until nothing else can run, so that what may overlap always does; other services are
// let through uncounted.
type trips struct {
	lines chan *line // to the stand-ins; one is taken for each request

	mu   sync.Mutex
	held []heldCall
}

type heldCall struct {
	action string
	gate   chan struct{}
}

// line is a goroutine outside of the bubble in which requests are held. The stand-ins have goroutines, locks and a clock of
// their own there, whose waits would otherwise look as if nothing could run.
type line struct {
	requests chan *http.Request
	answers  chan *http.Response
}

func newTrips(t *testing.T, server http.Handler) *trips {
	const most = 16 // requests under way together
	c := &trips{lines: make(chan *line, most)}
	for range most {
		l := &line{make(chan *http.Request), make(chan *http.Response)}
		t.Cleanup(func() { close(l.requests) })
		go func() {
			for r := range l.requests {
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r)
				l.answers <- w.Result()
			}
		}()
		c.lines <- l
	}
	return c
}

// Do is aws.HTTPClient.
func (c *trips) Do(r *http.Request) (*http.Response, error) {
	if target := r.Header.Get("X-Amz-Target"); strings.HasPrefix(target, "DynamoDB_") {
		_, action, _ := strings.Cut(target, ".")
		gate := make(chan struct{})
		c.mu.Lock()
		c.held = append(c.held, heldCall{action, gate})
		c.mu.Unlock()
		<-gate
	}
	out := r.Clone(context.Background()) // nothing of the bubble leaves it
	out.Body = http.NoBody
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	out.RequestURI = r.URL.RequestURI()
	l := <-c.lines
	defer func() { c.lines <- l }()
	l.requests <- out
	return <-l.answers, nil
}

// release lets the held requests go and returns their actions, sorted.
func (c *trips) release() (actions []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		actions = append(actions, h.action)
		close(h.gate)
	}
	c.held = nil
	slices.Sort(actions)
	return actions
}

// count runs act and returns its trips.
func (c *trips) count(t *testing.T, act func(t *testing.T)) (trips [][]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			act(t)
		}()
		for {
			synctest.Wait()
			actions := c.release()
			if actions != nil {
				trips = append(trips, actions)
				continue
			}
			select {
			case <-done:
			default:
				t.Error("waits for something that is no request")
				<-done
			}
			return
		}
	})
	return trips
}

const (
	tripToken  = "client-token-0123456789"
	tripServer = "server-token-0123456789"
)

// seed configures a client, a route and a provider with a limited and an unlimited tool.
func seed(t *testing.T, s *stand) {
	t.Helper()
	change := registry.Change{At: start, By: "token", Method: "POST", Path: "test"}
	tool := func(name string, limit *capability.RateLimit) capability.Tool {
		return capability.Tool{
			SchemaVersion: capability.SchemaVersion, Name: name, Source: capability.SourceOpenAPI, Method: "GET", Path: "/" + name,
			Scope: "orders.read", Risk: capability.RiskLow, Readonly: true, RateLimit: limit,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			ParamIn:     map[string]capability.Location{"n": capability.InQuery},
		}
	}
	write := func(name string, limit *capability.RateLimit, risk capability.Risk) capability.Tool {
		w := tool(name, limit)
		w.Method, w.Readonly, w.Risk, w.ParamIn["n"] = "POST", false, risk, capability.InBody
		return w
	}
	limits := &capability.RateLimit{Count: 100, Window: "1m"}
	catalog, err := json.Marshal(capability.Catalog{Tools: []capability.Tool{
		tool("limited", limits), tool("free", nil),
		write("limited_write", limits, capability.RiskLow), write("free_write", nil, capability.RiskLow), write("asking_write", nil, capability.RiskHigh),
		write("asking_limited_write", limits, capability.RiskHigh),
	}})
	if err != nil {
		t.Fatal(err)
	}
	address, err := s.PutValue(t.Context(), catalog)
	if err != nil {
		t.Fatal(err)
	}
	provider := func(name string, perMin int) error {
		return s.Providers().Put(t.Context(), name, registry.Versioned[registry.Provider]{Value: registry.Provider{
			Name: name, BaseURL: "https://biz.example", CatalogHash: address, Secret: "sealed", TimeoutMS: 1000, Enabled: true,
			RateLimitPerMin: perMin,
		}}, change)
	}
	route := func(key, provider string) error {
		return s.Routes().Put(t.Context(), key, registry.Versioned[registry.Route]{Value: registry.Route{
			RouteKey: key, Name: key, Enabled: true, Target: "llm", SessionPolicy: registry.SessionNew, TargetConfig: json.RawMessage(`{}`),
			Tools: &registry.RouteTools{MaxCalls: 5, Sources: []registry.ToolSource{{Provider: provider, Allow: []string{"*"}}}},
		}}, change)
	}
	for _, err := range []error{
		s.Targets().Put(t.Context(), "llm", registry.Versioned[registry.Target]{
			Value: registry.Target{Name: "llm", Kind: registry.InHub, Enabled: true},
		}, change),
		provider("limiting", 100), provider("unlimited", 0), route("limiting", "limiting"), route("unlimited", "unlimited"),
		s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: registry.Client{
			AppID: "shop", TokenHash: registry.TokenHash(tripToken), AllowedRoutes: []string{"*"}, RateLimitPerMin: 100, Enabled: true,
		}}, "", change),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// platform is the ground of a function whose requests to AWS are counted.
func (s *stand) platform(c *trips) *platform.Platform {
	return platform.New("runs", platform.Config{
		Region: awslocaltest.Region, Endpoint: s.Endpoint, AccessKey: caller, SecretKey: "secret", TablePrefix: prefix,
		Bucket: s.backend.Bucket, JobsQueueURL: s.Endpoint + "/000000000000/" + prefix + topology.QueueJobs,
		ServerToken: tripServer, BodyMax: 1 << 20,
	}, platform.Options{Clock: clock.NewManual(start), Output: io.Discard, HTTP: c})
}

// call makes one request to the function and decodes its answer.
func call(t *testing.T, h lambda.Handler, method, path, token, body string, status int) map[string]any {
	t.Helper()
	headers := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
	multi := map[string][]string{}
	for name, v := range headers {
		multi[name] = []string{v}
	}
	event, err := json.Marshal(events.APIGatewayProxyRequest{
		Path: path, HTTPMethod: method, Headers: headers, MultiValueHeaders: multi, Body: body,
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	var answer events.APIGatewayProxyResponse
	var decoded map[string]any
	out, err := h.Invoke(t.Context(), event)
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err == nil {
		err = json.Unmarshal([]byte(answer.Body), &decoded)
	}
	if err != nil || answer.StatusCode != status {
		t.Errorf("%s %s: %v, %d %s", method, path, err, answer.StatusCode, answer.Body)
	}
	return decoded
}

// The trips of architecture §7, one line each.
var (
	read  = []string{"BatchGetItem"}
	write = []string{"TransactWriteItems"}
	// The client's limit is charged while target and thread are read.
	charge1 = []string{"BatchGetItem", "PutItem"}
	// A tool's and its provider's limit are charged together.
	charge2 = []string{"PutItem", "PutItem"}
)

func wantTrips(t *testing.T, what string, got [][]string, want ...[]string) {
	t.Helper()
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s took %d trips %v, want %d %v", what, len(got), got, len(want), want)
	}
}

func TestTripsOfRunsAreThoseOfTheArchitecture(t *testing.T) {
	t.Parallel()
	s := open(t)
	seed(t, s)
	c := newTrips(t, s.Server)
	h, err := runs.New(s.platform(c))
	if err != nil {
		t.Fatal(err)
	}
	var jobID string
	submit := func(token, requestID string) func(*testing.T) {
		return func(t *testing.T) {
			body := `{"request_id":"` + requestID + `","route":"limiting","input":"` + strings.Repeat("large ", 10_000) + `"}`
			jobID, _ = call(t, h, "POST", "/run", token, body, http.StatusAccepted)["job_id"].(string)
		}
	}
	get := func(token string) func(*testing.T) {
		return func(t *testing.T) {
			if got := call(t, h, "GET", "/jobs/"+jobID, token, "", http.StatusOK); got["job_id"] != jobID {
				t.Errorf("job %v, want %s", got["job_id"], jobID)
			}
		}
	}
	wantTrips(t, "POST /run, cold", c.count(t, submit(tripToken, "one")), read, charge1, write)
	wantTrips(t, "GET /jobs/{id}", c.count(t, get(tripToken)), read)
	wantTrips(t, "POST /run, warm", c.count(t, submit(tripToken, "two")), read, charge1, write)
	wantTrips(t, "POST /run, administrator", c.count(t, submit(tripServer, "three")), read, read, write)
	wantTrips(t, "GET /jobs/{id}, administrator", c.count(t, get(tripServer)), read)
}

func TestTripsOfAGovernedCallAreThoseOfTheArchitecture(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		route, tool string
		want        [][]string
		again       [][]string // the same call again, when that differs
	}{
		{"limiting", "limited", [][]string{read, charge2, write, write}, nil},
		{"limiting", "free", [][]string{read, {"PutItem"}, write, write}, nil},
		{"unlimited", "limited", [][]string{read, {"PutItem"}, write, write}, nil},
		{"unlimited", "free", [][]string{read, write, write}, nil},
		// With side effects: read, limits, RESERVE, COMPLETE; again from the journal: read, outcome.
		{"limiting", "limited_write", [][]string{read, charge2, write, write}, [][]string{read, write}},
		{"limiting", "free_write", [][]string{read, {"PutItem"}, write, write}, [][]string{read, write}},
		{"unlimited", "limited_write", [][]string{read, {"PutItem"}, write, write}, [][]string{read, write}},
		{"unlimited", "free_write", [][]string{read, write, write}, [][]string{read, write}},
		// For approval: read, ticket; again: read, outcome with the number.
		{"unlimited", "asking_write", [][]string{read, write}, nil},
	} {
		t.Run(tc.tool+" tool of a provider that is "+tc.route, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			seed(t, s)
			j := jobIn("t", "a")
			j.Snapshot.RouteKey = tc.route
			if err := create(t.Context(), s.Store, j, job.Thread{}); err != nil {
				t.Fatal(err)
			}
			claimed, err := s.ClaimJob(t.Context(), "a", "w", start, start.Add(job.Lease))
			if err != nil {
				t.Fatal(err)
			}
			config, err := s.ReadRun(t.Context(), tc.route, "none")
			if err != nil {
				t.Fatal(err)
			}
			c := newTrips(t, s.Server)
			p := s.platform(c)
			service := &toolcall.Service{Store: p.Store(), HTTP: business{}, Secrets: unsealed{}, Clock: p.Clock, Logger: slog.New(slog.DiscardHandler)}
			set, err := service.Assemble(t.Context(), config.Route, config.Providers)
			if err != nil {
				t.Fatal(err)
			}
			calls := func(what string, round int, args string, want [][]string) {
				got := c.count(t, func(t *testing.T) {
					out, err := service.Invoke(t.Context(), set, toolcall.Call{
						Fence: fenceA, Job: claimed, Round: round, CallID: "c", Tool: tc.tool, Args: args,
					})
					if err != nil || out.State != toolcall.Executed && out.State != toolcall.Awaiting {
						t.Errorf("outcome %+v, %v", out, err)
					}
				})
				wantTrips(t, what, got, want...)
			}
			calls("the call, with new buckets", 1, `{"n":1}`, tc.want)
			calls("the call, with used ones", 2, `{"n":2}`, tc.want)
			if tc.again == nil {
				tc.again = tc.want
			}
			calls("the same call again", 3, `{"n":2}`, tc.again)
		})
	}
}

// business answers every call.
type business struct{}

func (business) Do(context.Context, outbound.Request) (*outbound.Response, error) {
	return &outbound.Response{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{}`)}, nil
}

// unsealed opens every secret.
type unsealed struct{}

func (unsealed) Open(context.Context, string, envelope.Context) ([]byte, error) {
	return []byte("secret"), nil
}

func (unsealed) Seal(context.Context, []byte, envelope.Context) (string, error) { return "sealed", nil }
