package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/clitest"
	"bailing/shared/outbound"
)

// What export writes makes another hub the same: after everything of the demo is deleted, apply brings it back, and jobs run.
func TestAnExportedDemoIsReproducedExactly(t *testing.T) {
	t.Parallel()
	_, s := hub(t, true)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.yaml"), filepath.Join(dir, "second.yaml")
	// The key of the demo's model is nobody's to know: another model takes its place.
	s.Vars["CREDENTIAL_DEMO_API_KEY"] = modelKey
	own := filepath.Join(dir, "own.yaml")
	write(t, own, "version: 1\ncredentials:\n  - {name: demo, base_url: "+model(t)+", default_model: "+modelName+", api_key: {env: CREDENTIAL_DEMO_API_KEY}}\n")
	s.Want(0, "1 changed, 0 the same", "apply -f "+own)

	s.Want(0, "", "export -o "+first)
	s.Want(0, "5 the same", "apply -f "+first)
	s.Want(0, "", "provider secret demo-business")
	secret := strings.TrimSpace(s.Stdout.String())
	s.Want(2, "change or delete them first: order_assistant", "provider delete demo-business --yes")
	for _, object := range []string{
		"client delete demo-app", "route delete order_assistant", "provider delete demo-business", "credential delete demo", "target delete llm",
	} {
		s.Want(0, "is deleted", object+" --yes")
	}
	s.Want(0, "has no routes", "route list")
	s.Want(2, "there is nothing to delete", "target delete llm --yes")

	s.Want(2, "provider demo-business needs secret in PROVIDER_DEMO_BUSINESS_SECRET", "apply -f "+first)
	s.Want(1, "4 to create, 1 to change", "apply --dry-run -f "+first)
	s.Want(0, "has no routes", "route list")
	s.Vars["PROVIDER_DEMO_BUSINESS_SECRET"] = secret
	s.Want(0, "4 created, 1 changed, 0 the same", "apply -f "+first)
	if strings.Contains(s.Stdout.String(), secret) || strings.Contains(s.Stdout.String(), modelKey) {
		t.Errorf("a secret is shown:\n%s", &s.Stdout)
	}
	s.Want(0, "5 the same", "apply -f "+first)
	delete(s.Vars, "PROVIDER_DEMO_BUSINESS_SECRET")
	delete(s.Vars, "CREDENTIAL_DEMO_API_KEY")
	s.Want(0, "5 the same", "apply --dry-run -f "+first)
	s.Want(0, "", "export -o "+second)
	if a, b := read(t, first), read(t, second); a != b || !strings.Contains(a, "order_assistant") {
		t.Errorf("before:\n%s\nafter:\n%s", a, b)
	}

	// Same configuration, same behaviour: the tools are there, and a job uses one.
	s.Want(0, "order_get", "provider tools demo-business")
	if code := s.Run("init", "--yes", "--route", "order_assistant", "--client", "demo-app", "--input", "Where is order SO-1001?", "--subject", "u_42"); code != 0 ||
		!strings.Contains(s.Stdout.String(), "SO-1001") {
		t.Errorf("%d %s%s", code, &s.Stdout, &s.Stderr)
	}
}

