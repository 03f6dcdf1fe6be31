package sim

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/scripts/local/gateway"
)

const (
	modelAddress = "127.0.0.1:7100"
	trapAddress  = "127.0.0.1:6666" // whoever comes here followed a redirect
)

func businessAddress(i int) string { return fmt.Sprintf("127.0.0.1:%d", 7001+i) }

// configure sets the product up as administrators do.
func (w *world) configure() error {
	handlers := map[string]lambda.Handler{}
	for _, f := range w.topology.Functions {
		handlers[f.Name] = handler{w, f}
	}
	n := 0
	var err error
	logger := slog.New(slog.NewJSONHandler(w.logs, nil))
	w.gateway, err = gateway.New(w.topology, handlers, gateway.Options{Logger: logger, NewID: func() string {
		n++
		return fmt.Sprintf("00000000-0000-4000-9000-%012d", n)
	}})
	if err != nil {
		return err
	}
	w.modelKey = w.canary("key of the model")
	w.net.servers[modelAddress] = w.modelServer()
	w.net.servers[trapAddress] = w.trapServer()
	type save struct {
		kind, name string
		body       map[string]any
	}
	steps := []save{
		{"targets", "llm", map[string]any{"name": "llm", "kind": "inhub"}},
		{"credentials", "model", map[string]any{
			"name": "model", "kind": "chat", "base_url": "http://" + modelAddress + "/v1", "api_key": w.modelKey, "default_model": "scripted",
		}},
	}
	for i := range 1 + w.rng.IntN(2) {
		name := "biz" + string(rune('a'+i))
		w.businesses = append(w.businesses, name)
		w.secrets[name] = w.canary("secret of business " + name)
		w.net.servers[businessAddress(i)] = w.businessServer(name)
		body := map[string]any{
			"name": name, "base_url": "http://" + businessAddress(i), "spec_source": "inline", "spec_json": w.published(name, "always"),
			"secret":             w.secrets[name],
			"rate_limit_per_min": pick(w.schedule, 0, 0, 30), "timeout_ms": 10000,
		}
		steps = append(steps, save{"tool-providers", name, body})
	}
	for i := range 1 + w.rng.IntN(2) {
		key := fmt.Sprintf("route_%d", i)
		w.routes = append(w.routes, key)
		var sources []any
		for _, b := range w.businesses {
			sources = append(sources, map[string]any{"provider": b, "allow": []any{"sim.*"}, "subject_field": "operator"})
		}
		body := map[string]any{
			"route_key": key, "name": key, "target": "llm", "target_config": map[string]any{"credential": "model", "timeout_ms": 30000},
			"session_policy": "per_key", "session_key_field": "session",
			"tools": map[string]any{"sources": sources, "max_calls": 4 + w.rng.IntN(6), "approval": map[string]any{
				"type": "business_webhook", "url": fmt.Sprintf("http://127.0.0.1:%d/approvals", 7300+i), "expires_in_s": pick(w.schedule, 120, 3600, 7200),
			}},
		}
		w.net.servers[fmt.Sprintf("127.0.0.1:%d", 7300+i)] = w.approverServer()
		if w.flip(0.15) { // a few jobs, and then no more
			body["budget"] = map[string]any{"window": "day", "hard_tokens": 30 + w.rng.IntN(100)}
		}
		if w.flip(0.5) {
			body["retry"] = map[string]any{"max": 1 + w.rng.IntN(3), "backoff_ms": pick(w.schedule, 500, 5000, 60000)}
		}
		if w.flip(0.3) {
			address := fmt.Sprintf("127.0.0.1:%d", 7200+i)
			body["delivery"] = map[string]any{"type": "webhook", "url": "http://" + address + "/delivery"}
			w.net.servers[address] = w.receiver(address)
		}
		steps = append(steps, save{"routes", key, body})
	}
	for i := range 1 + w.rng.IntN(2) {
		name := fmt.Sprintf("client-%d", i)
		var routes []any
		for _, r := range w.routes {
			routes = append(routes, r)
		}
		w.clients = append(w.clients, &client{name: name})
		steps = append(steps, save{"clients", name, map[string]any{
			"app_id": name, "name": name, "allowed_routes": routes, "rate_limit_per_min": pick(w.schedule, 0, 20),
		}})
	}
	made := 0
	for _, s := range steps {
		out, err := w.must(http.MethodPost, "/admin/api/"+s.kind, s.body)
		if err != nil {
			return err
		}
		if s.kind == "clients" {
			w.clients[made].token, _ = out["token"].(string)
			w.canaries[w.clients[made].token] = "token of " + s.name
			made++
		}
		w.settings[s.kind+"/"+s.name] = s.body
	}
	return nil
}
