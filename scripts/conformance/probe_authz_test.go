package conformance_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The verdicts of core §3.7, for an endpoint that is dedicated to the probe and for a tool that stands in for one.
func TestAuthorizationVerdicts(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	front := startCanned(t)
	const (
		tool    = `{"openapi":"3.1.0","paths":{"/me":{"get":{"operationId":"me","summary":"s","x-agent-capability":{"version":1,"enabled":true,"scope":"me"`
		subject = tool + `,"subject":{"required":true}}}}}}`
		anybody = tool + `}}}}}`
	)
	for _, tc := range []struct {
		status                      int
		body                        string
		dedicated, subject, anybody string
	}{
		{401, "", "pass", "pass", "pass"},
		{403, `{"authorized":true}`, "pass", "pass", "pass"},
		{200, `{"authorized":false}`, "pass", "suspect", "inconclusive"},
		{200, `{"authorized":true}`, "suspect", "suspect", "inconclusive"},
		{201, `{"allow":false}`, "pass", "suspect", "inconclusive"},
		{200, `{"allowed":false}`, "pass", "suspect", "inconclusive"},
		{200, `{"ok":false}`, "pass", "suspect", "inconclusive"},
		{299, `{"ok":true}`, "suspect", "suspect", "inconclusive"},
		{200, `{"ok":true,"authorized":false}`, "pass", "suspect", "inconclusive"},
		{200, `{"authorized":"false"}`, "inconclusive", "suspect", "inconclusive"},
		{200, `{"authorized":0}`, "inconclusive", "suspect", "inconclusive"},
		{200, `{"Authorized":false}`, "inconclusive", "suspect", "inconclusive"},
		{200, `{"data":{"authorized":false}}`, "inconclusive", "suspect", "inconclusive"},
		{200, `[{"authorized":false}]`, "inconclusive", "suspect", "inconclusive"},
		{200, `{"authorized":false`, "inconclusive", "suspect", "inconclusive"},
		{200, "false", "inconclusive", "suspect", "inconclusive"},
		{200, "", "inconclusive", "suspect", "inconclusive"},
		{204, "", "inconclusive", "suspect", "inconclusive"},
		{200, strings.Repeat(" ", 2<<20) + `{"authorized":false}`, "inconclusive", "suspect", "inconclusive"},
		{302, "", "inconclusive", "inconclusive", "inconclusive"},
		{400, `{"authorized":false}`, "inconclusive", "inconclusive", "inconclusive"},
		{404, "", "inconclusive", "inconclusive", "inconclusive"},
		{429, "", "inconclusive", "inconclusive", "inconclusive"},
		{500, `{"authorized":false}`, "inconclusive", "inconclusive", "inconclusive"},
	} {
		for _, kind := range []struct {
			spec, mode, tool, want string
			subject                bool
		}{
			{shopSpec, "dedicated", "authz_probe", tc.dedicated, true}, {subject, "tool", "me", tc.subject, true}, {anybody, "tool", "me", tc.anybody, false},
		} {
			front.say(tc.status, tc.body, "/elsewhere")
			saved := s.saved(object{"base_url": front.url, "spec_source": "inline", "spec_url": nil, "spec_json": kind.spec})
			probe := saved["authz_probe"].(map[string]any)
			code, _ := probe["http"].(json.Number).Int64()
			about := probe["mode"] == kind.mode && probe["tool"] == kind.tool && probe["requires_subject"] == kind.subject
			if probe["status"] != kind.want || int(code) != tc.status || !about {
				t.Errorf("%d %.40q, %s: %v, want %s", tc.status, tc.body, kind.mode, probe, kind.want)
			}
			stored, _ := s.entry()["authz_probe"].(map[string]any)
			if stored["status"] != kind.want || stored["at"] != probe["at"] {
				t.Errorf("%d %.40q, %s: stored as %v", tc.status, tc.body, kind.mode, stored)
			}
		}
	}
}

// Each request of a probe says the same about itself, and the business's path decides nothing about the host (core §3.7).
func TestProbesAsTheBusinessGetsThem(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	for declared, want := range map[string]string{
		`{"path":"/.well-known/bailing/authz-probe"}`:                                   "POST /.well-known/bailing/authz-probe",
		`{"path":"/.well-known/bailing/authz-probe","method":"GET"}`:                    "GET /.well-known/bailing/authz-probe",
		`{"path":"/.well-known/bailing/authz-probe","method":"put"}`:                    "PUT /.well-known/bailing/authz-probe",
		`{"path":"/.well-known/x","operationId":"deny"}`:                                "POST /.well-known/x",
		`{"path":"/.well-known/` + strings.Repeat("p", 512-len("/.well-known/")) + `"}`: "POST /.well-known/" + strings.Repeat("p", 512-len("/.well-known/")),
		`{"path":"/.well-known/` + strings.Repeat("p", 513-len("/.well-known/")) + `"}`: "",
		`{"path":"https://evil.example/.well-known/x"}`:                                 "",
		`{"path":"@evil.example/.well-known/x"}`:                                        "",
		`{"path":"/.well-known/../x"}`:                                                  "",
		`{"path":"/.well-known/{id}"}`:                                                  "",
		`{"path":7}`:                                                                    "",
	} {
		s.b.take()
		a := s.provider(object{
			"spec_source": "inline", "spec_url": nil, "spec_json": `{"openapi":"3.1.0","x-bailing-authz-probe":` + declared + `,"paths":{}}`,
		})
		calls := s.b.take()
		if want == "" {
			if len(calls) > 0 {
				t.Errorf("%.80s: sent %s", declared, calls[0].uri)
			}
			if probe, _ := a.object(t)["authz_probe"].(map[string]any); a.status == http.StatusOK && probe["status"] != "skipped" {
				t.Errorf("%.80s: %s", declared, cut(a.body))
			}
			continue
		}
		if a.status != http.StatusOK || len(calls) != 1 || calls[0].method+" "+calls[0].uri != want {
			t.Errorf("%.80s: %d %s, %d requests", declared, a.status, cut(a.body), len(calls))
			continue
		}
		c := calls[0]
		for name, value := range map[string]string{
			"X-Bailing-Job-Id": "probe", "X-Bailing-Client": "__probe__", "X-Bailing-Tool-Scope": "__probe__.authz",
			"X-Bailing-On-Behalf-Of": "__bailing_authz_probe__:nobody", "X-Bailing-Idempotency-Key": "",
		} {
			if c.header.Get(name) != value {
				t.Errorf("%.80s: %s is %q", declared, name, c.header.Get(name))
			}
		}
		sent := `{"subject":"__bailing_authz_probe__:nobody","reason":"bailing-authz-probe","expect":"deny"}`
		if c.method == "GET" {
			sent = ""
		}
		if !c.signed || c.body != sent {
			t.Errorf("%.80s: signed %v, body %s", declared, c.signed, c.body)
		}
	}
}
