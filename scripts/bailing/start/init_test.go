package start

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/bailing/clitest"
)

const id = "145ff952-5b7f-4081-bda4-8f4a2e6ade2b"

// empty is a hub that has nothing, and takes what init saves. Its jobs are done at once.
func empty(t *testing.T) (*clitest.Hub, *clitest.Session) {
	t.Helper()
	h := clitest.Start(t, map[string]string{
		"GET /health": `{"status":"ok","paused":false}`, "GET /admin/api/credentials": "[]", "GET /admin/api/routes": "[]",
		"GET /admin/api/clients": "[]", "GET /admin/api/tool-providers": "[]", "POST /admin/api/credentials": `{"ok":true}`,
		"POST /admin/api/routes": `{"ok":true}`, "POST /admin/api/tool-providers": `{"ok":true}`,
		"POST /admin/api/clients": `{"ok":true,"app_id":"first-client","token":"` + clitest.ServerToken + `"}`,
		"POST /run":               `{"job_id":"` + id + `","status":"queued"}`,
		"GET /jobs/" + id:         `{"job_id":"` + id + `","status":"done","result":{"text":"Hello."}}`,
	})
	s := clitest.New(t, InitCommand())
	return h, s
}

// A newcomer answers every question; an account is used, and what is asked for in secret is not shown.
func TestANewcomerIsAskedForEverything(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	hidden := s.Answer(h.URL, clitest.Username, clitest.Password, "https://models.example/v1/chat/completions", "small", "key-of-the-model", "", "", "", "")
	s.Want(0, "Answer: Hello.", "init")
	if *hidden != 2 {
		t.Errorf("%d answers were hidden", *hidden)
	}
	clitest.Golden(t, "init.txt", strings.ReplaceAll(s.Stdout.String(), h.URL, "http://hub"))
	body := h.Last(t, "POST /admin/api/credentials")
	if body["base_url"] != "https://models.example/v1" || body["api_key"] != "key-of-the-model" || body["expected_revision"] != "" {
		t.Errorf("%v", body)
	}
	if route := h.Last(t, "POST /admin/api/routes"); route["route_key"] != "hello" || route["target"] != "llm" || route["tools"] != nil {
		t.Errorf("%v", route)
	}
	s.Answer("https://models.example/v1", "small", "key", "", "", "", "") // the profile knows the hub and the login
	s.Want(0, "You are ada, with the role admin (profile default).", "init")
}

// A specification is checked before it is saved, and a secret that nobody gave is made and shown once.
func TestANewcomersAPIBecomesTools(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	h.Use(s)
	h.Set("GET /admin/api/credentials", 200, `[{"name":"models","kind":"chat","enabled":true}]`)
	spec := filepath.Join("..", "..", "..", "docs", "examples", "orders.openapi.yaml")
	hidden := s.Answer("", spec, "shop", "", "https://shop.example", "u_42", "", "", "Where is SO-1001?")
	s.Want(0, "The provider shop has 4 tools.", "init")
	if *hidden != 1 {
		t.Errorf("%d answers were hidden", *hidden)
	}
	saved := h.Last(t, "POST /admin/api/tool-providers")
	secret, _ := saved["secret"].(string)
	if len(secret) != 64 || strings.Count(s.Stdout.String(), secret) != 1 || saved["spec_source"] != "inline" || saved["base_url"] != "https://shop.example" {
		t.Errorf("%v\n%s", saved["secret"], &s.Stdout)
	}
	tools, err := json.Marshal(h.Last(t, "POST /admin/api/routes")["tools"])
	const want = `{"sources":[{"allow":["orders.read","orders.note","refunds.write"],"provider":"shop","subject_field":"operator_uid"}]}`
	if err != nil || string(tools) != want {
		t.Errorf("%s %v", tools, err)
	}
	run := h.Last(t, "POST /run")
	if metadata, _ := run["metadata"].(map[string]any); run["input"] != "Where is SO-1001?" || metadata["operator_uid"] != "u_42" {
		t.Errorf("%v", run)
	}
	s.Answer("", filepath.Join("..", "..", "..", "docs", "examples", "broken.openapi.yaml"), "other", "")
	s.Want(1, "errors", "init")
	if got := h.Last(t, "POST /admin/api/tool-providers"); got["name"] != "shop" {
		t.Errorf("a broken specification was saved: %v", got["name"])
	}
}

func TestAServerTokenIsEnoughAndItIsNotKept(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	s.Answer(h.URL, "", clitest.ServerToken, "https://models.example/v1", "small", "key", "", "", "", "")
	s.Want(0, "The server token is accepted.", "init")
	s.Answer(h.URL, "", "", "")
	s.Want(2, "that is no server token", "init")
}

