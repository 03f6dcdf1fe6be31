package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/scripts/demo/scripted"
	"bailing/scripts/local/stack"
	"bailing/shared/clock"
)

const (
	modelKey  = "stub-key"
	modelName = "stub-model"
)

// patience bounds every wait for something that a working hub does at once.
const patience = 30 * time.Second

// queuePatience bounds the wait for a job that stands behind many others, on a machine that does other things, too.
const queuePatience = 5 * time.Minute

// hub is a running hub with a scripted model and no configuration.
type hub struct {
	t     testing.TB
	url   string
	admin string // server token
	// password of the first administrator, admin
	password string
	model    string // base URL of the scripted model, without /v1
	http     *http.Client
}

// onlyModel allows a hub no private address but the scripted model's.
const onlyModel = "{model}"

// start brings up a hub that may reach what egress allows ("" = loopback). modelClock times the model's [[sleep]]; nil is
// the machine's clock.
func start(t testing.TB, egress string, modelClock clock.Clock) *hub {
	t.Helper()
	model := httptest.NewServer(scripted.New(scripted.Options{Key: modelKey, Model: modelName, Clock: modelClock}))
	t.Cleanup(model.Close)
	egress = strings.ReplaceAll(egress, onlyModel, model.Listener.Addr().String())
	s, err := stack.Start(t.Context(), stack.Options{Addr: "127.0.0.1:0", EgressAllow: egress})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return &hub{t: t, url: s.URL, admin: s.ServerToken, password: s.AdminPassword, model: model.URL, http: &http.Client{Transport: transport, Timeout: patience}}
}

// answer is what came back for one request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// object is the body as a JSON object; numbers keep their digits.
func (a answer) object(t testing.TB) map[string]any {
	t.Helper()
	v, err := decode(a.body)
	o, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatalf("status %d, not a JSON object: %v\n%s", a.status, err, cut(a.body))
	}
	return o
}

func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func cut(b []byte) string { return string(b[:min(len(b), 500)]) }

// do sends a request with a body of text and the header names and values in pairs.
func (h *hub) do(method, path, body string, headers ...string) answer {
	h.t.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.roundTrip(req)
}

func (h *hub) roundTrip(req *http.Request) answer {
	h.t.Helper()
	res, err := h.http.Do(req)
	if err != nil {
		h.t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
		return answer{header: http.Header{}}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return answer{res.StatusCode, res.Header, b}
}

func (h *hub) post(path, token, body string) answer {
	h.t.Helper()
	return h.do(http.MethodPost, path, body, "Authorization", "Bearer "+token, "Content-Type", "application/json")
}

func (h *hub) get(path, token string) answer {
	h.t.Helper()
	return h.do(http.MethodGet, path, "", "Authorization", "Bearer "+token)
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type object = map[string]any

// save stores one object of the configuration.
func (h *hub) save(kind string, o object) map[string]any {
	h.t.Helper()
	a := h.post("/admin/api/"+kind, h.admin, asJSON(h.t, o))
	if a.status != http.StatusOK {
		h.t.Fatalf("save %s %v: %d %s", kind, o, a.status, cut(a.body))
	}
	return a.object(h.t)
}

// withModel stores the target llm and the credential "stub" of the scripted model.
func (h *hub) withModel() {
	h.t.Helper()
	h.save("targets", object{"name": "llm", "kind": "inhub", "stateless": true, "timeout_ms": 120_000, "description": "models"})
	h.save("credentials", object{
		"name": "stub", "kind": "chat", "base_url": h.model + "/v1", "api_key": modelKey, "default_model": modelName,
	})
}

// route stores a route of the target llm; more overrides and adds members.
func (h *hub) route(key string, more object) {
	h.t.Helper()
	o := object{"route_key": key, "name": key, "target": "llm", "target_config": object{"credential": "stub"}, "session_policy": "new"}
	for k, v := range more {
		o[k] = v
	}
	h.save("routes", o)
}

// client stores a client without a rate limit and returns its token.
func (h *hub) client(id string, routes ...string) string {
	h.t.Helper()
	saved := h.save("clients", object{"app_id": id, "name": id, "allowed_routes": routes, "rate_limit_per_min": 0})
	return saved["token"].(string)
}

// submit runs a job that must be accepted and returns the answer.
func (h *hub) submit(token string, o object) map[string]any {
	h.t.Helper()
	a := h.post("/run", token, asJSON(h.t, o))
	if a.status != http.StatusAccepted {
		h.t.Fatalf("run %.300v: %d %s", o, a.status, cut(a.body))
	}
	return a.object(h.t)
}

// await reads a job until it is as wanted, and returns its last answer.
func (h *hub) await(id, token string, wanted func(job map[string]any) bool) answer {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(queuePatience)
	for {
		a := h.get("/jobs/"+id, token)
		if a.status != http.StatusOK {
			h.t.Fatalf("job %s: %d %s", id, a.status, cut(a.body))
		}
		if wanted(a.object(h.t)) {
			return a
		}
		if time.Now().After(deadline) {
			h.t.Errorf("job %s is not as wanted: %s", id, cut(a.body))
			return a
		}
		<-tick.C
	}
}

func terminal(job map[string]any) bool {
	switch job["status"] {
	case "done", "error", "rejected":
		return true
	}
	return false
}

// finished waits for the end of a job.
func (h *hub) finished(id, token string) map[string]any {
	h.t.Helper()
	return h.await(id, token, terminal).object(h.t)
}

// audit is the events of a job, oldest first.
func (h *hub) audit(id string) (events []map[string]any) {
	h.t.Helper()
	a := h.get("/admin/api/runs/"+id+"/audit", h.admin)
	if err := json.Unmarshal(a.body, &events); err != nil || a.status != http.StatusOK {
		h.t.Fatalf("audit of %s: %d %v %s", id, a.status, err, cut(a.body))
	}
	return events
}

// wantError requires an error envelope with the contract's headers.
func wantError(t testing.TB, a answer, status int, text string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, cut(a.body))
		return
	}
	wantHeaders(t, a)
	o := a.object(t)
	if s, ok := o["error"].(string); !ok || s == "" || (text != "" && s != text) {
		t.Errorf("error %q, want %q", o["error"], text)
	}
}

// wantHeaders requires the headers of every JSON answer (core §0.1).
func wantHeaders(t testing.TB, a answer) {
	t.Helper()
	for name, want := range map[string]string{"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"} {
		if got := a.header.Get(name); got != want {
			t.Errorf("status %d: %s %q, want %q", a.status, name, got, want)
		}
	}
}

func numbered(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }
