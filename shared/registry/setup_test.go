package registry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// desk has a route with everything that a setup must leave alone.
func desk(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", samples["route"])
	b.must(t, "route", with(t, samples["route"], "tools", `{"sources":[{"provider":"ref-biz","allow":["ref.*"]}],"max_calls":9,"note":{"z":1},
		"approval":{"type":"webhook","url":"https://biz.example/approvals"},"agent_direct":{"enabled":true}}`))
	return b
}

func routeSetup(t *testing.T, b *bundle, key string) registry.RouteSetup {
	t.Helper()
	s, err := b.RouteSetup(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put saves a setup at the revision that is stored now.
func (b *bundle) put(t *testing.T, key, agents, sources, direct string) (registry.RouteSetup, error) {
	t.Helper()
	text := fmt.Sprintf(`{"expected_revision":%q,"agent_client":%s,"tool_sources":%s,"agent_direct":%s}`, routeSetup(t, b, key).Revision, agents, sources, direct)
	return b.SaveRouteSetup(t.Context(), key, value(t, text), change)
}

func wantCode(t *testing.T, err error, code apierr.Code, text string) {
	t.Helper()
	if apierr.CodeOf(err) != code || apierr.Of(err).Message != text {
		t.Fatalf("err = %v, want %s %s", err, code, text)
	}
}

func TestTheRevisionOfARouteSetupIsThatOfTheWholeRoute(t *testing.T) {
	t.Parallel()
	b := desk(t)
	entry := b.entry(t, "route", samples["route"])
	s := routeSetup(t, b, "desk")
	if s.Revision != entry["revision"] {
		t.Fatalf("setup %s, list %v", s.Revision, entry["revision"])
	}
	delete(entry, "revision")
	sum := sha256.Sum256(value(t, body(t, entry)).Canonical())
	if want := hex.EncodeToString(sum[:]); s.Revision != want {
		t.Fatalf("revision %s, want the hash of the key-sorted JSON, %s", s.Revision, want)
	}
	b.must(t, "route", with(t, route, "route_key", `"other"`))
	if again := routeSetup(t, b, "desk"); again.Revision != s.Revision {
		t.Fatal("another route changed the revision")
	}
}

func TestASetupChangesItsMembersAndNothingElse(t *testing.T) {
	t.Parallel()
	b := desk(t)
	agents := `{"enabled":true,"system_info":{"name":"Desk","summary":"s","domains":[],"boundaries":[]}}`
	saved, err := b.put(t, "desk", agents, `[{"provider":"ref-empty","allow":["a.read"],"subject_field":"uid"}]`, `{"enabled":true,"write_tools":["pay"]}`)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, saved, body(t, routeSetup(t, b, "desk")))
	entry := b.entry(t, "route", samples["route"])
	wantJSON(t, saved, fmt.Sprintf(`{"route_key":"desk","name":"Desk","enabled":true,"permission":"full","revision":%q,"agent_client":%s,
		"tool_sources":[{"provider":"ref-empty","allow":["a.read"],"subject_field":"uid"}],"agent_direct":{"enabled":true,"write_tools":["pay"]}}`, entry["revision"], agents))
	delete(entry, "revision")
	wantJSON(t, entry, `{"route_key":"desk","name":"Desk","enabled":true,"target":"llm","target_config":{"credential":"stub","model":"m"},
		"profile":"readonly","permission":"full","session_policy":"new","agent_client":`+agents+`,
		"tools":{"sources":[{"provider":"ref-empty","allow":["a.read"],"subject_field":"uid"}],"max_calls":9,"note":{"z":1},
			"approval":{"type":"webhook","url":"https://biz.example/approvals"},"agent_direct":{"enabled":true,"write_tools":["pay"]}}}`)
	changes := b.store.Changes()
	if len(changes) == 0 || changes[len(changes)-1] != (registry.Change{At: start, By: "token", Method: "POST", Path: "clients"}) {
		t.Fatalf("audit records %+v", changes)
	}
}

func TestASetupClears(t *testing.T) {
	t.Parallel()
	b := desk(t)
	saved, err := b.put(t, "desk", `null`, `[]`, `null`)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, saved, fmt.Sprintf(`{"route_key":"desk","name":"Desk","enabled":true,"permission":"full","revision":%q,"agent_client":null,"tool_sources":[],"agent_direct":null}`, saved.Revision))
	entry := b.entry(t, "route", samples["route"])
	if _, kept := entry["agent_client"]; kept {
		t.Fatalf("agent_client is kept: %v", entry)
	}
	wantJSON(t, entry["tools"], `{"max_calls":9,"note":{"z":1},"approval":{"type":"webhook","url":"https://biz.example/approvals"}}`)
	b.must(t, "route", body(t, entry)) // an entry can be sent back also without sources
}

