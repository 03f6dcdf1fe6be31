package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"bailing/functions/admin"
	"bailing/shared/registry"
)

// ledger answers as told and remembers what it was asked.
type ledger struct {
	changes []registry.Change
	events  map[string][]json.RawMessage // by provider
	err     error
	asked   []any
}

func (l *ledger) ConfigChanges(_ context.Context, limit, offset int) ([]registry.Change, error) {
	l.asked = append(l.asked, limit, offset)
	return l.changes, l.err
}

func (l *ledger) ProviderEvents(_ context.Context, name string, limit int) ([]json.RawMessage, error) {
	l.asked = append(l.asked, name, limit)
	return l.events[name], l.err
}

func setupLedger(t *testing.T) (*hub, *ledger) {
	t.Helper()
	l := &ledger{events: map[string][]json.RawMessage{}}
	return setup(t, func(d *admin.Deps) { d.Ledger = l }), l
}

func TestConfigChangesAreListedInTheRecordedShape(t *testing.T) {
	t.Parallel()
	h, l := setupLedger(t)
	l.changes = []registry.Change{
		{Event: "config_change", At: now, By: "token", Method: "POST", Path: "tool-providers/ref-biz/debug-invoke"},
		{Event: "client_token_revealed", At: now, By: "ann", Method: "GET", Path: "clients/crm/token"},
	}
	want(t, h.admin("GET", "/admin/api/config-audit?limit=3", ""), 200, `[
		{"ts":"2026-11-30T15:52:48.906Z","by":"token","method":"POST","path":"tool-providers/ref-biz/debug-invoke"},
		{"ts":"2026-11-30T15:52:48.906Z","by":"ann","method":"GET","path":"clients/crm/token","event":"client_token_revealed"}]`)
	l.changes = nil
	want(t, h.admin("GET", "/admin/api/config-audit", ""), 200, `[]`)
	for query, asked := range map[string][]any{
		"": {50, 0}, "?limit=200&offset=10000": {200, 10_000}, "?limit=201": {200, 0},
	} {
		l.asked = nil
		if w := h.admin("GET", "/admin/api/config-audit"+query, ""); w.Code != 200 || !reflect.DeepEqual(l.asked, asked) {
			t.Errorf("%s: %d, asked %v", query, w.Code, l.asked)
		}
	}
	for _, query := range []string{"?limit=0", "?offset=10001", "?offset=-1"} {
		if w := h.admin("GET", "/admin/api/config-audit"+query, ""); w.Code != 400 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	l.err = errors.New("down")
	if w := h.admin("GET", "/admin/api/config-audit", ""); w.Code != 500 {
		t.Errorf("status %d", w.Code)
	}
}

func TestProviderEventsAreShownRedacted(t *testing.T) {
	t.Parallel()
	h, l := setupLedger(t)
	const path = "/admin/api/tool-providers/shop/events"
	want(t, h.admin("GET", path, ""), 404, `{"error":"the tool provider does not exist"}`)
	want(t, h.admin("GET", "/admin/api/tool-providers/X/events", ""), 404, `{"error":"the tool provider does not exist"}`)
	l.events["shop"] = []json.RawMessage{json.RawMessage(`{"event":"spec_refreshed","detail":{"secret":"s","by":"jo@shop.example"}}`)}
	want(t, h.admin("GET", path+"?limit=200", ""), 200, `[{"event":"spec_refreshed","detail":{"secret":"[REDACTED_SECRET]","by":"[REDACTED_EMAIL]"}}]`)
	if want := []any{"shop", 50, "shop", 200}; !reflect.DeepEqual(l.asked, want) {
		t.Errorf("asked %v", l.asked)
	}
	for _, query := range []string{"?limit=0", "?offset=1"} { // nothing is skipped here
		if w := h.admin("GET", path+query, ""); w.Code != 400 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	delete(l.events, "shop")
	if err := h.store.Providers().Put(t.Context(), "shop", registry.Versioned[registry.Provider]{Value: registry.Provider{Name: "shop"}}, registry.Change{}); err != nil {
		t.Fatal(err)
	}
	want(t, h.admin("GET", path, ""), 200, `[]`)
}

func TestSchemasOfConfigurationAreServed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, name := range []string{"client", "common", "credential", "route", "target", "tool-provider"} {
		w := h.admin("GET", "/admin/api/config-schemas/"+name, "")
		var schema struct {
			Schema string `json:"$schema"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &schema); err != nil || w.Code != 200 || !strings.Contains(schema.Schema, "json-schema.org") {
			t.Errorf("%s: %d, %v", name, w.Code, err)
		}
	}
	for _, name := range []string{"none", "client.schema.json", "..", "%2e%2e%2fapi%2frun-request", "api%2Frun-request"} {
		if w := h.admin("GET", "/admin/api/config-schemas/"+name, ""); w.Code != 404 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}
