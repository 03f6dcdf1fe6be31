package stack

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"bailing/functions/refresher"
	"bailing/scripts/demo/business"
	"bailing/shared/crashtest"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

// runRefresher lets a refresher do one round and returns how many calls it made.
func (w *crashWorld) runRefresher(dieAt int, after bool) int {
	w.t.Helper()
	f, _ := topology.System().FunctionNamed("refresher")
	ctx, cancel := w.clock.Invocation(w.t.Context(), f.Timeout)
	defer cancel()
	v := crashtest.NewVictim(dieAt, after, cancel)
	w.s.AWS.Faults().Set(v.Hook)
	defer w.s.AWS.Faults().Set(nil)
	c := w.s.Config
	c.AccessKey = crashtest.AccessKey
	h, err := refresher.New(platform.New("victim", c, platform.Options{Output: io.Discard, Clock: w.clock, Dial: v.Dial, HTTP: v}))
	if err != nil {
		w.t.Fatal(err)
	}
	_, _ = h.Invoke(ctx, []byte(`{}`)) // a dead round's answer reaches nobody
	return v.Steps()
}

// tools are the names of the demo provider's tools.
func (w *crashWorld) tools() (names []string) {
	w.t.Helper()
	var answer struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	w.request(http.MethodGet, "/admin/api/tool-providers/"+DemoProvider+"/tools", "", http.StatusOK, &answer)
	for _, tool := range answer.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// staleProvider gives the demo's provider an outdated specification of one tool, and lets its refresh become due.
func (w *crashWorld) staleProvider() {
	w.t.Helper()
	const save = "/admin/api/tool-providers"
	old := `{"openapi":"3.1.0","paths":{"/old":{"get":{"operationId":"old","summary":"s","x-agent-capability":{"version":1,"enabled":true,"scope":"demo.old"}}}}}`
	w.request(http.MethodPost, save, w.providerBody(map[string]any{"spec_source": "inline", "spec_json": old}), http.StatusOK, &struct{}{})
	w.request(http.MethodPost, save, w.providerBody(map[string]any{
		"spec_source": "url", "spec_url": w.s.Demo.BusinessURL + business.SpecPath, "auto_refresh_min": 1,
	}), http.StatusOK, &struct{}{})
	w.clock.Advance(time.Minute)
}

func (w *crashWorld) providerBody(members map[string]any) string {
	w.t.Helper()
	members["name"], members["base_url"], members["rate_limit_per_min"] = DemoProvider, w.s.Demo.BusinessURL, 0
	b, err := json.Marshal(members)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// A refresh that dies at any of its calls leaves the old specification or the new one, never a mixture, and the next rounds bring
// the new one.
func TestARefreshMayDieAtEveryCall(t *testing.T) {
	t.Parallel()
	w := emptyCrashWorld(t)
	fresh := w.tools()
	w.staleProvider()
	if old := w.tools(); !slices.Equal(old, []string{"old"}) {
		t.Fatalf("tools %v", old)
	}
	steps := w.runRefresher(0, false)
	if got := w.tools(); !slices.Equal(got, fresh) || steps < 10 {
		t.Fatalf("a living round made %d calls, tools %v", steps, got)
	}
	for dieAt := 1; dieAt <= steps; dieAt++ {
		for _, after := range []bool{false, true} {
			w.staleProvider()
			w.runRefresher(dieAt, after)
			if got := w.tools(); !slices.Equal(got, fresh) && !slices.Equal(got, []string{"old"}) {
				t.Fatalf("call %d, after %v: tools %v", dieAt, after, got)
			}
			w.clock.Advance(time.Minute)
			w.runRefresher(0, false)
			if got := w.tools(); !slices.Equal(got, fresh) {
				t.Fatalf("call %d, after %v: the next round left tools %v", dieAt, after, got)
			}
			var list []struct {
				Probe struct{ Status string } `json:"spec_access_probe"`
				Authz struct{ Status string } `json:"authz_probe"`
			}
			w.request(http.MethodGet, "/admin/api/tool-providers", "", http.StatusOK, &list)
			if list[0].Probe.Status != "protected" || list[0].Authz.Status != "pass" {
				t.Fatalf("call %d, after %v: %+v", dieAt, after, list)
			}
		}
	}
	t.Logf("%d calls", steps)
}
