package conformance_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The verdicts of core §4.2, from what the two reads that must be refused got.
func TestAccessVerdicts(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(nil)
	s.b.publish("", protected)
	if a := s.call("refresh", ""); a.status != http.StatusOK {
		t.Fatalf("refresh: %d %s", a.status, cut(a.body))
	}
	statuses := []int{200, 204, 206, 300, 302, 304, 400, 401, 402, 403, 404, 405, 429, 500, 503}
	refuses := func(n int) bool { return n == 401 || n == 403 || n == 404 }
	for i, unsigned := range statuses {
		for j, invalid := range statuses {
			if unsigned != 401 && invalid != 401 && i != j && (i+j)%7 > 0 { // each with each would take long
				continue
			}
			want := "inconclusive"
			switch {
			case unsigned < 300 || invalid < 300:
				want = "public"
			case refuses(unsigned) && refuses(invalid):
				want = "protected"
			}
			s.b.publish("", access{unsigned, invalid, 200, ""})
			a, status := s.call("refresh", ""), http.StatusBadRequest
			if want == "protected" {
				status = http.StatusOK
			}
			probe := s.access()
			seen := probe["signed_http"] == 200.0 && probe["unsigned_http"] == float64(unsigned) && probe["invalid_http"] == float64(invalid)
			if a.status != status || probe["status"] != want || !seen {
				t.Errorf("%d and %d: %d %v", unsigned, invalid, a.status, probe)
			}
			if reason, _ := probe["reason"].(string); a.status != http.StatusOK && reason == "" {
				t.Errorf("%d and %d: no reason", unsigned, invalid)
			}
		}
	}
	for _, signed := range []int{301, 302, 307, 400, 401, 403, 404, 500, 503} {
		s.b.take()
		s.b.publish("", access{200, 200, signed, ""})
		a := s.call("refresh", "")
		p := s.access()
		if a.status != http.StatusBadRequest || p["status"] != "inconclusive" || p["signed_http"] != float64(signed) || p["unsigned_http"] != nil {
			t.Errorf("signed %d: %d %v", signed, a.status, p)
		}
		if calls := s.b.take(); len(calls) != 1 || !calls[0].signed {
			t.Errorf("signed %d: %d requests", signed, len(calls))
		}
	}
	if n := s.tools(); n != shopTools {
		t.Errorf("%d tools after refreshes that failed", n)
	}
}

// A refresh that fails takes nothing away: jobs go on with the tools of the specification that was read last.
func TestJobsUseTheEarlierSpecificationAfterAFailedRefresh(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.withModel()
	s.saved(nil)
	if a := s.call("refresh", ""); a.status != http.StatusOK {
		t.Fatalf("refresh: %d %s", a.status, cut(a.body))
	}
	s.route("ask", object{"tools": object{"sources": []object{{"provider": "shop", "allow": []string{"*"}}}}})
	token := s.client("crm", "ask")
	for i, open := range []access{public, {500, 500, 500, ""}, {401, 401, 200, "no specification"}, {401, 401, 200, `{"openapi":"3.1.0","paths":{}}`}} {
		s.b.publish("", open)
		a := s.call("refresh", "")
		if served := i == 3; served != (a.status == http.StatusOK) {
			t.Fatalf("%v: %d %s", open, a.status, cut(a.body))
		}
		id := s.submit(token, object{
			"request_id": numbered("job", i), "route": "ask", "input": `[[tool read_thing {"id":"1"}]][[round]][[say told]]`,
		})["job_id"].(string)
		job := s.finished(id, token)
		calls := s.b.of(id)
		if want := map[bool]int{true: 0, false: 1}[i == 3]; job["status"] != "done" || len(calls) != want {
			t.Errorf("%v: job %v, %d calls, want %d", open, job["status"], len(calls), want)
		}
	}
}

func TestRefreshWhilePaused(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(nil)
	if a := s.post("/admin/pause", s.admin, ""); a.status != http.StatusOK {
		t.Fatalf("pause: %d", a.status)
	}
	if a := s.call("refresh", ""); a.status != http.StatusOK || s.tools() != shopTools {
		t.Errorf("refresh: %d %s", a.status, cut(a.body))
	}
	if a := s.call("authz-probe", ""); a.status != http.StatusOK {
		t.Errorf("probe: %d %s", a.status, cut(a.body))
	}
	if paused := s.get("/health", "").object(t)["paused"]; paused != true {
		t.Errorf("paused %v", paused)
	}
}

