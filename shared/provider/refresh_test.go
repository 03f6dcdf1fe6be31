package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// The life of a provider: a public specification under signed_required is refused, a protected one taken, and whatever goes wrong
// afterwards keeps it (core §4.2, §4.3).
func TestTheLifeOfAProvider(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	if p := w.provider("shop"); p.SpecAccessPolicy != registry.SignedRequired || p.SpecAccessProbe != nil {
		t.Fatalf("a new URL source has policy %q and probe %v", p.SpecAccessPolicy, p.SpecAccessProbe)
	}

	w.business.set("public", spec())
	w.wantRefused("only, but requests without a signature and with an invalid one", registry.AccessProbe{Status: "public", SignedHTTP: 200, UnsignedHTTP: 200, InvalidHTTP: 200})
	if got := w.tools("shop"); got != nil {
		t.Fatalf("a refused specification was taken: %v", got)
	}

	w.business.set("protected", spec())
	r, err := w.refresh()
	if err != nil {
		t.Fatal(err)
	}
	if r.Tools != 2 || !reflect.DeepEqual(r.Diff.Added, []string{"order_list", "order_pay"}) || r.Warnings != nil {
		t.Fatalf("%+v", r)
	}
	want := registry.AccessProbe{Status: "protected", SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 401, At: "2026-11-30T15:52:48.000Z"}
	if p := w.provider("shop"); *p.SpecAccessProbe != want || !p.SpecRefreshedAt.Equal(start) || p.AuthzProbe.Status != registry.AuthzPass {
		t.Fatalf("%+v %+v", p.SpecAccessProbe, p.AuthzProbe)
	}
	kinds := []string{}
	for _, r := range w.business.seen() {
		kinds = append(kinds, r.method+" "+r.path+" "+r.header.Get("X-Bailing-Signature"))
	}
	slices.Sort(kinds[1:3])
	if len(kinds) != 4 || kinds[1] != "GET /spec?v=1 " || kinds[2] != "GET /spec?v=1 sha256="+strings.Repeat("0", 64) {
		t.Fatalf("requests %q", kinds)
	}
	first, later := w.business.seen()[0], w.business.seen()[2]
	if later.header.Get("X-Bailing-Signature") == "" {
		later = w.business.seen()[1]
	}
	if first.header.Get("X-Bailing-Timestamp") != later.header.Get("X-Bailing-Timestamp") {
		t.Fatal("the request with the invalid signature must differ in the signature alone")
	}

	w.clock.Advance(time.Minute)
	if r, err = w.refresh(); err != nil || !r.Diff.Empty() {
		t.Fatalf("the same specification changed %+v %v", r.Diff, err)
	}
	if p := w.provider("shop"); !p.SpecRefreshedAt.Equal(start) || !p.RefreshTriedAt.Equal(w.clock.Now()) {
		t.Fatal("spec_refreshed_at is the time of a change of the text")
	}

	w.business.set("protected", spec(read(), pay("low")))
	if r, err = w.refresh(); err != nil || len(r.Diff.Changed) != 1 || len(r.Diff.Changed[0].Weakened) == 0 {
		t.Fatalf("a lower risk is not called out: %+v %v", r.Diff, err)
	}
	last := w.store.Events()[len(w.store.Events())-2]
	if last.Name != "spec_refreshed" || last.Severity != "warning" || !strings.HasPrefix(last.Detail["alert_key"].(string), "spec_change_shop_") {
		t.Fatalf("%+v", last)
	}

	for mode, want := range map[string]struct {
		refusal string
		probe   registry.AccessProbe
	}{
		"signed:500":       {"HTTP 500", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 500}},
		"signed:404":       {"HTTP 404", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 404}},
		"signed:302":       {"redirects are not followed", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 302}},
		"signed:hang":      {"no whole answer in time", registry.AccessProbe{Status: "inconclusive"}},
		"signed:hang-body": {"no whole answer in time", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200}},
		"signed:half":      {"ended early", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200}},
		"signed:reset":     {"broke before", registry.AccessProbe{Status: "inconclusive"}},
		"signed:big":       {"more than 5242880 bytes", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200}},
		"unsigned:200":     {"a request without a signature can read", registry.AccessProbe{Status: "public", SignedHTTP: 200, UnsignedHTTP: 200, InvalidHTTP: 401}},
		"invalid:200":      {"a request with an invalid signature can read", registry.AccessProbe{Status: "public", SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 200}},
		"unsigned:204":     {"can read", registry.AccessProbe{Status: "public", SignedHTTP: 200, UnsignedHTTP: 204, InvalidHTTP: 401}},
		"unsigned:half":    {"can read", registry.AccessProbe{Status: "public", SignedHTTP: 200, UnsignedHTTP: 200, InvalidHTTP: 401}},
		"unsigned:302":     {"not clear", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, UnsignedHTTP: 302, InvalidHTTP: 401}},
		"invalid:503":      {"not clear", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 503}},
		"invalid:410":      {"not clear", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 410}},
		"invalid:400":      {"not clear", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 400}},
		"unsigned:hang":    {"got no answer (no whole answer in time)", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, InvalidHTTP: 401}},
		"invalid:reset":    {"got no answer", registry.AccessProbe{Status: "inconclusive", SignedHTTP: 200, UnsignedHTTP: 401}},
	} {
		w.business.set(mode, spec(operation("other", "get", "/other", `,"scope":"x"`, "")))
		w.passingIf(strings.Contains(mode, "hang"), func(context.Context) { w.wantRefused(want.refusal, want.probe) })
		if got := w.tools("shop"); !slices.Equal(got, []string{"order_list", "order_pay"}) {
			t.Fatalf("%s: the earlier specification is gone: %v", mode, got)
		}
	}
	for _, mode := range []string{"unsigned:403", "unsigned:404", "invalid:403", "invalid:404", "signed:full"} {
		w.business.set(mode, spec())
		if _, err := w.refresh(); err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
	}
}

