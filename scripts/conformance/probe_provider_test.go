package conformance_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestProviderDefaults(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	if probe := s.saved(nil)["authz_probe"].(map[string]any); probe["status"] != "skipped" {
		t.Errorf("probe of a provider that was never read: %v", probe)
	}
	p := s.entry()
	for name, want := range map[string]any{
		"spec_access_policy": "signed_required", "timeout_ms": 10_000.0, "rate_limit_per_min": 120.0, "auto_refresh_min": 0.0, "enabled": true,
		"log_payload": true, "has_spec": false, "secret": "ref-t…cdef",
	} {
		if p[name] != want {
			t.Errorf("%s is %v, want %v", name, p[name], want)
		}
	}
	s.saved(object{"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec, "base_url": s.b.url + "///"})
	if p := s.entry(); p["spec_access_policy"] != nil || p["spec_url"] != nil || p["base_url"] != s.b.url {
		t.Errorf("an inline provider: %v", p)
	}
	const open = "public_allowed"
	for policy, want := range map[any]any{open: open, "": open, nil: open, "signed_required": "signed_required"} {
		s.saved(object{"spec_access_policy": open})
		s.saved(object{"spec_access_policy": policy})
		if p := s.entry(); p["spec_access_policy"] != want {
			t.Errorf("policy %v after %v, want %v", p["spec_access_policy"], policy, want)
		}
	}
}

func TestProviderRulesOverHTTP(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(nil)
	before := asJSON(t, s.entry())
	long := s.b.url + "/" + strings.Repeat("s", 2048-len(s.b.url)-1)
	for member, values := range map[string][]any{
		"spec_access_policy": {"legacy_unverified", "SIGNED_REQUIRED", "none", 1, true, []any{}},
		"spec_source":        {"URL", "file", 1},
		"spec_url": {
			nil, "", " ", "/spec", "shop/spec", "ftp://shop.example/spec", "file:///etc/passwd", "http://", "http:///spec", "https://shop.example/#part",
			"https://u:p@shop.example/", "https://u@shop.example/", "https://shop.example\\@evil.example/", "https://shop.example/a b",
			"https://shop.example/é", "https://shop.example/\u0000", long + "s", 7, []any{"https://shop.example/"},
		},
		"base_url":         {nil, "", "shop", "ftp://shop.example"},
		"timeout_ms":       {"1000", 1000.5, true},
		"auto_refresh_min": {"5", 1.5, []any{}},
		"spec_json":        {shopSpec, object{}},
		"secret":           {"a\nb", " a", strings.Repeat("s", 4097), 5},
		"name":             {"s", "Shop", "shop ", "shöp", "-shop", strings.Repeat("s", 65), "sh/op", "../shop"},
		"unknown":          {1},
	} {
		for _, v := range values {
			a := s.provider(object{member: v})
			if a.status != http.StatusBadRequest {
				t.Errorf("%s %.60v: %d %s", member, v, a.status, cut(a.body))
				continue
			}
			if wantHeaders(t, a); !strings.Contains(a.object(t)["error"].(string), member) {
				t.Errorf("%s %.60v: the error does not name it: %s", member, v, cut(a.body))
			}
		}
	}
	if after := asJSON(t, s.entry()); after != before {
		t.Errorf("a refused save changed the record:\n%s\n%s", before, after)
	}
	s.saved(object{"spec_url": long})
	if calls := s.b.take(); len(calls) > 0 {
		t.Errorf("saving a URL sent %d requests", len(calls))
	}
}

func TestProviderClamps(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	for member, values := range map[string]map[any]float64{
		"timeout_ms": {
			nil: 10_000, -1: 1000, 0: 1000, 999: 1000, 1000: 1000, 1001: 1001, 59_999: 59_999, 60_000: 60_000, 60_001: 60_000, 1e15: 60_000,
		},
		"auto_refresh_min": {nil: 0, -1: 0, 0: 0, 1: 1, 1439: 1439, 1440: 1440, 1441: 1440, 1e15: 1440},
	} {
		for given, want := range values {
			s.saved(object{member: given, "spec_access_policy": "public_allowed"})
			if got := s.entry()[member]; got != want {
				t.Errorf("%s %v is kept as %v, want %v", member, given, got, want)
			}
		}
	}
}

// What a list shows can be sent back: nothing is lost, least of all the secret, of which it shows only the ends.
func TestAnEntryOfTheListCanBePostedBack(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]object{
		"url": nil, "public": {"spec_access_policy": "public_allowed"}, "a short secret": {"secret": "short"},
		"inline": {"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startShop(t)
			if key, ok := source["secret"].(string); ok {
				s.b.secret = key
			}
			s.saved(source)
			s.b.publish("", access{map[bool]int{true: 200, false: 401}[name == "public"], 401, 200, ""})
			if name != "inline" {
				if a := s.call("refresh", ""); a.status != http.StatusOK {
					t.Fatalf("refresh: %d %s", a.status, cut(a.body))
				}
			}
			before := s.entry()
			a := s.post("/admin/api/tool-providers", s.admin, asJSON(t, before))
			if a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, cut(a.body))
			}
			if probe := a.object(t)["authz_probe"].(map[string]any); probe["status"] != "pass" {
				t.Errorf("the secret is another one now: %v", probe)
			}
			after := s.entry()
			delete(before, "authz_probe") // it ran again
			delete(after, "authz_probe")
			if b, a := asJSON(t, before), asJSON(t, after); a != b {
				t.Errorf("was %s\nnow %s", b, a)
			}
			if n := s.tools(); n != shopTools {
				t.Errorf("%d tools", n)
			}
		})
	}
}

