package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// dedicated is a specification with an endpoint for the probe.
func dedicated(probe string, operations ...string) string {
	return strings.Replace(spec(operations...), `{"openapi"`, `{"x-bailing-authz-probe":`+probe+`,"openapi"`, 1)
}

func (w *world) inline(text, more string) {
	w.t.Helper()
	w.saveBody(fmt.Sprintf(`{"name":"shop","base_url":%q,"secret":%q,"spec_json":%s%s}`, w.business.URL+"/", secret, text, more))
}

func (w *world) probe() registry.AuthzProbe {
	w.t.Helper()
	p, err := w.ProbeAuthz(w.t.Context(), "shop", byAdmin)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// The classification of core §3.7, row by row.
func TestAnswersToAnAuthorizationProbe(t *testing.T) {
	t.Parallel()
	const endpoint = `{"path":"/authz"}`
	open := operation("order_list", "get", "/orders", `,"scope":"order.read"`, "")
	for name, c := range map[string]struct {
		spec   string
		status int
		body   string
		want   registry.AuthzStatus
	}{
		"dedicated 401":             {dedicated(endpoint), 401, `{"authorized":true}`, "pass"},
		"dedicated 403":             {dedicated(endpoint), 403, ``, "pass"},
		"dedicated false":           {dedicated(endpoint), 200, `{"authorized":false}`, "pass"},
		"dedicated allow false":     {dedicated(endpoint), 202, `{"allow":false}`, "pass"},
		"dedicated allowed false":   {dedicated(endpoint), 200, `{"x":1,"allowed":false}`, "pass"},
		"dedicated ok false":        {dedicated(endpoint), 200, `{"ok": false }`, "pass"},
		"dedicated true":            {dedicated(endpoint), 200, `{"authorized":true}`, "suspect"},
		"dedicated ok true":         {dedicated(endpoint), 299, `{"ok":true}`, "suspect"},
		"authorized decides":        {dedicated(endpoint), 200, `{"ok":true,"authorized":false}`, "pass"},
		"dedicated text":            {dedicated(endpoint), 200, `{"authorized":"false"}`, "inconclusive"},
		"dedicated no member":       {dedicated(endpoint), 200, `{}`, "inconclusive"},
		"dedicated no JSON":         {dedicated(endpoint), 200, `<html>`, "inconclusive"},
		"dedicated array":           {dedicated(endpoint), 200, `[false]`, "inconclusive"},
		"dedicated 404":             {dedicated(endpoint), 404, ``, "inconclusive"},
		"dedicated 500":             {dedicated(endpoint), 500, `{"authorized":false}`, "inconclusive"},
		"dedicated 302":             {dedicated(endpoint), 302, ``, "inconclusive"},
		"tool with subject 401":     {spec(read()), 401, ``, "pass"},
		"tool with subject 403":     {spec(read()), 403, ``, "pass"},
		"tool with subject 200":     {spec(read()), 200, `{"authorized":false}`, "suspect"},
		"tool with subject 500":     {spec(read()), 500, ``, "inconclusive"},
		"tool without subject 200":  {spec(open), 200, `[]`, "inconclusive"},
		"tool without subject 403":  {spec(open), 403, ``, "pass"},
		"nothing but a write":       {spec(pay("low")), 200, ``, "skipped"},
		"no operation":              {spec(operation("a", "get", "/a", "", "")), 200, ``, "skipped"},
		"flagged operation, denied": {spec(operation("check", "post", "/check", `,"scope":"a.b"`, `"x-bailing-authz-probe":true,"parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]`)), 403, ``, "pass"},
	} {
		w := setup(t)
		w.business.handler = func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(c.status)
			_, _ = rw.Write([]byte(c.body))
		}
		w.inline(c.spec, "")
		got := w.probe()
		if got.Status != c.want || got.At != "2026-11-30T15:52:48.000Z" || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
			continue
		}
		if c.want != "skipped" && (got.HTTP != c.status || got.RequiresSubject == nil) {
			t.Errorf("%s: %+v", name, got)
		}
		if stored := w.provider("shop").AuthzProbe; stored == nil || stored.Status != got.Status {
			t.Errorf("%s: stored %+v", name, stored)
		}
	}
}

// What is sent, beside the golden vector of the contract.
func TestAnAuthorizationProbeIsSigned(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.inline(dedicated(`{"path":"/.well-known/bailing/authz-probe","operationId":"probe_me"}`), "")
	if got := w.probe(); got.Status != registry.AuthzPass || got.Mode != "dedicated" || got.Tool != "probe_me" || !*got.RequiresSubject {
		t.Fatalf("%+v", got)
	}
	r := w.business.seen()[0]
	if r.method != "POST" || r.path != "/.well-known/bailing/authz-probe" ||
		r.body != `{"subject":"__bailing_authz_probe__:nobody","reason":"bailing-authz-probe","expect":"deny"}` {
		t.Fatalf("%+v", r)
	}
	for name, want := range map[string]string{
		"X-Bailing-On-Behalf-Of": "__bailing_authz_probe__:nobody", "X-Bailing-Job-Id": "probe", "X-Bailing-Client": "__probe__",
		"X-Bailing-Tool-Scope": "__probe__.authz", "Content-Type": "application/json", "X-Bailing-Idempotency-Key": "",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}

	w.inline(spec(operation("open_list", "get", "/open", `,"scope":"a"`, ""), read()), "")
	if got := w.probe(); got.Mode != "tool" || got.Tool != "order_list" {
		t.Fatalf("the tool that requires a subject is preferred: %+v", got)
	}
	if r := w.business.seen()[1]; r.method != "GET" || r.path != "/orders" || r.body != "" || r.header.Get("X-Bailing-Tool-Scope") != "__probe__.authz" {
		t.Fatalf("%+v", r)
	}
	w.inline(dedicated(`{"path":"/authz","method":"GET"}`), "")
	w.probe()
	if r := w.business.seen()[2]; r.method != "GET" || r.body != "" {
		t.Fatalf("%+v", r)
	}
}