func TestRefreshesAtOnce(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(nil)
	answers := make([]answer, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = s.call("refresh", "") })
	}
	wg.Wait()
	for i, a := range answers {
		if a.status != http.StatusOK && a.status != http.StatusConflict {
			t.Errorf("refresh %d: %d %s", i, a.status, cut(a.body))
		}
	}
	if n := s.tools(); n != shopTools || s.access()["status"] != "protected" {
		t.Errorf("%d tools, %v", n, s.access())
	}
}

// A refresh never undoes a save that happened while it was reading.
func TestASaveDuringARefresh(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	var during atomic.Pointer[object]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if more := during.Swap(nil); more != nil {
			if a := s.provider(*more); a.status != http.StatusOK {
				t.Errorf("save: %d %s", a.status, cut(a.body))
			}
		}
		switch h := r.Header; h.Get("X-Bailing-Signature") {
		case "", noSignature:
			reply(w, http.StatusForbidden, "{}")
		default:
			reply(w, http.StatusOK, shopSpec)
		}
	}))
	t.Cleanup(front.Close)
	for _, tc := range []struct {
		more   object
		status int
	}{
		{object{"spec_url": front.URL, "secret": "", "enabled": false, "timeout_ms": 7000}, 200},
		{object{"spec_url": s.b.url + specPath}, 409},
		{object{"spec_source": "inline", "spec_url": nil, "spec_json": `{"openapi":"3.1.0","paths":{}}`}, 409},
	} {
		s.saved(object{"spec_url": front.URL})
		during.Store(&tc.more)
		if a := s.call("refresh", ""); a.status != tc.status {
			t.Errorf("%v: %d %s", tc.more, a.status, cut(a.body))
		}
		p := s.entry()
		for _, name := range []string{"spec_url", "enabled", "spec_source"} {
			if want, ok := tc.more[name]; ok && p[name] != want {
				t.Errorf("%v: %s is %v", tc.more, name, p[name])
			}
		}
	}
	if n := s.tools(); n != 0 {
		t.Errorf("%d tools, want those of the save", n)
	}
}

// ruleSpec is a specification of tools with twenty approval rules each, whose values hold a version and filling.
func ruleSpec(tools, version int, filling string) string {
	var paths []string
	for i := range tools {
		var when []string
		for j := range 20 {
			when = append(when, fmt.Sprintf(`{"param":"a","op":"in","value":["%d.%d%s"]}`, version, j, filling))
		}
		paths = append(paths, fmt.Sprintf(`"/t%[1]d":{"post":{"operationId":"t%[1]d","summary":"s",
			"x-agent-capability":{"version":1,"enabled":true,"scope":"pay","approval":{"when":[%[2]s]}},
			"parameters":[{"name":"a","in":"query","required":true,"description":"a","schema":{"type":"string"}}]}}`, i, strings.Join(when, ",")))
	}
	return `{"openapi":"3.1.0","paths":{` + strings.Join(paths, ",") + `}}`
}

// However much a specification holds and changes at once, the answers fit and name every tool.
func TestLargeSpecificationsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tools   int
		filling string // takes more room in an answer than in the specification
	}{{100, strings.Repeat(`\"`, 440)}, {1, strings.Repeat("<", 37_000)}} {
		s := startShop(t)
		s.saved(nil)
		s.b.publish(ruleSpec(tc.tools, 1, tc.filling), protected)
		if a := s.call("refresh", ""); a.status != http.StatusOK {
			t.Fatalf("%d tools: %d %s", tc.tools, a.status, cut(a.body))
		}
		seen := map[any]bool{}
		for len(seen) < tc.tools {
			a := s.get(fmt.Sprintf("/admin/api/tool-providers/shop/tools?offset=%d", len(seen)), s.admin)
			page, _ := a.object(t)["tools"].([]any)
			if a.status != http.StatusOK || len(page) == 0 {
				t.Errorf("%d tools: after %d tools: %d %.300s", tc.tools, len(seen), a.status, a.body)
				break
			}
			for _, tool := range page {
				seen[tool.(map[string]any)["name"]] = true
			}
		}
		s.b.publish(ruleSpec(tc.tools, 2, tc.filling), protected)
		a := s.call("refresh", "")
		if a.status != http.StatusOK {
			t.Errorf("%d tools: the change is stored, and answered with %d %s", tc.tools, a.status, cut(a.body))
			continue
		}
		for _, member := range []string{"changed", "weakened"} {
			if list, _ := a.object(t)[member].([]any); len(list) != tc.tools {
				t.Errorf("%d tools: %s names %d", tc.tools, member, len(list))
			}
		}
	}
}