func TestToolsComeIntoBeingWithASetup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ sources, direct, tools string }{
		"nothing": {`[]`, `null`, `null`},
		"sources": {`[{"provider":"ref-biz","allow":["*"]}]`, `null`, `{"sources":[{"provider":"ref-biz","allow":["*"]}],"max_calls":5}`},
		"direct":  {`[]`, `{"enabled":false}`, `{"max_calls":5,"agent_direct":{"enabled":false}}`},
	} {
		b := setup(t)
		routed(t, b)
		b.must(t, "route", route)
		if _, err := b.put(t, "ref_plain", `null`, tc.sources, tc.direct); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		entry := b.entry(t, "route", route)
		wantJSON(t, entry["tools"], tc.tools)
		b.must(t, "route", body(t, entry))
	}
}

func TestASetupNeedsNoWholeRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", with(t, route, "route_key", `"Desk.One:2"`))
	if s := routeSetup(t, b, "Desk.One:2"); s.Permission != "" {
		t.Fatalf("%+v", s)
	}
	if err := b.store.Credentials().Delete(t.Context(), "stub", credentialRevision(t, b, "stub"), change); err != nil {
		t.Fatal(err)
	}
	if _, err := b.put(t, "Desk.One:2", `{"enabled":true}`, `[]`, `null`); err != nil {
		t.Fatalf("a setup fails for what it does not change: %v", err)
	}
}

// credentialRevision is the revision of a stored credential.
func credentialRevision(t *testing.T, b *bundle, credential string) int64 {
	t.Helper()
	v, err := b.store.Credentials().Get(t.Context(), credential)
	if err != nil || v == nil {
		t.Fatal(v, err)
	}
	return v.Revision
}

func TestTheOrderOfChecksOfARouteSetup(t *testing.T) {
	t.Parallel()
	b := desk(t)
	good := routeSetup(t, b, "desk").Revision
	other := strings.Repeat("0", 64)
	say := func(revision, agents, sources, direct string) string {
		return fmt.Sprintf(`{"expected_revision":%q,"agent_client":%s,"tool_sources":%s,"agent_direct":%s}`, revision, agents, sources, direct)
	}
	for name, tc := range map[string]struct {
		key, body string
		code      apierr.Code
		text      string // the whole of a code, the beginning of a text
	}{
		"malformed key":                     {"x y", say(good, `null`, `[]`, `null`), apierr.Invalid, "invalid_request"},
		"key of 129 characters":             {strings.Repeat("a", 129), say(good, `null`, `[]`, `null`), apierr.Invalid, "invalid_request"},
		"key that nothing is called":        {strings.Repeat("a", 128), say(good, `null`, `[]`, `null`), apierr.NotFound, "route_not_found"},
		"shape before revision":             {"desk", say(other, `[]`, `[]`, `null`), apierr.Invalid, "invalid_request"},
		"revision before rules":             {"desk", say(other, `{"active_tool_limit":13}`, `[]`, `null`), apierr.Conflict, "agent_setup_conflict"},
		"rules of agent_client":             {"desk", say(good, `{"active_tool_limit":13}`, `[]`, `null`), apierr.Invalid, "agent_client.active_tool_limit "},
		"unknown members of agent_client":   {"desk", say(good, `{"color":1}`, `[]`, `null`), apierr.Invalid, "agent_client.color "},
		"unknown provider":                  {"desk", say(good, `null`, `[{"provider":"nope","allow":["*"]}]`, `null`), apierr.Invalid, "unknown tool provider: nope"},
		"provider twice":                    {"desk", say(good, `null`, `[{"provider":"ref-biz","allow":["*"]},{"provider":"ref-biz","allow":["a"]}]`, `null`), apierr.Invalid, "tool_sources[1].provider "},
		"empty allow":                       {"desk", say(good, `null`, `[{"provider":"ref-biz","allow":[]}]`, `null`), apierr.Invalid, "tool_sources[0].allow "},
		"64 sources":                        {"desk", say(good, `null`, `[`+manySources(64)+`]`, `null`), apierr.Invalid, "unknown tool provider: "},
		"65 sources":                        {"desk", say(good, `null`, `[`+manySources(65)+`]`, `null`), apierr.Invalid, "tool_sources must be a list of at most 64"},
		"direct without enabled":            {"desk", say(good, `null`, `[]`, `{}`), apierr.Invalid, "agent_direct.enabled "},
		"lists of direct":                   {"desk", say(good, `null`, `[]`, `{"enabled":true,"force_approval_tools":["a"]}`), apierr.Invalid, "tools.agent_direct.force_approval_tools "},
		"both forms of direct":              {"desk", say(good, `null`, `[]`, `{"enabled":true,"write_tools":["a"],"force_approval_tools":["a"],"unattended_write_tools":["a"]}`), apierr.Invalid, "tools.agent_direct.force_approval_tools and"},
		"no object":                         {"desk", `[]`, apierr.Invalid, "invalid_request"},
		"nothing":                           {"desk", `{}`, apierr.Invalid, "invalid_request"},
		"no revision":                       {"desk", `{"agent_client":null,"tool_sources":[],"agent_direct":null}`, apierr.Invalid, "invalid_request"},
		"revision null":                     {"desk", `{"expected_revision":null,"agent_client":null,"tool_sources":[],"agent_direct":null}`, apierr.Invalid, "invalid_request"},
		"revision in capitals":              {"desk", say(strings.Repeat("A", 64), `null`, `[]`, `null`), apierr.Invalid, "invalid_request"},
		"revision of 63":                    {"desk", say(other[1:], `null`, `[]`, `null`), apierr.Invalid, "invalid_request"},
		"no agent_client":                   {"desk", `{"expected_revision":"` + good + `","tool_sources":[],"agent_direct":null}`, apierr.Invalid, "invalid_request"},
		"no tool_sources":                   {"desk", `{"expected_revision":"` + good + `","agent_client":null,"agent_direct":null}`, apierr.Invalid, "invalid_request"},
		"no agent_direct":                   {"desk", `{"expected_revision":"` + good + `","agent_client":null,"tool_sources":[]}`, apierr.Invalid, "invalid_request"},
		"tool_sources null":                 {"desk", say(good, `null`, `null`, `null`), apierr.Invalid, "invalid_request"},
		"agent_direct a list":               {"desk", say(good, `null`, `[]`, `[]`), apierr.Invalid, "invalid_request"},
		"a member more":                     {"desk", `{"permission":"full",` + say(good, `null`, `[]`, `null`)[1:], apierr.Invalid, "invalid_request"},
		"a known member of another surface": {"desk", `{"revision":"x",` + say(good, `null`, `[]`, `null`)[1:], apierr.Invalid, "invalid_request"},
	} {
		before := len(b.store.Changes())
		_, err := b.SaveRouteSetup(t.Context(), tc.key, value(t, tc.body), change)
		message := apierr.Of(err).Message
		exact := !strings.ContainsAny(tc.text, " ")
		if apierr.CodeOf(err) != tc.code || exact && message != tc.text || !strings.HasPrefix(message, tc.text) {
			t.Errorf("%s: %v, want %s %s", name, err, tc.code, tc.text)
		}
		if len(b.store.Changes()) != before {
			t.Errorf("%s: a refused setup wrote something", name)
		}
	}
}