func TestWithYesNothingIsAsked(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	h.Use(s)
	s.Vars["KEY"] = "key-of-the-model"
	const model = "--model-url https://models.example/v1 --model small --model-key-env KEY"
	for _, tc := range []struct{ args, want string }{
		{"", "--model-url is needed with --yes"}, {"--model-url https://models.example/v1", "--model is needed with --yes"},
		{"--model-url https://models.example/v1 --model small", "the endpoint's key is needed"},
		{"--model-url https://models.example/v1 --model small --model-key-env UNSET", "variable of --model-key-env is empty"},
		{model + " --spec x.yaml --provider shop", "--provider-secret-env is needed with --yes"},
		{model + " --spec no-such-file.yaml --provider-secret-env KEY", "no-such-file.yaml"},
		{model + " --route A", "--route"}, {model + " --wait 0s", "--wait is more than 0"},
		{model + " --spec -", "standard input is for answers"}, {model + " x", "init takes no arguments"}, {model + " --url http://127.0.0.1:9", "BAILING_URL is set to another hub"},
	} {
		s.Want(2, tc.want, "init --yes "+tc.args)
	}
	s.Want(0, "", "init --yes --json "+model)
	var out map[string]string
	if err := json.Unmarshal(s.Stdout.Bytes(), &out); err != nil || out["answer"] != "Hello." || out["token"] != clitest.ServerToken || out["credential"] != "model" {
		t.Errorf("%v %s", err, &s.Stdout)
	}
	delete(s.Vars, "BAILING_SERVER_TOKEN")
	s.Want(2, "nobody is logged in, and BAILING_SERVER_TOKEN is not set", "init --yes "+model)
}

func TestWhatIsThereIsUsed(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	h.Use(s)
	h.Set("GET /admin/api/credentials", 200, `[{"name":"off","kind":"chat","enabled":false},{"name":"vectors","kind":"embedding","enabled":true},{"name":"models","kind":"chat","enabled":true}]`)
	h.Set("GET /admin/api/routes", 200, `[{"route_key":"hello","target":"llm","target_config":{"credential":"models"},"revision":"r1"}]`)
	h.Set("GET /admin/api/clients", 200, `[{"app_id":"first-client","allowed_routes":["other"],"allowed_channels":[],"revision":"k1"}]`)
	s.Want(0, "The credential models is there and is used.", "init --yes")
	if body := h.Last(t, "POST /admin/api/clients"); len(body["allowed_routes"].([]any)) != 2 || body["expected_revision"] != "k1" {
		t.Errorf("%v", body)
	}
	h.Set("GET /admin/api/credentials", 200, `[{"name":"one","kind":"chat","enabled":true},{"name":"two","kind":"both","enabled":true}]`)
	s.Want(2, "the hub has one, two", "init --yes")
	s.Answer("two", "", "", "", "")
	s.Want(0, "The credential two is there", "init")
	for _, call := range h.Writes() {
		if call == "POST /admin/api/credentials" || call == "POST /admin/api/routes" {
			t.Errorf("%s, although it was there", call)
		}
	}
}

func TestAJobThatFailsIsNoSuccess(t *testing.T) {
	t.Parallel()
	h, s := empty(t)
	h.Use(s)
	h.Set("GET /admin/api/credentials", 200, `[{"name":"models","kind":"chat","enabled":true}]`)
	h.Set("GET /jobs/"+id, 200, `{"status":"error","error":"the model answered with status 401","result":null}`)
	s.Want(1, "The job failed: the model answered with status 401", "init --yes")
	s.Want(1, `"status": "error"`, "init --yes --json")
	h.Set("POST /run", 400, `{"error":"the route is disabled"}`)
	s.Want(2, "the job was not accepted: the route is disabled", "init --yes")
	h.Set("GET /health", 200, `{"status":"ok","paused":true}`)
	s.Want(2, "'bailing resume' lets it go on", "init --yes")
}

func TestAttachingAddsOnlyWhatLacks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, route, want string
		changed           bool
	}{
		{"no tools", `{}`, `{"tools":{"sources":[{"allow":["a","b"],"provider":"shop","subject_field":"uid"}]}}`, true},
		{"another provider", `{"tools":{"max_calls":3,"sources":[{"provider":"crm","allow":["x"]}]}}`,
			`{"tools":{"max_calls":3,"sources":[{"allow":["x"],"provider":"crm"},{"allow":["a","b"],"provider":"shop","subject_field":"uid"}]}}`, true},
		{"one scope lacks", `{"tools":{"sources":[{"provider":"shop","allow":["a"]}]}}`, `{"tools":{"sources":[{"allow":["a","b"],"provider":"shop"}]}}`, true},
		{"everything is allowed", `{"tools":{"sources":[{"provider":"shop","allow":["*"]}]}}`, `{"tools":{"sources":[{"allow":["*"],"provider":"shop"}]}}`, false},
	} {
		var route map[string]any
		if err := json.Unmarshal([]byte(tc.route), &route); err != nil {
			t.Fatal(err)
		}
		tools := &attached{provider: "shop"}
		tools.found.Scopes = []string{"a", "b"}
		changed := attach(route, tools, "uid")
		if got, err := json.Marshal(route); err != nil || string(got) != tc.want || changed != tc.changed {
			t.Errorf("%s: %s %v %v", tc.rule, got, changed, err)
		}
	}
}
