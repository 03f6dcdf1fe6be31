package runs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	a := open(t, configure(func(c *platform.Config) { c.Commit, c.BuildTime = "abc123", "2026-07-01" }))
	a.run(a.token, jobtest.Submission("r"))
	a.Pause(true)
	r := a.call("GET", "/health", "/health", "", "")
	r.json(t)
	contracttest.ClientAPI(t, "health-response.schema.json", []byte(r.Body))
	var h struct {
		Status string
		App    struct{ Name, Version string }
		Build  struct{ Commit string }
		Paused bool
		Queue  struct{ Running, Waiting int }
	}
	r.into(t, &h)
	if r.Status != 200 || h.Status != "ok" || h.App.Name == "" || h.App.Version == "" || h.Build.Commit != "abc123" || !h.Paused || h.Queue.Waiting != 1 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if head := a.call("HEAD", "/health", "/health", "", ""); head.Status != 200 || head.Body != "" {
		t.Errorf("HEAD: %d %q", head.Status, head.Body)
	}
}

// The process serves: that alone is what /health says. /health/ready tells whether it can work.
func TestHealthWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	a := open(t, configure(func(c *platform.Config) { c.TablePrefix, c.JobsQueueURL = "absent-", "http://127.0.0.1:1/absent" }))
	r := a.call("GET", "/health", "/health", "", "")
	var h map[string]any
	r.into(t, &h)
	if r.Status != 200 || h["status"] != "ok" || h["paused"] != nil {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	r = a.call("GET", "/health/ready", "/health/ready", "", "")
	r.into(t, &h)
	if r.Status != 503 || h["status"] != "not_ready" || strings.Contains(r.Body, "absent") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if head := a.call("HEAD", "/health/ready", "/health/ready", "", ""); head.Status != 503 || head.Body != "" {
		t.Errorf("HEAD: %d %q", head.Status, head.Body)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	a := open(t)
	r := a.call("GET", "/health/ready", "/health/ready", "", "")
	var h struct {
		Status string
		Checks struct {
			Database   string
			Migrations struct{ Pending int }
		}
	}
	r.into(t, &h)
	if r.Status != 200 || h.Status != "ready" || h.Checks.Database != "ok" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	a := open(t)
	var v struct{ Contracts map[string]string }
	a.call("GET", "/version", "/version", "", "").into(t, &v)
	for name, want := range map[string]string{
		"boundary": "bailing.contract.v2.14", "toolDefinition": "bailing.tool-definition.v1", "approvalIntent": "bailing.approval-intent.v1",
		"approvalDecision": "bailing.approval-decision.v1", "chatStream": "bailing.chat.stream.v1", "widgetApi": "1",
	} {
		if v.Contracts[name] != want {
			t.Errorf("%s is %q, want %q", name, v.Contracts[name], want)
		}
	}
}

func TestArtefacts(t *testing.T) {
	t.Parallel()
	a := open(t)
	for _, tc := range []struct {
		resource, path, contentType string
		status                      int
	}{
		{"/contracts/client-api/v1/{file}", "/contracts/client-api/v1/manifest.json", "application/json; charset=utf-8", 200},
		{"/contracts/client-api/v1/{file}", "/contracts/client-api/v1/nothing.json", "application/json; charset=utf-8", 404},
		{"/contracts/client-api/v1/{file}", "/contracts/client-api/v1/..%2Fmanifest.json", "application/json; charset=utf-8", 404},
		{"/schemas/{proxy+}", "/schemas/nothing.schema.json", "application/json; charset=utf-8", 404},
		{"/schemas/{proxy+}", "/schemas/../openapi.json", "application/json; charset=utf-8", 404},
		{"/openapi.json", "/openapi.json", "application/json; charset=utf-8", 200},
	} {
		r := a.call("GET", tc.resource, tc.path, "", "")
		if r.Status != tc.status || r.Header.Get("Content-Type") != tc.contentType {
			t.Errorf("%s: %d, content type %q", tc.path, r.Status, r.Header.Get("Content-Type"))
		}
		if want := map[int]string{200: "no-cache", 404: "no-store"}[tc.status]; r.Header.Get("Cache-Control") != want {
			t.Errorf("%s: cache control %q, want %q", tc.path, r.Header.Get("Cache-Control"), want)
		}
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	a := open(t)
	for _, tc := range []struct{ method, path string }{{"GET", "/run"}, {"GET", "/nothing"}, {"DELETE", "/jobs/x"}} {
		payload := `{"resource":"","path":"` + tc.path + `","httpMethod":"` + tc.method + `","requestContext":{"domainName":"x"}}`
		a.invoke([]byte(payload)).want(t, 404, `{"error":"not found"}`)
	}
}

func TestPayloadThatIsNoEvent(t *testing.T) {
	t.Parallel()
	a := open(t)
	if _, err := a.handler.Invoke(context.Background(), []byte(`[]`)); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