// Evidence about a source is not evidence about another one (core §4.1).
func TestAChangedSourceHasNoAccessProbe(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	for _, change := range []object{
		{"spec_url": s.b.url + specPath + "?v=2"}, {"spec_access_policy": "public_allowed"}, {"secret": "another-secret-of-some-length"},
	} {
		s.saved(object{"spec_access_policy": "signed_required"})
		if a := s.call("refresh", ""); a.status != http.StatusOK || s.access()["status"] != "protected" {
			t.Fatalf("refresh: %d %s", a.status, cut(a.body))
		}
		s.saved(object{"description": "the same source", "secret": ""})
		if s.access()["status"] != "protected" {
			t.Error("a change of something else took the finding away")
		}
		s.saved(change)
		if p := s.entry(); p["spec_access_probe"] != nil || p["has_spec"] != true {
			t.Errorf("after %v: %v", change, p)
		}
	}
}

func TestDisabledProvidersAreNotProbed(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(object{"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec})
	s.b.take()
	a := s.saved(object{"spec_source": "inline", "spec_url": nil, "enabled": false})
	onDemand := s.call("authz-probe", "").object(t)
	for _, o := range []map[string]any{a, onDemand} {
		probe := o["authz_probe"].(map[string]any)
		if probe["status"] != "skipped" || probe["reason"] == "" || probe["at"] == "" || probe["http"] != nil || probe["mode"] != nil {
			t.Errorf("probe %v", probe)
		}
	}
	if stored := s.entry()["authz_probe"].(map[string]any); stored["status"] != "skipped" {
		t.Errorf("stored %v", stored)
	}
	if n := len(s.b.take()); n > 0 {
		t.Errorf("%d requests", n)
	}
	// Its specification can be read all the same, so that it is looked at before it is enabled.
	s.saved(object{"enabled": false})
	refreshed := s.call("refresh", "")
	probe, _ := refreshed.object(t)["authz_probe"].(map[string]any)
	if refreshed.status != http.StatusOK || probe["status"] != "skipped" || s.entry()["enabled"] != false {
		t.Errorf("refresh: %d %s", refreshed.status, cut(refreshed.body))
	}
}

func TestProviderPaths(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(object{"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec})
	token := s.client("crm", "*")
	const base = "/admin/api/tool-providers/"
	endpoints := []struct{ method, what, body string }{
		{"POST", "refresh", ""}, {"POST", "authz-probe", ""}, {"GET", "tools", ""}, {"POST", "debug-invoke", `{"tool":"read_thing","args":{"id":"1"}}`},
	}
	for _, e := range endpoints {
		for _, name := range []string{
			"nope", "SHOP", "Shop", "shop%20", "%20shop", "shop%00", "shop%0a", "shop%25", "shop%2f", "shop%2F..%2Fshop", "..", "%2e%2e", "*", "s",
			"sh%C3%B6p", "shop;v=1", "x/shop", strings.Repeat("s", 64), strings.Repeat("s", 65), strings.Repeat("s", 4000),
			url.PathEscape(strings.Repeat("é", 500)),
		} {
			a := s.do(e.method, base+name+"/"+e.what, e.body, "Authorization", "Bearer "+s.admin)
			if a.status != http.StatusNotFound || a.object(t)["error"] == "" {
				t.Errorf("%s %.40s/%s: %d %s", e.method, name, e.what, a.status, cut(a.body))
			}
		}
		want := http.StatusOK
		if e.what == "refresh" {
			want = http.StatusBadRequest // inline
		}
		for _, name := range []string{"shop", "%73hop", "s%68o%70", "shop?x=1"} {
			path, query, _ := strings.Cut(name, "?")
			if a := s.do(e.method, base+path+"/"+e.what+"?"+query, e.body, "Authorization", "Bearer "+s.admin); a.status != want {
				t.Errorf("%s %s/%s: %d %s", e.method, name, e.what, a.status, cut(a.body))
			}
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if method == e.method {
				continue
			}
			if a := s.do(method, base+"shop/"+e.what, e.body, "Authorization", "Bearer "+s.admin); a.status != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, e.what, a.status)
			}
		}
		if a := s.do(e.method, base+"shop/"+e.what+"/", e.body, "Authorization", "Bearer "+s.admin); a.status != http.StatusNotFound {
			t.Errorf("%s with a slash at the end: %d", e.what, a.status)
		}
		s.b.take()
		before := len(s.asked())
		wantError(t, s.do(e.method, base+"shop/"+e.what, e.body), 401, "unauthorized")
		wantError(t, s.do(e.method, base+"shop/"+e.what, e.body, "Authorization", "Bearer "+token), 403, "")
		wantError(t, s.do(e.method, base+"nope/"+e.what, e.body, "Authorization", "Bearer "+token), 403, "")
		if n := len(s.b.take()) + len(s.asked()) - before; n > 0 {
			t.Errorf("%s for a client sent %d requests", e.what, n)
		}
	}
}
