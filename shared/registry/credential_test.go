package registry_test

import (
	"bytes"
	"testing"

	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

const credential = `{"name":"stub-db","kind":"chat","base_url":"http://127.0.0.1:19090/v1","api_key":"stub-key","default_model":"stub-model"}`

func TestCredentialRules(t *testing.T) {
	t.Parallel()
	checkRules(t, "credential", credential, nil, []rule{
		{"name", "", "name", "required"},
		{"name", name(65), "name", "2 to 64"},
		{"kind", "", "", ""},
		{"kind", `"embedding"`, "", ""},
		{"kind", `"both"`, "", ""},
		{"kind", `"vision"`, "kind", "chat, embedding, both"},
		{"base_url", "", "base_url", "required"},
		{"base_url", `""`, "base_url", "required"},
		{"base_url", `"ftp://x.example"`, "base_url", "scheme"},
		{"base_url", `"https://u:p@x.example"`, "base_url", "user name"},
		{"base_url", `"https://x.example/v1?key=1"`, "base_url", "query"},
		{"base_url", url(2048), "", ""},
		{"base_url", url(2049), "base_url", "too long"},
		{"api_key", "", "api_key", "required"},
		{"api_key", `""`, "api_key", "required"},
		{"api_key", name(4096), "", ""},
		{"api_key", name(4097), "api_key", "4096"},
		{"api_key", `"a\nb"`, "api_key", "one line"},
		{"api_key", `" a"`, "api_key", "one line"},
		{"default_model", `5`, "default_model", "string"},
		{"model", `"x"`, "model", "not a known member"},
	})
}

func TestCredentialsAreListedWithTheirKeyMasked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "credential", credential)
	b.must(t, "credential", `{"name":"long","base_url":"https://m.example/v1//","api_key":"sk-0123456789abcdef"}`)
	list, err := b.ListCredentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, unrevised(t, list), `[
		{"name":"long","kind":"chat","base_url":"https://m.example/v1","api_key":"sk-01…cdef","enabled":true},
		{"name":"stub-db","kind":"chat","base_url":"http://127.0.0.1:19090/v1","api_key":"…","default_model":"stub-model","enabled":true}]`)
}

func TestACredentialKeepsItsKey(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"when it is absent": "", "when it is empty": `""`, "when it is null": "null", "when a list's mask is sent back": `"sk-01…cdef"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.must(t, "credential", with(t, credential, "api_key", `"sk-0123456789abcdef"`))
			b.must(t, "credential", with(t, credential, "api_key", raw))
			v, err := b.store.Credentials().Get(t.Context(), "stub-db")
			if err != nil {
				t.Fatal(err)
			}
			key, err := registrytest.Sealer{}.Open(t.Context(), v.Value.APIKey, registry.CredentialKeyContext("stub-db"))
			if err != nil || string(key) != "sk-0123456789abcdef" {
				t.Fatalf("key %q, %v", key, err)
			}
			if bytes.Contains(b.store.Dump(), key) {
				t.Fatal("the key is stored in clear text")
			}
		})
	}
}

// A key that nobody is shown must not follow a base_url to another host.
func TestAKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	for to, moves := range map[string]bool{
		"https://models.example/v1": false, "https://models.example/v2": false, "https://MODELS.example/v1": false,
		"https://evil.example/v1": true, "http://models.example/v1": true, "https://models.example:8443/v1": true,
	} {
		b := setup(t)
		b.must(t, "credential", `{"name":"models","base_url":"https://models.example/v1","api_key":"sk-credential-0123456789"}`)
		for _, key := range []string{"", `,"api_key":""`, `,"api_key":"sk-cr…6789"`} {
			err := b.save(t, "credential", `{"name":"models","base_url":"`+to+`"`+key+`}`)
			if moves {
				wantInvalid(t, err, "api_key", "another host")
			} else if err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
		b.must(t, "credential", `{"name":"models","base_url":"`+to+`","api_key":"sk-another-0123456789"}`)
	}
}
