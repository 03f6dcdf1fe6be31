package registry_test

import (
	"fmt"
	"strings"
	"testing"
)

// preview has routes for every outcome.
func preview(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	routed(t, b)
	for key, policy := range map[string]string{
		"plain": `null`, "refunds": `{"keywords":["refund"],"roles":["clerk","*"]}`, "north": `{"auto":true,"tenants":["acme"]}`,
		"crm-only": `{"auto":true,"clients":["crm"],"priority":-1}`, "desk": `{"auto":true,"channels":["desk"],"priority":-2}`, "weak": `{"keywords":["zzz"]}`,
	} {
		b.must(t, "route", with(t, with(t, with(t, route, "route_key", `"`+key+`"`), "name", `"The `+key+`"`), "audience", policy))
	}
	b.must(t, "route", with(t, with(t, with(t, route, "route_key", `"off"`), "enabled", "false"), "audience", `{"auto":true}`))
	b.must(t, "client", `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	b.must(t, "client", `{"app_id":"narrow","name":"Narrow","allowed_routes":["plain","refunds"]}`)
	b.must(t, "client", `{"app_id":"gone","name":"Gone","allowed_routes":["*"],"enabled":false}`)
	return b
}

func TestAutoPreviewTellsAboutEveryRoute(t *testing.T) {
	t.Parallel()
	b := preview(t)
	got, err := b.PreviewAuto(t.Context(), value(t, `{"input":"A REFUND please","principal":{"uid":"u1","org_id":"acme","role":"clerk"},"channel":"desk","client_app_id":"crm"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, got, `{"mode":"auto","ok":true,"route_key":"refunds","candidates":[
		{"route_key":"refunds","score":12,"reasons":["keywords","role"]},
		{"route_key":"north","score":2,"reasons":["tenant"]},
		{"route_key":"crm-only","score":1,"reasons":["client"]}],
		"routes":[
		{"route_key":"crm-only","name":"The crm-only","score":1,"reasons":["client"]},
		{"route_key":"desk","name":"The desk","score":-1,"reasons":[],"rejected_reason":"score_zero_or_lower"},
		{"route_key":"north","name":"The north","score":2,"reasons":["tenant"]},
		{"route_key":"off","name":"Plain","rejected_reason":"route_disabled"},
		{"route_key":"plain","name":"The plain","rejected_reason":"auto_not_enabled"},
		{"route_key":"refunds","name":"The refunds","score":12,"reasons":["keywords","role"]},
		{"route_key":"weak","name":"The weak","score":0,"reasons":[],"rejected_reason":"score_zero_or_lower"}],
		"principal":{"id":"u1","tenant":"acme","roles":["clerk"],"channel":"desk","client_app_id":"crm"},
		"client":{"app_id":"crm","name":"CRM","enabled":true}}`)

	got, err = b.PreviewAuto(t.Context(), value(t, `{"text":"nothing of it"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, got, `{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match","routes":[
		{"route_key":"crm-only","name":"The crm-only","rejected_reason":"client_not_allowed"},
		{"route_key":"desk","name":"The desk","rejected_reason":"channel_not_allowed"},
		{"route_key":"north","name":"The north","rejected_reason":"route_requires_principal"},
		{"route_key":"off","name":"Plain","rejected_reason":"route_disabled"},
		{"route_key":"plain","name":"The plain","rejected_reason":"auto_not_enabled"},
		{"route_key":"refunds","name":"The refunds","score":0,"reasons":[],"rejected_reason":"score_zero_or_lower"},
		{"route_key":"weak","name":"The weak","score":0,"reasons":[],"rejected_reason":"score_zero_or_lower"}],
		"principal":null,"client":null}`)
}

func TestAutoPreviewFollowsTheClient(t *testing.T) {
	t.Parallel()
	b := preview(t)
	for member, want := range map[string]string{
		`"client_id":"narrow"`:                      "crm-only north refunds:ok desk",
		`"client_app_id":"gone"`:                    "crm-only north refunds desk weak",
		`"client_id":"crm","client_app_id":"crm"`:   "refunds:ok crm-only:ok",
		`"metadata":{"note":"zzz"}`:                 "weak:ok",
		`"metadata":{"principal":{"tenant":"n"}}`:   "refunds:ok",
		`"metadata":[]`:                             "refunds:ok",
		`"metadata":{"uid":"u","tenant":"acme"}`:    "north:ok",
		`"principal":{"id":"u","tenant_id":"acme"}`: "north:ok",
	} {
		got, err := b.PreviewAuto(t.Context(), value(t, `{"input":"refund",`+member+`}`))
		if err != nil {
			t.Errorf("%s: %v", member, err)
			continue
		}
		for _, expected := range strings.Fields(want) {
			key, ok := strings.CutSuffix(expected, ":ok")
			for _, r := range got.Routes {
				if r.RouteKey == key && (r.RejectedReason == "") != ok {
					t.Errorf("%s: %+v, want %s", member, r, expected)
				}
			}
		}
	}
}

func TestAutoPreviewRules(t *testing.T) {
	t.Parallel()
	b := preview(t)
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	for _, tc := range []struct{ body, member, text string }{
		{`[]`, "the body", "JSON object"},
		{`{}`, "input", "required"},
		{`{"input":null}`, "input", "required"},
		{`{"input":" "}`, "input", "not blank"},
		{`{"input":7}`, "input", "string"},
		{`{"input":"a\ud800"}`, "input", "valid Unicode"},
		{`{"input":` + long(100_000) + `}`, "", ""},
		{`{"input":` + long(100_001) + `}`, "input", "at most 100000"},
		{`{"text":` + long(100_001) + `}`, "text", "at most 100000"},
		{`{"input":"a","text":"a"}`, "", ""},
		{`{"input":"a","text":"b"}`, "input", "differ"},
		{`{"input":"a","metadata":[]}`, "", ""},
		{`{"input":"a","metadata":[1]}`, "metadata", "JSON object"},
		{`{"input":"a","metadata":"x"}`, "metadata", "JSON object"},
		{`{"input":"a","principal":"u"}`, "principal", "JSON object"},
		{`{"input":"a","principal":{"roles":["r"]}}`, "principal", "by its id"},
		{`{"input":"a","principal":{"id":"u","note":1}}`, "", ""},
		{`{"input":"a","channel":` + text(128) + `}`, "", ""},
		{`{"input":"a","channel":` + text(129) + `}`, "channel", "at most 128"},
		{`{"input":"a","channel":1}`, "channel", "string"},
		{`{"input":"a","client_id":"crm","client_app_id":"crm"}`, "", ""},
		{`{"input":"a","client_id":"crm","client_app_id":"narrow"}`, "client_app_id", "differ"},
		{`{"input":"a","client_id":"nobody"}`, "unknown client:", "nobody"},
		{`{"input":"a","client_id":` + text(129) + `}`, "client_id", "at most 128"},
		{`{"input":"a","colour":"red"}`, "colour", "not a known member"},
	} {
		_, err := b.PreviewAuto(t.Context(), value(t, tc.body))
		if tc.member == "" {
			if err != nil {
				t.Errorf("%.80s: %v", tc.body, err)
			}
			continue
		}
		t.Run(fmt.Sprintf("%.60s", tc.body), func(t *testing.T) { wantInvalid(t, err, tc.member, tc.text) })
	}
}

func TestAutoPreviewChangesNothing(t *testing.T) {
	t.Parallel()
	b := preview(t)
	before, changes := string(b.store.Dump()), len(b.store.Changes())
	if _, err := b.PreviewAuto(t.Context(), value(t, `{"input":"refund","client_id":"crm"}`)); err != nil {
		t.Fatal(err)
	}
	if string(b.store.Dump()) != before || len(b.store.Changes()) != changes {
		t.Error("a preview wrote something")
	}
}

// The principal of a submission stands in its metadata, where words are looked for: said apart, it counts the same.
func TestAPrincipalOfAPreviewCountsAsThatOfMetadata(t *testing.T) {
	t.Parallel()
	b := preview(t)
	for _, principal := range []string{`{"id":"zzz"}`, `{"uid":"u1","org_id":"north","note":["refund"]}`} {
		apart, err := b.PreviewAuto(t.Context(), value(t, `{"input":"a","metadata":{"k":"v","principal":{"id":"other"}},"principal":`+principal+`}`))
		if err != nil {
			t.Fatal(err)
		}
		within, err := b.PreviewAuto(t.Context(), value(t, `{"input":"a","metadata":{"k":"v","principal":`+principal+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		wantJSON(t, apart, body(t, within))
	}
}
