package registry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/capability/compile"
	"bailing/shared/clock"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

var start = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

var change = registry.Change{By: "token", Method: "POST", Path: "clients"}

// bundle is a service over a store in memory, with a manual clock and a counting source of random bytes.
type bundle struct {
	*registry.Service
	store  *registrytest.Store
	clock  *clock.Manual
	random *counter
}

// counter is a random source whose n-th byte is n.
type counter struct{ next byte }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.next
		c.next++
	}
	return len(p), nil
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{store: registrytest.NewStore(), clock: clock.NewManual(start), random: &counter{}}
	b.Service = registry.NewService(registry.Options{
		Store: b.store, Sealer: registrytest.Sealer{}, Compile: compile.Compile, CheckURL: outbound.CheckURL,
		Random: b.random, Clock: b.clock,
	})
	return b
}

// value parses a request body.
func value(t *testing.T, body string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(body), canonical.Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// with is base, a JSON object, with one member set to raw JSON, or removed when raw is "".
func with(t *testing.T, base, member, raw string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(base), &m); err != nil {
		t.Fatal(err)
	}
	m[member] = json.RawMessage(raw)
	if raw == "" {
		delete(m, member)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// must saves what a test needs to begin with.
func (b *bundle) must(t *testing.T, kind, body string) {
	t.Helper()
	if err := b.save(t, kind, body); err != nil {
		t.Fatalf("save %s: %v", kind, err)
	}
}

func (b *bundle) save(t *testing.T, kind, body string) error {
	t.Helper()
	v := value(t, body)
	var err error
	switch kind {
	case "target":
		err = b.SaveTarget(t.Context(), v, change)
	case "credential":
		err = b.SaveCredential(t.Context(), v, change)
	case "provider":
		_, err = b.SaveProvider(t.Context(), v, change)
	case "route":
		_, err = b.SaveRoute(t.Context(), v, change)
	case "client":
		_, err = b.SaveClient(t.Context(), v, change)
	default:
		t.Fatalf("no kind %s", kind)
	}
	return err
}

// wantInvalid checks that err is a 400 whose message begins with member and contains rule.
func wantInvalid(t *testing.T, err error, member, rule string) {
	t.Helper()
	if apierr.CodeOf(err) != apierr.Invalid {
		t.Fatalf("err = %v, want an invalid %s", err, member)
	}
	if m := apierr.Of(err).Message; !strings.HasPrefix(m, member+" ") || !strings.Contains(m, rule) {
		t.Fatalf("message %q does not begin with %q and say %q", m, member, rule)
	}
}

// wantJSON compares v, encoded, with want member by member.
func wantJSON(t *testing.T, v any, want string) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value(t, string(b)).Canonical(), value(t, want).Canonical(); !bytes.Equal(got, want) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// rule is one case of a table about one member of a valid record.
type rule struct {
	member string // top-level member to set
	raw    string // its JSON; "" removes it
	wrong  string // "" when the record is fine, else the full name of the member that the message must begin with
	says   string
}

func checkRules(t *testing.T, kind, base string, prepare func(*testing.T, *bundle), rules []rule) {
	t.Helper()
	for _, r := range rules {
		shown := r.raw
		if len(shown) > 60 {
			shown = fmt.Sprintf("%s... (%d bytes)", shown[:40], len(r.raw))
		}
		t.Run(r.member+"="+shown, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if prepare != nil {
				prepare(t, b)
			}
			before := len(b.store.Changes())
			err := b.save(t, kind, with(t, base, r.member, r.raw))
			if r.wrong == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantInvalid(t, err, r.wrong, r.says)
			if len(b.store.Changes()) != before {
				t.Fatal("a refused save wrote something")
			}
		})
	}
}

func text(n int) string { return `"` + strings.Repeat("é", n) + `"` }

func name(n int) string { return `"` + strings.Repeat("a", n) + `"` }

// url is a JSON string of a URL of n characters.
func url(n int) string {
	const head = "https://biz.example/"
	return `"` + head + strings.Repeat("x", n-len(head)) + `"`
}

func TestASaveLeavesItsAuditRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "target", `{"name":"ref-exec","kind":"executor"}`)
	if err := b.Pause(t.Context(), true, registry.Change{By: "token", Method: "POST", Path: "pause"}); err != nil {
		t.Fatal(err)
	}
	want := []registry.Change{
		{At: start, By: "token", Method: "POST", Path: "clients"},
		{At: start, By: "token", Method: "POST", Path: "pause"},
	}
	if got := b.store.Changes(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("audit records %+v, want %+v", got, want)
	}
	if !b.store.Paused() {
		t.Fatal("not paused")
	}
}

func TestALostRaceReadsAndDecidesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "credential", `{"name":"stub","base_url":"https://m.example/v1","api_key":"first"}`)
	once := true
	b.store.BeforePut = func(kind, name string) {
		if once {
			once = false
			b.must(t, "credential", `{"name":"stub","base_url":"https://m.example/v1","api_key":"second"}`)
		}
	}
	b.must(t, "credential", `{"name":"stub","base_url":"https://m.example/v2"}`)
	v, err := b.store.Credentials().Get(t.Context(), "stub")
	if err != nil {
		t.Fatal(err)
	}
	key, err := registrytest.Sealer{}.Open(t.Context(), v.Value.APIKey, registry.CredentialKeyContext("stub"))
	if err != nil || string(key) != "second" || v.Value.BaseURL != "https://m.example/v2" || v.Revision != 3 {
		t.Fatalf("key %q, %+v, %v: the key of the other save is lost", key, v, err)
	}
}

func TestARaceThatIsNeverWonIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nested := false
	b.store.BeforePut = func(kind, name string) {
		if !nested {
			nested = true
			b.must(t, "target", `{"name":"ref-exec","kind":"executor"}`)
			nested = false
		}
	}
	if err := b.save(t, "target", `{"name":"ref-exec","kind":"executor"}`); apierr.CodeOf(err) != apierr.Conflict {
		t.Fatalf("err = %v, want a conflict", err)
	}
}

func TestMaskShowsAtMostHalf(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"":                               "…",
		"stub-key":                       "…",
		"12345678901234567":              "…",
		"123456789012345678":             "12345…5678",
		"demo-secret-change-me":          "demo-…e-me",
		"f9a18000000000000000000000770c": "f9a18…770c",
		strings.Repeat("\U0001F511", 9):  "…",
		strings.Repeat("ключ", 5) + "éçñü": "ключк…éçñü",
	} {
		if got := registry.Mask(secret); got != want {
			t.Errorf("Mask(%q) = %q, want %q", secret, got, want)
		}
	}
}

func TestTokenHashIsHexSHA256(t *testing.T) {
	t.Parallel()
	// FIPS 180-4, "abc".
	if got := registry.TokenHash("abc"); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Fatal(got)
	}
}
