package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

func TestASecretIsShownOnceItIsOnRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := b.client(t, samples["client"])
	b.must(t, "provider", samples["provider"])
	reveal := map[string]func() (string, error){
		"client_token_revealed": func() (string, error) {
			return b.RevealToken(t.Context(), "crm", registry.Change{By: "ada", Method: "GET", Path: "p"})
		},
		"tool_secret_revealed": func() (string, error) {
			return b.RevealSecret(t.Context(), "shop", registry.Change{By: "ada", Method: "GET", Path: "p"})
		},
	}
	for event, want := range map[string]string{"client_token_revealed": client.Token, "tool_secret_revealed": "provider-secret-0123456789"} {
		before := len(b.store.Changes())
		got, err := reveal[event]()
		if err != nil || got != want {
			t.Fatalf("%s: %q, %v", event, got, err)
		}
		record := registry.Change{Event: event, At: start, By: "ada", Method: "GET", Path: "p"}
		if got := b.store.Changes()[before:]; !slices.Equal(got, []registry.Change{record}) {
			t.Errorf("%s: audit records %+v, want %+v", event, got, record)
		}
		b.store.BeforeNote = func(string) error { return fmt.Errorf("no ledger") }
		if got, err := reveal[event](); err == nil || got != "" {
			t.Errorf("%s: shown without a record: %q, %v", event, got, err)
		}
		b.store.BeforeNote = nil
	}
	for _, name := range []string{"nobody", "x y", strings.Repeat("a", 5000)} {
		if _, err := b.RevealToken(t.Context(), name, change); apierr.CodeOf(err) != apierr.NotFound {
			t.Errorf("token of %.10s: %v", name, err)
		}
		if _, err := b.RevealSecret(t.Context(), name, change); apierr.CodeOf(err) != apierr.NotFound {
			t.Errorf("secret of %.10s: %v", name, err)
		}
	}
}