// The vectors AUTHZ-PROBE-DEDICATED, SPEC-FETCH and SPEC-FETCH-QUERY of the contract, by their bytes on the wire.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spec", "vectors", "core.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the folder shared is not beside the repository: no vectors")
	}
	type vector struct {
		ID              string `json:"id"`
		At              int64  `json:"timestamp_sec"`
		Path            string `json:"path_with_query"`
		Body, Signature string
	}
	var file struct {
		Secret string   `json:"secret"`
		Calls  []vector `json:"tool_signatures"`
	}
	if err := errors.Join(err, json.Unmarshal(b, &file)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range file.Calls {
		probe := v.ID == "AUTHZ-PROBE-DEDICATED"
		if !probe && !strings.HasPrefix(v.ID, "SPEC-FETCH") {
			continue
		}
		seen++
		w := setupAt(t, time.Unix(v.At, 0))
		if probe {
			w.saveBody(fmt.Sprintf(`{"name":"shop","base_url":%q,"secret":%q,"spec_json":%s}`, w.business.URL, file.Secret, dedicated(`{"path":"`+v.Path+`"}`)))
			w.probe()
		} else {
			w.saveBody(fmt.Sprintf(`{"name":"shop","base_url":%q,"secret":%q,"spec_source":"url","spec_url":%q}`, w.business.URL, file.Secret, w.business.URL+v.Path))
			_, _ = w.refresh() // the server knows another secret
		}
		r := w.business.seen()[0]
		if r.path != v.Path || r.body != v.Body || r.header.Get("X-Bailing-Timestamp") != fmt.Sprint(v.At) || r.header.Get("X-Bailing-Signature") != v.Signature {
			t.Errorf("%s: %+v, want %+v", v.ID, r, v)
		}
	}
	if seen != 3 {
		t.Errorf("%d vectors", seen)
	}
}

func TestAProbeThatGetsNoAnswerIsInconclusive(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.business.handler = func(http.ResponseWriter, *http.Request) { <-w.business.release }
	w.inline(dedicated(`{"path":"/authz"}`), `,"timeout_ms":60000`)
	before := w.clock.Now()
	w.passing(func(ctx context.Context) {
		if got, err := w.ProbeAuthz(ctx, "shop", byAdmin); err != nil || got.Status != registry.AuthzInconclusive || got.HTTP != 0 {
			t.Errorf("%+v %v", got, err)
		}
	})
	if took := w.clock.Now().Sub(before); took > 9*time.Second {
		t.Errorf("it waited %v, want at most 8 s", took)
	}
}

func TestWhatIsNotProbed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.inline(spec(), `,"enabled":false`)
	if got := w.probe(); got.Status != registry.AuthzSkipped || got.Mode != "" || got.RequiresSubject != nil {
		t.Errorf("disabled: %+v", got)
	}
	w.saveAs("url", "")
	if got := w.ProbeSaved(t.Context(), "url", byAdmin); got.Status != registry.AuthzSkipped {
		t.Errorf("without a specification: %+v", got)
	}
	if _, err := w.ProbeAuthz(t.Context(), "nobody", byAdmin); apierr.CodeOf(err) != apierr.NotFound {
		t.Error(err)
	}
	if n := len(w.business.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestASuspectIsAnAlert(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.business.handler = func(rw http.ResponseWriter, _ *http.Request) {}
	w.inline(spec(), "")
	if got := w.probe(); got.Status != registry.AuthzSuspect {
		t.Fatalf("%+v", got)
	}
	events := w.store.Events()
	if last := events[len(events)-1]; last.Name != "authorize_probe" || last.Severity != "warning" || last.Detail["alert_key"] != "authz_probe_shop" {
		t.Fatalf("%+v", last)
	}
}

// An answer is about the business that gave it.
func TestAProbeIsNotNotedOnAnotherBusiness(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.business.handler = func(rw http.ResponseWriter, _ *http.Request) {
		w.saveBody(`{"name":"shop","base_url":"https://other.example"}`)
	}
	w.inline(spec(), "")
	if _, err := w.ProbeAuthz(t.Context(), "shop", byAdmin); apierr.CodeOf(err) != apierr.Conflict {
		t.Fatal(err)
	}
	if p := w.provider("shop"); p.AuthzProbe != nil {
		t.Fatalf("%+v", p.AuthzProbe)
	}
	w.inline(spec(), "")
	if got := w.ProbeSaved(t.Context(), "shop", byAdmin); got.Status != registry.AuthzInconclusive || got.Reason == "" {
		t.Fatalf("a save stands whatever comes of its probe: %+v", got)
	}
}

func TestASaveForgetsTheProbeOfAnotherBusiness(t *testing.T) {
	t.Parallel()
	for change, keeps := range map[string]bool{
		`"description":"x"`: true, `"base_url":"https://other.example"`: false, `"enabled":false`: false,
		`"secret":"another-secret-of-32-characters"`: false, `"spec_json":` + spec(read()): false, `"spec_json":` + spec(): true,
	} {
		w := setup(t)
		w.inline(spec(), "")
		w.probe()
		body := map[string]json.RawMessage{"name": json.RawMessage(`"shop"`), "base_url": json.RawMessage(fmt.Sprintf("%q", w.business.URL))}
		if err := json.Unmarshal([]byte("{"+change+"}"), &body); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(body)
		w.saveBody(string(b))
		if got := w.provider("shop").AuthzProbe; (got != nil) != keeps {
			t.Errorf("%.40s: %+v", change, got)
		}
	}
}
