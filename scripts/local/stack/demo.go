package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"bailing/scripts/demo/business"
	"bailing/scripts/demo/scripted"
	"bailing/shared/clock"
	"bailing/shared/platform"
)

// What the demo configures.
const (
	DemoRoute    = "order_assistant"
	DemoClient   = "demo-app"
	DemoProvider = "demo-business"
	DemoModel    = "demo"
)

// Demo is the demo business, the scripted model, and the client that may use them.
type Demo struct {
	Business    *business.Business
	BusinessURL string
	ModelURL    string
	ClientToken string

	servers []*http.Server
}

// startDemo starts both servers and configures the hub through its own admin API.
func startDemo(ctx context.Context, hub, serverToken string, c clock.Clock, log *slog.Logger) (*Demo, error) {
	d := &Demo{}
	secret, modelKey := platform.NewToken(), platform.NewToken()
	d.Business = business.New(business.Options{Secret: secret, Clock: c, Logger: log})
	var err error
	if d.BusinessURL, err = d.listen(d.Business); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.ModelURL, err = d.listen(scripted.New(scripted.Options{Key: modelKey, Model: DemoModel})); err != nil {
		return nil, errors.Join(err, d.close())
	}
	a := adminClient{url: hub, token: serverToken}
	steps := []struct {
		path string
		body map[string]any
	}{
		{"targets", map[string]any{"name": "llm", "kind": "inhub", "description": "OpenAI-compatible chat models"}},
		{"credentials", map[string]any{
			"name": DemoModel, "kind": "chat", "base_url": d.ModelURL + "/v1", "api_key": modelKey, "default_model": DemoModel,
			"description": "The scripted model of the demo",
		}},
		{"tool-providers", map[string]any{
			"name": DemoProvider, "base_url": d.BusinessURL, "spec_source": "url", "spec_url": d.BusinessURL + business.SpecPath,
			"spec_access_policy": "signed_required", "auto_refresh_min": 60,
			"secret": secret, "rate_limit_per_min": 0, "description": "The order system of the demo",
		}},
		{"tool-providers/" + DemoProvider + "/refresh", nil},
		{"routes", map[string]any{
			"route_key": DemoRoute, "name": "Order assistant", "target": "llm",
			"target_config":  map[string]any{"credential": DemoModel, "system_prompt": "You answer questions about orders."},
			"session_policy": "per_key", "session_key_field": "session",
			"tools": map[string]any{
				"sources":   []any{map[string]any{"provider": DemoProvider, "allow": []any{"demo.*"}, "subject_field": "operator_uid"}},
				"max_calls": 5,
				"approval":  map[string]any{"type": "business_webhook", "url": d.BusinessURL + business.ApprovalsPath},
			},
		}},
		{"clients", map[string]any{
			"app_id": DemoClient, "name": "Demo client", "allowed_routes": []any{DemoRoute}, "rate_limit_per_min": 0,
			"agent_authorize_url": d.BusinessURL + business.AuthorizePath,
		}},
	}
	for _, step := range steps {
		answer, err := a.post(ctx, "/admin/api/"+step.path, step.body)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("stack: demo %s: %w", step.path, err), d.close())
		}
		if step.path == "clients" {
			d.ClientToken, _ = answer["token"].(string)
			d.Business.TrustCallbacks(d.ClientToken)
			d.Business.OpenConsent(business.Consent{
				Hub: hub, Token: d.ClientToken, Origin: d.BusinessURL, Workspaces: map[string]string{DemoRoute: "Order assistant"},
			})
		}
	}
	return d, nil
}

func (d *Demo) listen(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("stack: demo: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	d.servers = append(d.servers, s)
	go func() { _ = s.Serve(l) }() // ends with close
	return "http://" + l.Addr().String(), nil
}

func (d *Demo) close() error {
	var errs []error
	for _, s := range d.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// adminClient calls the admin API as an operator would.
type adminClient struct{ url, token string }

func (a adminClient) post(ctx context.Context, path string, body any) (map[string]any, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	var answer map[string]any
	return answer, json.Unmarshal(text, &answer)
}
