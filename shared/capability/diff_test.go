package capability_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"bailing/shared/capability"
)

// protected is a write with every protection that a tool can declare.
func protected(name string) capability.Tool {
	return capability.Tool{
		Name: name, Method: "POST", Path: "/" + name, Scope: "a.write", Risk: capability.RiskHigh, ConfirmRequired: true,
		ConfirmWhen: []capability.Rule{
			{Param: "n", Op: ">", Value: json.RawMessage(`100`), Label: "large"}, {Param: "p", Op: "exists"},
		},
		RequiresSubject: true, Sensitive: true, InputSchema: json.RawMessage(`{"type":"object"}`),
	}
}

func catalog(tools ...capability.Tool) *capability.Catalog { return &capability.Catalog{Tools: tools} }

func TestDiffLists(t *testing.T) {
	t.Parallel()
	other := protected("d")
	other.TimeoutMs = 5
	moved := protected("c")
	moved.Path = "/moved"
	was := catalog(protected("z"), protected("b"), protected("c"), protected("d"), protected("e"))
	now := catalog(protected("y"), other, moved, protected("e"), protected("a"))
	d := capability.DiffCatalogs(was, now)
	want := capability.Diff{
		Added: []string{"a", "y"}, Removed: []string{"b", "z"}, NowIdempotent: []string{}, Other: []string{"d"},
		Changed: []capability.Change{{
			Tool: "c", Fields: []capability.FieldChange{{Field: "path", Was: "/c", Now: "/moved"}}, Weakened: []capability.Weakening{},
		}},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v", d)
	}
	if d.Empty() || len(d.Hash8()) != 8 || !slices.Equal(d.ChangedNames(), []string{"c"}) {
		t.Errorf("empty %v, hash %s", d.Empty(), d.Hash8())
	}
	slices.Reverse(was.Tools)
	slices.Reverse(now.Tools)
	if again := capability.DiffCatalogs(was, now); again.Hash8() != d.Hash8() {
		t.Error("the order of tools makes a difference")
	}
}

func TestDiffWithoutACatalogue(t *testing.T) {
	t.Parallel()
	if d := capability.DiffCatalogs(nil, nil); !d.Empty() {
		t.Errorf("%+v", d)
	}
	first := capability.DiffCatalogs(nil, catalog(protected("a")))
	last := capability.DiffCatalogs(catalog(protected("a")), nil)
	if !slices.Equal(first.Added, []string{"a"}) || !slices.Equal(last.Removed, []string{"a"}) || first.Hash8() == last.Hash8() {
		t.Errorf("%+v %+v", first, last)
	}
	if d := capability.DiffCatalogs(catalog(protected("a")), catalog(protected("a"))); !d.Empty() {
		t.Errorf("%+v", d)
	}
}