// wantRefused refreshes and wants the refusal and the stored evidence.
func (w *world) wantRefused(reason string, probe registry.AccessProbe) {
	w.t.Helper()
	_, err := w.refresh()
	if apierr.CodeOf(err) != apierr.Invalid || !strings.Contains(err.Error(), reason) {
		w.t.Errorf("error %v, want one that says %q", err, reason)
		return
	}
	got := *w.provider("shop").SpecAccessProbe
	if got.Reason != apierr.Of(err).Message || got.At == "" {
		w.t.Errorf("probe %+v does not say %q", got, err)
	}
	got.Reason, got.At = "", ""
	if got != probe {
		w.t.Errorf("probe %+v, want %+v", got, probe)
	}
	events := w.store.Events()
	if last := events[len(events)-1]; last.Name != "spec_refresh_failed" || last.Detail["alert_key"] != "spec_refresh_fail_shop" || last.By != "token" {
		w.t.Errorf("last audit record %+v", last)
	}
}

func TestPublicAllowedNeverSigns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"spec_access_policy":"public_allowed"`)
	for _, mode := range []string{"protected", "unsigned:500", "unsigned:404", "unsigned:302", "unsigned:hang", "unsigned:half", "unsigned:big"} {
		w.business.set(mode, spec())
		w.passingIf(strings.Contains(mode, "hang"), func(context.Context) {
			if _, err := w.refresh(); apierr.CodeOf(err) != apierr.Invalid {
				t.Errorf("%s: %v", mode, err)
			}
		})
		if got := w.provider("shop").SpecAccessProbe; got.Status != registry.AccessInconclusive {
			t.Errorf("%s: %+v", mode, got)
		}
		if requests := w.business.seen(); len(requests) != 1 || requests[0].header.Get("X-Bailing-Signature") != "" {
			t.Errorf("%s: requests %+v", mode, requests)
		}
	}
	w.business.set("public", spec())
	if _, err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	if got := w.provider("shop").SpecAccessProbe; got.Status != registry.AccessPublic || got.UnsignedHTTP != 200 || got.SignedHTTP != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestASpecificationThatACacheCouldGiveToOthersIsReported(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	w.business.set("cacheable", spec())
	r, err := w.refresh()
	if err != nil || len(r.Warnings) != 1 || r.Warnings[0].Code != "spec_cacheable" {
		t.Fatalf("%+v %v", r.Warnings, err)
	}
	if got := w.provider("shop").SpecAccessProbe; got.Status != registry.AccessProtected || got.Reason == "" {
		t.Fatalf("%+v", got)
	}
}

func TestASpecificationThatDoesNotCompileIsRefusedWithDiagnostics(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	if _, err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.business.set("protected", "<html>please log in</html>")
	_, err := w.refresh()
	b, _ := json.Marshal(apierr.Of(err))
	if apierr.CodeOf(err) != apierr.Invalid || !strings.Contains(err.Error(), "cannot be used") {
		t.Fatalf("%v %s", err, b)
	}
	if got := w.tools("shop"); len(got) != 2 {
		t.Fatalf("the earlier specification is gone: %v", got)
	}
	// One bad operation does not keep the others out.
	w.business.set("protected", spec(read(), operation("bad", "get", "/bad", "", "")))
	r, err := w.refresh()
	if err != nil || r.Tools != 1 || r.Total != 1 || r.Diagnostics[0].Code != "missing_scope" || !slices.Equal(r.Diff.Removed, []string{"order_pay"}) {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestWhatCannotBeRefreshed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.saveBody(`{"name":"inline","base_url":"https://biz.example","secret":"` + secret + `"}`)
	if _, err := w.Refresh(t.Context(), "inline", byAdmin); apierr.CodeOf(err) != apierr.Invalid || !strings.Contains(err.Error(), "inline") {
		t.Error(err)
	}
	if _, err := w.Refresh(t.Context(), "nobody", byAdmin); apierr.CodeOf(err) != apierr.NotFound {
		t.Error(err)
	}
	if n := len(w.store.Events()); n != 0 {
		t.Errorf("%d audit records", n)
	}
}

// What was read belongs to the source that was read. A save in between makes it somebody else's.
func TestARefreshNeverOverwritesASave(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"protected", "public"} {
		w := setup(t)
		w.save("")
		w.business.set(mode, spec())
		saved := false
		w.store.BeforePut = func(kind, _ string) {
			if saved {
				return
			}
			saved = true
			w.save(`,"spec_access_policy":"public_allowed","description":"newer"`)
		}
		w.passing(func(context.Context) {
			if _, err := w.refresh(); apierr.CodeOf(err) != apierr.Conflict {
				t.Errorf("%s: %v", mode, err)
			}
		})
		if p := w.provider("shop"); p.Description != "newer" || p.SpecHash != "" || p.SpecAccessProbe != nil {
			t.Errorf("%s: %+v", mode, p)
		}
	}
}

// A save of anything else is no reason to lose what was read: the finding is written again over it.
func TestARefreshFollowsAnUnrelatedSave(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	saved := false
	w.store.BeforePut = func(kind, _ string) {
		if !saved {
			saved = true
			w.saveBody(`{"name":"shop","base_url":"` + w.business.URL + `","spec_source":"url","spec_url":"` + w.business.URL + `/spec?v=1","description":"newer"}`)
		}
	}
	w.passing(func(context.Context) {
		if _, err := w.refresh(); err != nil {
			t.Error(err)
		}
	})
	if p := w.provider("shop"); p.Description != "newer" || p.SpecHash == "" || p.SpecAccessProbe == nil {
		t.Fatalf("%+v", p)
	}
}

func TestAChangedSourceForgetsWhatWasSeen(t *testing.T) {
	t.Parallel()
	for change, keeps := range map[string]bool{
		`,"description":"other"`:                     true,
		`,"timeout_ms":9000`:                         true,
		`,"spec_access_policy":"signed_required"`:    true,
		`,"spec_access_policy":"public_allowed"`:     false,
		`,"spec_url":"https://biz.example/other"`:    false,
		`,"secret":"another-secret-of-32-character"`: false,
		`,"secret":"` + secret + `"`:                 true,
	} {
		w := setup(t)
		w.save("")
		if _, err := w.refresh(); err != nil {
			t.Fatal(err)
		}
		body := map[string]any{"name": "shop", "base_url": w.business.URL, "spec_source": "url", "spec_url": w.business.URL + "/spec?v=1"}
		if err := json.Unmarshal([]byte("{"+change[1:]+"}"), &body); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(body)
		w.saveBody(string(b))
		if p := w.provider("shop"); (p.SpecAccessProbe != nil) != keeps || p.SpecHash == "" {
			t.Errorf("%s: probe %v, specification %q", change, p.SpecAccessProbe, p.SpecHash)
		}
	}
}

func TestRefreshReportsRoutesThatLoseTheirTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	w.saveBody(`{"name":"depot","base_url":"https://depot.example","secret":"` + secret + `","spec_json":` + spec(read()) + `}`)
	route := registry.Versioned[registry.Route]{Value: registry.Route{RouteKey: "support", Tools: &registry.RouteTools{Sources: []registry.ToolSource{
		{Provider: "shop", Allow: []string{"*"}}, {Provider: "depot", Allow: []string{"order.*"}},
	}}}}
	if err := w.store.Routes().Put(t.Context(), "support", route, registry.Change{}); err != nil {
		t.Fatal(err)
	}
	r, err := w.refresh()
	if err != nil || len(r.Warnings) != 1 || r.Warnings[0].Code != "duplicate_name" || !strings.Contains(r.Warnings[0].Message, "route support: the tool order_list") {
		t.Fatalf("%+v %v", r.Warnings, err)
	}
}

func TestASecretThatCannotBeOpenedIsNoRefusalOfTheBusiness(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	w.Secrets = opener(func() ([]byte, error) { return nil, errors.New("kms is down") })
	_, err := w.refresh()
	if err == nil || apierr.CodeOf(err) == apierr.Invalid || len(w.business.seen()) != 0 || w.provider("shop").SpecAccessProbe != nil {
		t.Fatalf("%v", err)
	}
}

func TestNoSecretInRecords(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	if _, err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.business.set("public", spec())
	if _, err := w.refresh(); err == nil {
		t.Fatal("not refused")
	}
	b, err := json.Marshal(w.store.Events())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), secret) || strings.Contains(string(w.store.Dump()), secret) {
		t.Fatal("the secret is in a record")
	}
}