// What a file leaves out is what the hub takes for it: a second apply has nothing to do.
func TestMembersThatAreLeftOutAreTheHubsDefaults(t *testing.T) {
	t.Parallel()
	_, s := hub(t, false)
	s.Vars["MODEL_KEY"], s.Vars["SHOP_SECRET"] = modelKey, "secret-of-the-shop-0123456789"
	example := filepath.Join("..", "..", "docs", "examples", "hub.yaml")
	s.Want(0, "4 created, 0 the same", "apply -f "+example)
	s.Want(0, "order_note_create", "provider tools shop")
	delete(s.Vars, "MODEL_KEY")
	delete(s.Vars, "SHOP_SECRET")
	s.Want(0, "4 the same", "apply --dry-run -f "+example)

	s.Vars["K"] = "k"
	odd := filepath.Join(t.TempDir(), "odd.yaml")
	write(t, odd, `version: 1
targets: [{name: parked, kind: executor, description: ""}]
credentials: [{name: other, base_url: "http://127.0.0.1:1/v1//", api_key: {env: K}, default_model: null, kind: chat}]
tool-providers:
  - {name: bare, base_url: "http://127.0.0.1:1/", secret: {env: K}}
routes:
  - {route_key: parked, name: Parked, target: parked, session_policy: new, delivery: {type: none}, profile: ""}
  - route_key: full
    name: Full
    target: llm
    target_config: {credential: other, temperature: 1.0, extra: null}
    session_policy: passthrough
    retry: {}
    delivery: {type: webhook, url: "http://127.0.0.1:1/hook"}
    audience: {enabled: null, clients: [crm], auto: true, priority: 3}
    agent_client: {enabled: false, instructions: ""}
    tools: {sources: [{provider: bare, allow: ["*"]}], agent_direct: {enabled: false}}
clients:
  - {app_id: all, name: All, allowed_routes: ["*"], allowed_channels: null, agent_authorize_url: ""}
`)
	s.Want(0, "6 created, 0 the same", "apply -f "+odd)
	s.Want(0, "6 the same", "apply -f "+odd)
	if !strings.Contains(s.Stderr.String(), "note: credential other: its api_key is too short") {
		t.Errorf("%s", &s.Stderr)
	}
	s.Want(0, "", "export -o "+odd)
	s.Vars["PROVIDER_SHOP_SECRET"], s.Vars["PROVIDER_BARE_SECRET"], s.Vars["CREDENTIAL_MODELS_API_KEY"], s.Vars["CREDENTIAL_OTHER_API_KEY"] = "", "", "", ""
	s.Want(0, "10 the same", "apply -f "+odd)

	// A file brings another hub to the same state, once it has the specifications that were sent inline.
	_, other := hub(t, false)
	for _, name := range []string{"PROVIDER_SHOP_SECRET", "PROVIDER_BARE_SECRET", "CREDENTIAL_MODELS_API_KEY", "CREDENTIAL_OTHER_API_KEY"} {
		other.Vars[name] = "secret-of-this-hub-0123456789"
	}
	other.Want(0, "10 created", "apply -f "+odd)
	other.Want(0, "", "export")
	if other.Stdout.String() != read(t, odd) {
		t.Errorf("%s", &other.Stdout)
	}
}

// Two administrators: the second does not overwrite what the first changed after it was compared.
func TestTheHubRefusesAChangeOfWhatHasChanged(t *testing.T) {
	t.Parallel()
	_, s := hub(t, true)
	file := filepath.Join(t.TempDir(), "hub.yaml")
	s.Want(0, "", "export -o "+file)
	mine := strings.Replace(read(t, file), "max_calls: 5", "max_calls: 7", 1)
	write(t, file, mine)
	// The route changes between reading the lists and the first write.
	s.Env.Net = &interloper{Sender: s.Env.Net, before: "POST", then: func() {
		theirs := filepath.Join(t.TempDir(), "theirs.yaml")
		write(t, theirs, strings.Replace(mine, "max_calls: 7", "max_calls: 9", 1))
		second := clitest.New(t, root().Sub...)
		second.Vars = s.Vars
		second.Want(0, "1 changed", "apply -f "+theirs)
	}}
	s.Want(2, "somebody else changed it meanwhile", "apply -f "+file)
	s.Want(0, "max_calls: 9", "route show order_assistant")
}

// An apply that is cut off in the middle leaves what it did, and the next one does the rest.
func TestAnInterruptedApplyIsFinishedByTheNextOne(t *testing.T) {
	t.Parallel()
	_, s := hub(t, false)
	s.Vars["MODEL_KEY"], s.Vars["SHOP_SECRET"] = modelKey, "secret-of-the-shop-0123456789"
	example := filepath.Join("..", "..", "docs", "examples", "hub.yaml")
	for created := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		net := s.Env.Net
		s.Env.Net = &interloper{Sender: net, before: "POST", then: func() {
			s.Env.Net.(*interloper).then = cancel // before the second write
		}}
		if code := s.RunContext(ctx, "apply", "-f", example); code != map[bool]int{true: 0, false: 130}[created == 3] {
			t.Errorf("%d: status %d %s%s", created, code, &s.Stdout, &s.Stderr)
		}
		cancel()
		s.Env.Net = net
	}
	s.Want(0, "4 the same", "apply -f "+example)
}

// interloper does something once, right before the first request with a method.
type interloper struct {
	cli.Sender
	before string
	then   func()
}

func (i *interloper) Do(ctx context.Context, r outbound.Request) (*outbound.Response, error) {
	if then := i.then; then != nil && r.Method == i.before {
		i.then = nil
		then()
	}
	return i.Sender.Do(ctx, r)
}
