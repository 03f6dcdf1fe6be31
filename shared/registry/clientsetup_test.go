package registry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

const crm = `{"app_id":"crm","name":"CRM","allowed_routes":["desk","also"],"allowed_channels":["web"],"rate_limit_per_min":7,
	"agent_authorize_url":"https://crm.example/agent?a=<b>&c=d","description":"d"}`

func clientSetup(t *testing.T, b *bundle) registry.ClientSetup {
	t.Helper()
	s, err := b.ClientSetup(t.Context(), "crm")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setupBody(revision, enabled, url, routes string) string {
	return fmt.Sprintf(`{"expected_revision":%q,"enabled":%s,"agent_authorize_url":%s,"allowed_routes":%s}`, revision, enabled, url, routes)
}

func TestAClientSetupIsSixMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, crm)
	sum := sha256.Sum256([]byte(`{"enabled":true,"agent_authorize_url":"https://crm.example/agent?a=<b>&c=d","allowed_routes":["also","desk"]}`))
	revision := hex.EncodeToString(sum[:])
	wantJSON(t, clientSetup(t, b), `{"app_id":"crm","name":"CRM","enabled":true,"agent_authorize_url":"https://crm.example/agent?a=<b>&c=d",
		"allowed_routes":["desk","also"],"revision":"`+revision+`"}`)
	b.must(t, "client", with(t, with(t, crm, "agent_authorize_url", ""), "enabled", "false"))
	sum = sha256.Sum256([]byte(`{"enabled":false,"agent_authorize_url":null,"allowed_routes":["also","desk"]}`))
	wantJSON(t, clientSetup(t, b), `{"app_id":"crm","name":"CRM","enabled":false,"agent_authorize_url":null,
		"allowed_routes":["desk","also"],"revision":"`+hex.EncodeToString(sum[:])+`"}`)
}

func TestAClientSetupChangesThreeMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.client(t, crm)
	before := b.entry(t, "client", crm)
	s, err := b.SaveClientSetup(t.Context(), "crm", value(t, setupBody(clientSetup(t, b).Revision, "false", "null", `["*"]`)), change)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, s, body(t, clientSetup(t, b)))
	after := b.entry(t, "client", crm)
	for _, member := range []string{"app_id", "name", "token", "allowed_channels", "rate_limit_per_min", "description"} {
		if body(t, after[member]) != body(t, before[member]) {
			t.Errorf("%s became %v", member, after[member])
		}
	}
	token, err := b.store.Token(t.Context(), registry.TokenHash(saved.Token))
	if err != nil || token == nil || token.Client.Enabled || token.Client.AgentAuthorizeURL != "" || token.Client.AllowedRoutes[0] != "*" {
		t.Fatalf("the token authenticates %+v, %v", token, err)
	}
}

// Only the three members are compared: an edit of another one is no conflict, and is not lost.
func TestAnEditOfAnotherMemberIsNoConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, crm)
	revision := clientSetup(t, b).Revision
	b.store.BeforePut = func(kind, name string) {
		b.store.BeforePut = nil
		b.client(t, with(t, with(t, crm, "name", `"New"`), "rotate_token", "true"))
	}
	if _, err := b.SaveClientSetup(t.Context(), "crm", value(t, setupBody(revision, "true", `"https://x.example/"`, `["desk"]`)), change); err != nil {
		t.Fatal(err)
	}
	if s := clientSetup(t, b); s.Name != "New" || *s.AuthorizeURL != "https://x.example/" {
		t.Fatalf("%+v", s)
	}
	_, err := b.SaveClientSetup(t.Context(), "crm", value(t, setupBody(revision, "true", `null`, `["desk"]`)), change)
	wantCode(t, err, apierr.Conflict, registry.CodeSetupConflict)
}

