package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/clitest"
)

// session has the commands of this package.
func session(t *testing.T) *clitest.Session {
	t.Helper()
	commands := []*cli.Command{ApplyCommand(), ExportCommand()}
	for _, k := range Kinds {
		var more []*cli.Command
		switch k.Name {
		case "client":
			more = append(more, TokenCommand())
		case "provider":
			more = append(more, SecretCommand())
		}
		commands = append(commands, k.Group(more...))
	}
	return clitest.New(t, commands...)
}

// What a stub of a hub has.
const (
	targets     = `[{"name":"llm","kind":"inhub","stateless":true,"needs_project":false,"timeout_ms":120000,"enabled":true,"revision":""}]`
	credentials = `[{"name":"models","kind":"chat","base_url":"https://models.example/v1","api_key":"key-o…6789","default_model":"small","enabled":true,"revision":"c1"}]`
	providers   = `[{"name":"shop","base_url":"https://shop.example","spec_source":"url","spec_access_policy":"signed_required",` +
		`"spec_url":"https://shop.example/tools.json","spec_refreshed_at":"2026-03-10T12:00:00.000Z","secret":"secre…6789","spec_access_probe":{"status":"protected"},"log_payload":true,` +
		`"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":0,"enabled":true,"has_spec":true,"revision":"p1"}]`
	routes = `[{"route_key":"orders","name":"Orders","enabled":true,"target":"llm","target_config":{"credential":"models","temperature":0.2},` +
		`"profile":"readonly","session_policy":"new","tools":{"sources":[{"provider":"shop","allow":["orders.*"]}],"max_calls":5},"revision":"r1"},` +
		`{"route_key":"old","name":"Old","enabled":false,"target":"llm","target_config":{"credential":"models"},"profile":"readonly",` +
		`"session_policy":"new","audience":{"clients":["crm"],"auto":true},"revision":"r2"}]`
	clients = `[{"app_id":"crm","name":"CRM","token":"09382…3a86","allowed_routes":["orders"],"allowed_channels":[],"rate_limit_per_min":60,"enabled":true,"revision":"k1"}]`
)

// stub is a hub that has all of that, and takes every write.
func stub(t *testing.T) (*clitest.Hub, *clitest.Session) {
	t.Helper()
	h := clitest.Start(t, map[string]string{
		"GET /admin/api/targets": targets, "GET /admin/api/credentials": credentials, "GET /admin/api/tool-providers": providers,
		"GET /admin/api/routes": routes, "GET /admin/api/clients": clients,
		"POST /admin/api/targets": `{"ok":true}`, "POST /admin/api/credentials": `{"ok":true}`,
		"POST /admin/api/tool-providers":              `{"ok":true,"authz_probe":{"status":"pass"}}`,
		"POST /admin/api/tool-providers/shop/refresh": `{"ok":true,"tools":1}`, "POST /admin/api/routes": `{"ok":true}`,
		"POST /admin/api/clients": `{"ok":true,"app_id":"crm","token":"11111111111111111111111111111111"}`,
	})
	for _, k := range Kinds {
		h.Keep("/admin/api/"+k.Path, k.Key, k.Secret)
	}
	s := session(t)
	h.Use(s)
	return h, s
}

// file writes a file for a test and returns its name.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hub.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func wantWrites(t *testing.T, h *clitest.Hub, want ...string) {
	t.Helper()
	if got := h.Writes(); !slices.Equal(got, want) {
		t.Errorf("writes %q, want %q", got, want)
	}
}
