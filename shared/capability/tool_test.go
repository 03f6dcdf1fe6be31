package capability_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"bailing/shared/capability"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule  string
		allow []string
		scope string
		want  bool
	}{
		{"an exact scope", []string{"order.read"}, "order.read", true},
		{"another scope", []string{"order.read"}, "order.write", false},
		{"everything", []string{"*"}, "order.read", true},
		{"below a prefix", []string{"order.*"}, "order.read", true},
		{"further below a prefix", []string{"order.*"}, "order.line.read", true},
		{"not the prefix itself", []string{"order.*"}, "order", false},
		{"not a longer word", []string{"order.*"}, "orders.read", false},
		{"a star elsewhere is not a pattern", []string{"ord*", "*.read"}, "order.read", false},
		{"any entry will do", []string{"a.read", "order.*"}, "order.read", true},
		{"nothing allowed", nil, "order.read", false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := capability.Allowed(c.allow, c.scope); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestStaticFacts(t *testing.T) {
	t.Parallel()
	rule := []capability.Rule{{Param: "a", Op: "exists"}}
	cases := []struct {
		rule                        string
		tool                        capability.Tool
		sideEffecting, always, some bool
	}{
		{"a read", capability.Tool{Readonly: true, Idempotent: true, Risk: "low"}, false, false, false},
		{"a write", capability.Tool{Risk: "medium"}, true, false, false},
		{"an idempotent write", capability.Tool{Idempotent: true, Risk: "medium"}, false, false, false},
		{"a read-only POST", capability.Tool{Readonly: true, Risk: "low"}, false, false, false},
		{"high risk", capability.Tool{Risk: "high"}, true, true, true},
		{"confirmation required", capability.Tool{Risk: "low", ConfirmRequired: true}, true, true, true},
		{"a rule", capability.Tool{Risk: "low", ConfirmWhen: rule}, true, false, true},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if c.tool.SideEffecting() != c.sideEffecting || c.tool.AlwaysNeedsApproval() != c.always || c.tool.NeedsApproval() != c.some {
				t.Errorf("%v %v %v", c.tool.SideEffecting(), c.tool.AlwaysNeedsApproval(), c.tool.NeedsApproval())
			}
		})
	}
}

func TestCatalogSurvivesStorage(t *testing.T) {
	t.Parallel()
	catalog := capability.Catalog{Tools: []capability.Tool{*tool(`{"b":{"type":"string"},"a":{}}`, `["b"]`)}, Hash: "h",
		Diagnostics: []capability.Diagnostic{{Severity: "warning", Path: "POST /t", Code: "c", Message: "m"}}}
	first, err := json.Marshal(catalog)
	if err != nil {
		t.Fatal(err)
	}
	var loaded capability.Catalog
	if err := json.Unmarshal(first, &loaded); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(loaded)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("%s\nbecame\n%s", first, second)
	}
	if r := loaded.Tool("t").ValidateArgs(parse(t, `{}`)); r == nil || r.Reason != "missing_required:b" {
		t.Errorf("got %v", r)
	}
	if loaded.Tool("other") != nil {
		t.Error("found a tool that is not there")
	}
}

func TestFailedIsAboutTheWholeDocument(t *testing.T) {
	t.Parallel()
	operation := capability.Catalog{Diagnostics: []capability.Diagnostic{{Severity: "error", Path: "GET /x"}}}
	document := capability.Catalog{Diagnostics: []capability.Diagnostic{{Severity: "error", Path: "-"}}}
	if operation.Failed() || !document.Failed() {
		t.Error("Failed mixes up operations and documents")
	}
}

// The members of core D36, in their recorded order.
func TestAdminViewMembers(t *testing.T) {
	t.Parallel()
	want := []string{"name", "source", "schema_version", "method", "path", "scope", "risk", "confirm_required", "confirm_when",
		"requires_subject", "sensitive", "readonly", "idempotent", "timeout_ms", "rate_limit_per_min", "confirm_prompt",
		"context", "extensions", "parameters", "param_in", "description"}
	var got []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[capability.AdminTool]()) {
		got = append(got, f.Tag.Get("json"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	view := tool(`{}`, `[]`).AdminView()
	if view.ConfirmWhen == nil || string(view.Parameters) == "" || view.Scope != "t.write" {
		t.Errorf("%+v", view)
	}
}