func TestTheOrderOfChecksOfAClientSetup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, crm)
	good, other := clientSetup(t, b).Revision, strings.Repeat("0", 64)
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"r-%d"`, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, tc := range map[string]struct {
		appID, body string
		code        apierr.Code
		text        string // the whole of a code, the beginning of a text
	}{
		"unknown client":             {"nobody", setupBody(other, "true", "null", `["a1"]`), apierr.NotFound, "client_not_found"},
		"name of no client":          {"X", setupBody(other, "true", "null", `["a1"]`), apierr.NotFound, "client_not_found"},
		"shape before rules":         {"crm", setupBody(other, "1", `"http://x.example"`, `["a1"]`), apierr.Invalid, "invalid_agent_setup"},
		"rules before revision":      {"crm", setupBody(other, "true", `"http://x.example"`, `["a1"]`), apierr.Invalid, "agent_authorize_url must be https"},
		"empty URL":                  {"crm", setupBody(good, "true", `""`, `["a1"]`), apierr.Invalid, "agent_authorize_url must be"},
		"no routes":                  {"crm", setupBody(good, "true", "null", `[]`), apierr.Invalid, "allowed_routes must have at least one"},
		"a route twice":              {"crm", setupBody(good, "true", "null", `["a1","a1"]`), apierr.Invalid, "allowed_routes must not repeat"},
		"the wildcard and a route":   {"crm", setupBody(good, "true", "null", `["*","a1"]`), apierr.Invalid, "allowed_routes must hold"},
		"another revision":           {"crm", setupBody(other, "true", "null", `["a1"]`), apierr.Conflict, "agent_setup_conflict"},
		"256 routes":                 {"crm", setupBody(other, "true", "null", many(256)), apierr.Conflict, "agent_setup_conflict"},
		"257 routes":                 {"crm", setupBody(other, "true", "null", many(257)), apierr.Invalid, "invalid_agent_setup"},
		"a route of no agent":        {"crm", setupBody(good, "true", "null", `["A.b"]`), apierr.Invalid, "invalid_agent_setup"},
		"a number among the routes":  {"crm", setupBody(good, "true", "null", `[1]`), apierr.Invalid, "invalid_agent_setup"},
		"routes as a text":           {"crm", setupBody(good, "true", "null", `"*"`), apierr.Invalid, "invalid_agent_setup"},
		"enabled null":               {"crm", setupBody(good, "null", "null", `["a1"]`), apierr.Invalid, "invalid_agent_setup"},
		"URL of another type":        {"crm", setupBody(good, "true", "7", `["a1"]`), apierr.Invalid, "invalid_agent_setup"},
		"no URL":                     {"crm", `{"expected_revision":"` + good + `","enabled":true,"allowed_routes":["a1"]}`, apierr.Invalid, "invalid_agent_setup"},
		"a member more":              {"crm", `{"name":"x",` + setupBody(good, "true", "null", `["a1"]`)[1:], apierr.Invalid, "invalid_agent_setup"},
		"revision in capitals":       {"crm", setupBody(strings.ToUpper(strings.Repeat("a", 64)), "true", "null", `["a1"]`), apierr.Invalid, "invalid_agent_setup"},
		"nothing":                    {"crm", `{}`, apierr.Invalid, "invalid_agent_setup"},
		"a list":                     {"crm", `[]`, apierr.Invalid, "invalid_agent_setup"},
		"URL of 2049 characters":     {"crm", setupBody(good, "true", url(2049), `["a1"]`), apierr.Invalid, "agent_authorize_url must have at most 2048"},
		"URL of 2048, late revision": {"crm", setupBody(other, "true", url(2048), `["a1"]`), apierr.Conflict, "agent_setup_conflict"},
	} {
		before := len(b.store.Changes())
		_, err := b.SaveClientSetup(t.Context(), tc.appID, value(t, tc.body), change)
		message := apierr.Of(err).Message
		if exact := !strings.Contains(tc.text, " "); apierr.CodeOf(err) != tc.code || exact && message != tc.text || !strings.HasPrefix(message, tc.text) {
			t.Errorf("%s: %v, want %s %s", name, err, tc.code, tc.text)
		}
		if len(b.store.Changes()) != before {
			t.Errorf("%s: a refused setup wrote something", name)
		}
	}
}

func TestAClientThatGoesWhileItsSetupIsSavedIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, crm)
	revision := clientSetup(t, b).Revision
	b.store.BeforePut = func(kind, name string) {
		b.store.BeforePut = nil
		if err := b.DeleteClient(t.Context(), name, change); err != nil {
			t.Error(err)
		}
	}
	_, err := b.SaveClientSetup(t.Context(), "crm", value(t, setupBody(revision, "true", "null", `["a1"]`)), change)
	wantCode(t, err, apierr.NotFound, registry.CodeClientNotFound)
}

func TestAClientSetupThatNeverCatchesUpIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, crm)
	revision := clientSetup(t, b).Revision
	nested := false
	b.store.BeforePut = func(kind, name string) {
		if !nested {
			nested = true
			b.client(t, crm)
			nested = false
		}
	}
	_, err := b.SaveClientSetup(t.Context(), "crm", value(t, setupBody(revision, "true", "null", `["a1"]`)), change)
	wantCode(t, err, apierr.Conflict, registry.CodeSetupConflict)
}
