package registry_test

import (
	"slices"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
)

// Whatever a body holds, a save either writes once or answers with an error that is the caller's. What it wrote is listed in a
// form that can be sent back, and changes nothing then.
func FuzzSave(f *testing.F) {
	for _, seed := range []string{route, client, provider, credential, `{"name":"ref-exec","kind":"executor"}`, `[]`, `{"tools":{"sources":[{}]}}`,
		`{"route_key":"a","name":"n","target":"llm","target_config":{"credential":"stub","input":{"image":{"mode":"off"}}},"session_policy":"fixed","session_fixed_id":"x"}`,
		`{"name":"ab","base_url":"https://x.example","secret":"s","spec_json":{"openapi":"3.1.0","paths":{"/a":{"get":{"x-agent-capability":{"enabled":true}}}}}}`} {
		for kind := range kinds {
			f.Add(uint8(kind), seed)
		}
	}
	for kind, seed := range samples {
		f.Add(uint8(slices.Index(kinds, kind)), seed)
	}
	f.Fuzz(func(t *testing.T, kind uint8, body string) {
		if _, err := canonical.Parse([]byte(body), canonical.Limits{}); err != nil {
			t.Skip()
		}
		b := setup(t)
		b.must(t, "credential", `{"name":"stub","base_url":"https://m.example/v1","api_key":"stub-key"}`)
		err := b.save(t, kinds[int(kind)%len(kinds)], body)
		writes := len(b.store.Changes()) - 1
		switch code := apierr.CodeOf(err); {
		case err == nil && writes != 1:
			t.Fatalf("%d writes", writes)
		case err != nil && (writes != 0 || code != apierr.Invalid && code != apierr.PayloadTooLarge && code != apierr.Conflict):
			t.Fatalf("%v after %d writes", err, writes)
		case err == nil:
			sendBack(t, b, kinds[int(kind)%len(kinds)])
		}
	})
}

// sendBack saves every entry of a list as it is.
func sendBack(t *testing.T, b *bundle, kind string) {
	t.Helper()
	for i, before := range b.listed(t, kind) {
		if before["revision"] == "" {
			continue // the built-in target, which a save would store
		}
		if err := b.save(t, kind, body(t, before)); err != nil {
			t.Fatalf("%v for the entry %s", err, body(t, before))
		}
		if after := b.listed(t, kind)[i]; body(t, after) != body(t, before) {
			t.Fatalf("%s became %s", body(t, before), body(t, after))
		}
	}
}

var kinds = []string{"target", "credential", "provider", "route", "client"}

// Whatever a body holds, a setup is either saved and read back as it was answered, or refused with a client's error and without
// a write.
func FuzzSaveRouteSetup(f *testing.F) {
	const members = `"agent_client":{"enabled":true,"system_info":{"name":"a","summary":"b","domains":[],"boundaries":["c"]}},` +
		`"tool_sources":[{"provider":"shop","allow":["*"]}],"agent_direct":{"enabled":true,"write_tools":["a"],"force_approval_tools":["a"]}}`
	f.Add(`{"expected_revision":"REVISION",` + members)
	f.Add(`{"expected_revision":"REVISION","agent_client":null,"tool_sources":[],"agent_direct":null}`)
	f.Add(`{"expected_revision":"x",` + members)
	f.Fuzz(func(t *testing.T, text string) {
		b := setup(t)
		b.must(t, "target", `{"name":"exec","kind":"executor"}`)
		b.must(t, "provider", samples["provider"])
		b.must(t, "route", `{"route_key":"desk","name":"Desk","target":"exec","session_policy":"new"}`)
		revision := routeSetup(t, b, "desk").Revision
		v, err := canonical.Parse([]byte(strings.ReplaceAll(text, "REVISION", revision)), canonical.Limits{})
		if err != nil {
			t.Skip()
		}
		writes := len(b.store.Changes())
		saved, err := b.SaveRouteSetup(t.Context(), "desk", v, change)
		if err != nil {
			if code := apierr.CodeOf(err); code != apierr.Invalid && code != apierr.Conflict || len(b.store.Changes()) != writes {
				t.Fatalf("%v after %d writes", err, len(b.store.Changes())-writes)
			}
			return
		}
		if read := routeSetup(t, b, "desk"); body(t, read) != body(t, saved) {
			t.Fatalf("answered %s, read %s", body(t, saved), body(t, read))
		}
		sendBack(t, b, "route")
	})
}
