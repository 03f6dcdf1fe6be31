package registry_test

import (
	"bytes"
	"testing"

	"bailing/shared/registry"
)

const client = `{"app_id":"ref-app","name":"ref-app","allowed_routes":["ref_plain"],"rate_limit_per_min":0}`

func TestClientRules(t *testing.T) {
	t.Parallel()
	checkRules(t, "client", client, nil, []rule{
		{"app_id", "", "", ""},
		{"app_id", name(64), "", ""},
		{"app_id", name(65), "app_id", "2 to 64"},
		{"app_id", `"A"`, "app_id", "2 to 64"},
		{"name", "", "name", "required"},
		{"name", text(128), "", ""},
		{"name", text(129), "name", "at most 128"},
		{"allowed_routes", "", "allowed_routes", "at least one"},
		{"allowed_routes", `[]`, "allowed_routes", "at least one"},
		{"allowed_routes", `"*"`, "allowed_routes", "list"},
		{"allowed_routes", `["*"]`, "", ""},
		{"allowed_routes", `["*","a"]`, "allowed_routes", "alone"},
		{"allowed_routes", `["a","a"]`, "allowed_routes", "repeat"},
		{"allowed_routes", `["Ref.Plain:1"]`, "", ""},
		{"allowed_routes", `["a b"]`, "allowed_routes", "route keys"},
		{"allowed_routes", `[1]`, "allowed_routes", "strings"},
		{"allowed_channels", `[]`, "", ""},
		{"allowed_channels", `["*"]`, "", ""},
		{"allowed_channels", `["we-com"]`, "", ""},
		{"allowed_channels", `["*","we-com"]`, "allowed_channels", "alone"},
		{"allowed_channels", `["We Com"]`, "allowed_channels", "channel names"},
		{"rate_limit_per_min", `-1`, "rate_limit_per_min", "from 0"},
		{"rate_limit_per_min", `2147483647`, "", ""},
		{"rate_limit_per_min", `2147483648`, "rate_limit_per_min", "to 2147483647"},
		{"rotate_token", `"yes"`, "rotate_token", "true or false"},
		{"token", `""`, "", ""},
		{"token", `"0123456789abcdef0123456789abcdef"`, "token", "rotate_token"},
		{"last_used_at", `"2026-11-30T15:52:47.000Z"`, "", ""},
		{"budget", `null`, "", ""},
		{"agent_authorize_url", `"https://biz.example/agent"`, "", ""},
		{"agent_authorize_url", `"http://biz.example/agent"`, "agent_authorize_url", "must be https"},
		{"agent_authorize_url", `7`, "agent_authorize_url", "string"},
		{"agent_authorize_url", `""`, "", ""},
		{"agent_authorize_url", `null`, "", ""},
		{"tenant", `"x"`, "tenant", "not a known member"},
	})
}

func (b *bundle) client(t *testing.T, body string) registry.ClientSaved {
	t.Helper()
	s, err := b.SaveClient(t.Context(), value(t, body), change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bundle) authenticates(t *testing.T, token string) *registry.Client {
	t.Helper()
	row, err := b.store.Token(t.Context(), registry.TokenHash(token))
	if err != nil {
		t.Fatal(err)
	}
	if row == nil {
		return nil
	}
	return &row.Client
}

func TestANewClientGetsAToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.client(t, client)
	// The first 16 bytes of the test's random source, which counts from 0.
	if saved.AppID != "ref-app" || saved.Token != "000102030405060708090a0b0c0d0e0f" {
		t.Fatalf("saved %+v", saved)
	}
	if c := b.authenticates(t, saved.Token); c == nil || c.AppID != "ref-app" || c.Name != "ref-app" {
		t.Fatalf("the token authenticates %+v", c)
	}
	if bytes.Contains(b.store.Dump(), []byte(saved.Token)) {
		t.Fatal("the token is stored in clear text")
	}
}

func TestAnAppIDIsGeneratedWhenEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if saved := b.client(t, with(t, client, "app_id", `""`)); saved.AppID != "app-00010203" {
		t.Fatalf("app id %s", saved.AppID)
	}
}

func TestAGeneratedAppIDNeverReplacesAClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.client(t, with(t, client, "app_id", `"app-00010203"`))
	b.random.next = 0 // draws the taken id first
	second := b.client(t, with(t, client, "app_id", ""))
	if second.AppID != "app-04050607" {
		t.Fatalf("app id %s, want the second draw", second.AppID)
	}
	if c := b.authenticates(t, first.Token); c == nil || c.AppID != "app-00010203" {
		t.Fatalf("the first client's token authenticates %+v", c)
	}
}

func TestAClientKeepsItsTokenAndAnswersWithItEveryTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.client(t, client)
	again := b.client(t, with(t, client, "enabled", "false"))
	if again != first {
		t.Fatalf("second save answers %+v, first %+v", again, first)
	}
	if c := b.authenticates(t, first.Token); c == nil || c.Enabled {
		t.Fatalf("the token row shows %+v: disabling must bite at once", c)
	}
	if back := b.client(t, with(t, client, "token", `"`+registry.Mask(first.Token)+`"`)); back != first {
		t.Fatalf("sending a list entry back answers %+v", back)
	}
}

func TestRotationReplacesTheToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.client(t, client)
	second := b.client(t, with(t, client, "rotate_token", "true"))
	if second.AppID != first.AppID || second.Token == first.Token || len(second.Token) != 32 {
		t.Fatalf("rotation answers %+v after %+v", second, first)
	}
	if c := b.authenticates(t, first.Token); c != nil {
		t.Fatal("the replaced token is still alive")
	}
	if c := b.authenticates(t, second.Token); c == nil {
		t.Fatal("the new token authenticates nobody")
	}
}

func TestATokenThatExistsIsDrawnAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.client(t, client)
	b.random.next = 0 // draws the first client's token
	second := b.client(t, with(t, client, "app_id", `"other"`))
	if second.Token == first.Token {
		t.Fatal("two clients share a token")
	}
	if c := b.authenticates(t, first.Token); c == nil || c.AppID != "ref-app" {
		t.Fatalf("the first client's token authenticates %+v", c)
	}
}

func TestClientsAreListedWithTheirTokenMasked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, client)
	b.client(t, `{"app_id":"demo-app","name":"Demo","allowed_routes":["*"],"allowed_channels":["web"],"description":"d","enabled":false}`)
	list, err := b.ListClients(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, unrevised(t, list), `[
		{"app_id":"demo-app","name":"Demo","token":"10111…1e1f","allowed_routes":["*"],"allowed_channels":["web"],"rate_limit_per_min":60,"enabled":false,"description":"d"},
		{"app_id":"ref-app","name":"ref-app","token":"00010…0e0f","allowed_routes":["ref_plain"],"allowed_channels":[],"rate_limit_per_min":0,"enabled":true}]`)
}