// Each member of the fingerprint of core §4.3 is a change; what protects less is called out, the reverse is not.
func TestDiffFields(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule     string
		change   func(*capability.Tool)
		field    string
		now      string
		weakened capability.Weakening
		back     capability.Weakening // of the reverse change
	}{
		{"method", func(t *capability.Tool) { t.Method = "PUT" }, "method", "PUT", "", ""},
		{"path", func(t *capability.Tool) { t.Path = "/x" }, "path", "/x", "", ""},
		{"scope", func(t *capability.Tool) { t.Scope = "x" }, "scope", "x", "", ""},
		{"risk to medium", func(t *capability.Tool) { t.Risk = capability.RiskMedium }, "risk", "medium", capability.RiskLowered, ""},
		{"risk to low", func(t *capability.Tool) { t.Risk = capability.RiskLow }, "risk", "low", capability.RiskLowered, ""},
		{"confirmation", func(t *capability.Tool) { t.ConfirmRequired = false }, "confirm_required", "false", capability.ConfirmationDropped, ""},
		{"all rules", func(t *capability.Tool) { t.ConfirmWhen = nil }, "confirm_when", "[]", capability.RuleRemoved, ""},
		{"a rule's bound", func(t *capability.Tool) { t.ConfirmWhen[0].Value = json.RawMessage(`1000`) }, "confirm_when",
			`[{"label":"large","op":">","param":"n","value":1000},{"op":"exists","param":"p"}]`, capability.RuleRemoved, capability.RuleRemoved},
		{"a rule's label", func(t *capability.Tool) { t.ConfirmWhen[0].Label = "big" }, "confirm_when",
			`[{"label":"big","op":">","param":"n","value":100},{"op":"exists","param":"p"}]`, "", ""},
		{"the order of rules", func(t *capability.Tool) { slices.Reverse(t.ConfirmWhen) }, "confirm_when",
			`[{"op":"exists","param":"p"},{"label":"large","op":">","param":"n","value":100}]`, "", ""},
		{"subject", func(t *capability.Tool) { t.RequiresSubject = false }, "requires_subject", "false", capability.SubjectDropped, ""},
		{"sensitive", func(t *capability.Tool) { t.Sensitive = false }, "sensitive", "false", capability.SensitiveDropped, ""},
		{"readonly", func(t *capability.Tool) { t.Readonly = true }, "readonly", "true", capability.BecameReadonly, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			was, now := protected("a"), protected("a")
			c.change(&now)
			d := capability.DiffCatalogs(catalog(was), catalog(now))
			if len(d.Changed) != 1 || len(d.Changed[0].Fields) != 1 || d.Changed[0].Fields[0].Field != c.field || d.Changed[0].Fields[0].Now != c.now {
				t.Fatalf("got %+v", d)
			}
			checkWeakened(t, d, c.weakened)
			back := capability.DiffCatalogs(catalog(now), catalog(was))
			checkWeakened(t, back, c.back)
			if f := back.Changed[0].Fields[0]; f.Was != c.now || f.Now != d.Changed[0].Fields[0].Was {
				t.Errorf("the reverse is %+v", f)
			}
		})
	}
	spelled := protected("a")
	spelled.ConfirmWhen[0].Value = json.RawMessage(` 1e2 `)
	if d := capability.DiffCatalogs(catalog(protected("a")), catalog(spelled)); !d.Empty() {
		t.Errorf("spelling is a change: %+v", d)
	}
}

func checkWeakened(t *testing.T, d capability.Diff, want capability.Weakening) {
	t.Helper()
	var all []capability.Weakening
	if want != "" {
		all = append(all, want)
	}
	if !slices.Equal(d.Changed[0].Weakened, all) {
		t.Errorf("weakened %v, want %v", d.Changed[0].Weakened, all)
	}
}

// What the fingerprint leaves out is not lost.
func TestDiffOfOtherMembers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule   string
		change func(*capability.Tool)
	}{
		{"input schema", func(t *capability.Tool) { t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`) }},
		{"timeout", func(t *capability.Tool) { t.TimeoutMs = 1 }},
		{"rate limit", func(t *capability.Tool) { t.RateLimitPerMin = 1 }},
		{"description", func(t *capability.Tool) { t.Description = "x" }},
		{"guidance", func(t *capability.Tool) { t.Guidance = capability.NewGuidance("x") }},
		{"idempotent", func(t *capability.Tool) { t.Idempotent = true }},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			now := protected("a")
			c.change(&now)
			d := capability.DiffCatalogs(catalog(protected("a")), catalog(now))
			if len(d.Changed) != 0 || !slices.Equal(d.Other, []string{"a"}) || (len(d.NowIdempotent) == 1) != now.Idempotent {
				t.Errorf("got %+v", d)
			}
			if back := capability.DiffCatalogs(catalog(now), catalog(protected("a"))); len(back.NowIdempotent) != 0 || len(back.Other) != 1 {
				t.Errorf("the reverse is %+v", back)
			}
		})
	}
	now := protected("a")
	now.Idempotent, now.Sensitive = true, false
	d := capability.DiffCatalogs(catalog(protected("a")), catalog(now))
	want := []capability.Weakening{capability.SensitiveDropped, capability.BecameIdempotent}
	if !slices.Equal(d.Changed[0].Weakened, want) || !slices.Equal(d.NowIdempotent, []string{"a"}) || len(d.Other) != 0 {
		t.Errorf("got %+v", d)
	}
}