func manySources(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"provider":"p-%d","allow":["*"]}`, i))
	}
	return strings.Join(all, ",")
}

func TestAnyEditOfTheRouteConflictsWithItsSetup(t *testing.T) {
	t.Parallel()
	b := desk(t)
	s := routeSetup(t, b, "desk")
	text := fmt.Sprintf(`{"expected_revision":%q,"agent_client":null,"tool_sources":[],"agent_direct":null}`, s.Revision)
	b.must(t, "route", with(t, samples["route"], "description", `"new"`))
	_, err := b.SaveRouteSetup(t.Context(), "desk", value(t, text), change)
	wantCode(t, err, apierr.Conflict, registry.CodeSetupConflict)
	if got := b.entry(t, "route", samples["route"]); got["description"] != "new" || got["agent_client"] == nil {
		t.Fatalf("the edit is lost: %v", got)
	}
}

func TestARouteThatGoesWhileItsSetupIsSavedIsNotFound(t *testing.T) {
	t.Parallel()
	b := desk(t)
	b.store.BeforePut = func(kind, name string) {
		b.store.BeforePut = nil
		if _, err := b.DeleteRoute(t.Context(), name, change); err != nil {
			t.Error(err)
		}
	}
	_, err := b.put(t, "desk", `null`, `[]`, `null`)
	wantCode(t, err, apierr.NotFound, registry.CodeRouteNotFound)
}

func TestAProviderThatGoesWhileASetupIsSavedIsUnknown(t *testing.T) {
	t.Parallel()
	b := desk(t)
	b.store.BeforePut = func(kind, name string) {
		b.store.BeforePut = nil
		if err := b.DeleteProvider(t.Context(), "ref-empty", change); err != nil {
			t.Error(err)
		}
	}
	_, err := b.put(t, "desk", `null`, `[{"provider":"ref-empty","allow":["*"]}]`, `null`)
	if apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(apierr.Of(err).Message, "unknown tool provider: ref-empty") {
		t.Fatalf("err = %v", err)
	}
}

func TestOfTwoSetupsOfOneRevisionOneWins(t *testing.T) {
	t.Parallel()
	b := desk(t)
	for round := range 200 {
		revision := routeSetup(t, b, "desk").Revision
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			v := value(t, fmt.Sprintf(`{"expected_revision":%q,"agent_client":{"instructions":"%d/%d"},"tool_sources":[],"agent_direct":null}`, revision, round, i))
			wg.Go(func() { _, errs[i] = b.SaveRouteSetup(t.Context(), "desk", v, change) })
		}
		wg.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		if errs[won] != nil {
			t.Fatalf("round %d: both lost: %v", round, errs)
		}
		wantCode(t, errs[1-won], apierr.Conflict, registry.CodeSetupConflict)
		if got, want := routeSetup(t, b, "desk").AgentClient.Instructions, fmt.Sprintf("%d/%d", round, won); got != want {
			t.Fatalf("round %d: %s is stored, want %s", round, got, want)
		}
	}
}
