package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"bailing/shared/contract/contracttest"
)

// served compiles the schemas of client-api v1 from what the hub serves, as an integrator would who downloads them.
type served struct {
	t        testing.TB
	hub      *hub
	compiler *jsonschema.Compiler
}

const clientAPI = "/contracts/client-api/v1/"

func newServed(t testing.TB, h *hub) *served {
	s := &served{t: t, hub: h, compiler: jsonschema.NewCompiler()}
	s.compiler.AssertFormat()
	s.compiler.UseLoader(s)
	return s
}

// Load downloads a document that a schema names by its $id.
func (s *served) Load(url string) (any, error) {
	_, path, ok := strings.Cut(url, clientAPI)
	if !ok {
		return nil, fmt.Errorf("%s is not of the client API", url)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(s.download(path)))
}

func (s *served) download(file string) []byte {
	a := s.hub.do(http.MethodGet, clientAPI+file, "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json; charset=utf-8" || a.header.Get("Cache-Control") != "no-cache" {
		s.t.Fatalf("%s: %d %v", file, a.status, a.header)
	}
	return a.body
}

// validate returns why body does not satisfy the schema in file.
func (s *served) validate(file string, body []byte) error {
	schema, err := s.compiler.Compile("https://hub.invalid" + clientAPI + file)
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// wantValid requires a real answer to satisfy the served schema and the operation of the OpenAPI document.
func (s *served) wantValid(file, method, path string, a answer) {
	s.t.Helper()
	if err := s.validate(file, a.body); err != nil {
		s.t.Errorf("%s %s: %v\n%s", method, path, err, cut(a.body))
	}
	contracttest.Response(s.t, method, path, a.status, a.body)
}

type vector struct {
	ID, Schema string
	Valid      bool
	Value      json.RawMessage
}

func (s *served) vectors() []vector {
	var file struct{ Cases []vector }
	if err := json.Unmarshal(s.download("vectors.json"), &file); err != nil {
		s.t.Fatal(err)
	}
	if len(file.Cases) != 13 { // core §1.8
		s.t.Fatalf("%d vectors, want 13", len(file.Cases))
	}
	return file.Cases
}

func TestVectorsOfTheClientAPI(t *testing.T) {
	t.Parallel()
	s := newServed(t, start(t, "", nil))
	for _, v := range s.vectors() {
		if err := s.validate(v.Schema, v.Value); (err == nil) != v.Valid {
			t.Errorf("%s: valid %v: %v", v.ID, v.Valid, err)
		}
	}
}

// The run requests among the vectors get 202, 400, or 403 for a member that only the route may set.
func TestRunRequestVectorsAreAnswered(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.withModel()
	h.route("refund_review", nil)
	token := h.client("crm", "refund_review")
	s := newServed(t, h)
	statuses := map[string]int{
		"CLIENT-RUN-001": 202, "CLIENT-RUN-002": 202,
		"CLIENT-RUN-INVALID-001": 400, "CLIENT-RUN-INVALID-002": 400, "CLIENT-RUN-INVALID-003": 403,
		"CLIENT-RUN-INVALID-004": 400, "CLIENT-RUN-INVALID-005": 400,
	}
	sent := 0
	for _, v := range s.vectors() {
		if v.Schema != "run-request.schema.json" {
			continue
		}
		sent++
		a := h.post("/run", token, string(v.Value))
		if a.status != statuses[v.ID] {
			t.Errorf("%s: %d, want %d: %s", v.ID, a.status, statuses[v.ID], cut(a.body))
			continue
		}
		schema := "error-response.schema.json"
		if a.status == http.StatusAccepted {
			schema = "submit-response.schema.json"
		}
		s.wantValid(schema, http.MethodPost, "/run", a)
	}
	if sent != len(statuses) {
		t.Errorf("%d run requests, want %d", sent, len(statuses))
	}
}

// Jobs in every state that this version has, and the errors around them, satisfy what the hub publishes.
func TestRealAnswersSatisfyTheServedSchemas(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	s := newServed(t, h)
	a := h.do(http.MethodGet, "/health", "")
	s.wantValid("health-response.schema.json", http.MethodGet, "/health", a)

	h.withModel()
	h.save("targets", object{"name": "parked", "kind": "executor"})
	h.route("chat", nil)
	h.route("park", object{"target": "parked", "target_config": object{}, "session_policy": "fixed", "session_fixed_id": "one"})
	token := h.client("crm", "chat", "park", "missing")
	states := map[string]any{}
	read := func(id any) {
		a := h.get("/jobs/"+id.(string), token)
		s.wantValid("job-response.schema.json", http.MethodGet, "/jobs/{id}", a)
		states[id.(string)] = a.object(t)["status"]
	}
	submit := func(id, route, input string) (job any, status any) {
		a := h.post("/run", token, asJSON(t, object{"request_id": id, "route": route, "input": input}))
		s.wantValid("submit-response.schema.json", http.MethodPost, "/run", a)
		o := a.object(t)
		return o["job_id"], o["status"]
	}
	done, _ := submit("done", "chat", "[[say all good]]")
	failed, _ := submit("failed", "chat", "[[status 400]]")
	for _, id := range []any{done, failed} {
		h.finished(id.(string), token)
		read(id)
	}
	again, status := submit("done", "chat", "[[say all good]]")
	if again != done || status != "done" {
		t.Errorf("a replay: %v %v, want %v done", again, status, done)
	}
	var last any
	for i := range 7 {
		last, status = submit(numbered("park", i), "park", "wait")
		read(last)
	}
	if states[done.(string)] != "done" || states[failed.(string)] != "error" || status != "rejected" || states[last.(string)] != "rejected" {
		t.Errorf("states %v, last submission %v", states, status)
	}
	for _, e := range []struct {
		path string
		got  answer
	}{
		{"/run", h.post("/run", token, `{"request_id":"x","route":"missing","input":"x"}`)},
		{"/run", h.post("/run", token, `{"request_id":"x","route":"foreign","input":"x"}`)},
		{"/run", h.post("/run", strings.Repeat("0", 32), `{}`)},
		{"/run", h.post("/run", token, `{"pad":"`+strings.Repeat("p", 1<<20)+`"}`)},
	} {
		s.wantValid("error-response.schema.json", http.MethodPost, e.path, e.got)
	}
	s.wantValid("error-response.schema.json", http.MethodGet, "/jobs/{id}", h.get("/jobs/11111111-1111-4111-8111-111111111111", token))
}
