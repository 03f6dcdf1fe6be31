package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/catalog"
)

func needsSubject(t *capability.Tool) { t.RequiresSubject = true }
func confirmed(t *capability.Tool)    { t.ConfirmRequired = true }
func highRisk(t *capability.Tool)     { t.Risk = capability.RiskHigh }
func ruled(t *capability.Tool) {
	t.ConfirmWhen = []capability.Rule{{Param: "bay", Op: ">", Value: json.RawMessage("5")}}
}

func TestSurfaceIsWhatSubjectAndPolicyLeave(t *testing.T) {
	t.Parallel()
	tools := []capability.Tool{write("order_2"), read("order_list"), read("mine", needsSubject), write("Cancel"), write("pay", needsSubject)}
	writes := []string{"Cancel", "order_2", "pay"}
	for rule, tc := range map[string]struct {
		access catalog.Access
		want   []string
	}{
		"off": {catalog.Access{Permission: "full", HasSubject: true, Direct: catalog.Direct{WriteTools: writes}}, []string{}},
		"reads only": {
			catalog.Access{Permission: "full", HasSubject: true, Direct: catalog.Direct{Enabled: true}}, []string{"mine", "order_list"},
		},
		"without a subject": {
			catalog.Access{Permission: "full", Direct: catalog.Direct{Enabled: true, WriteTools: writes}}, []string{"Cancel", "order_2", "order_list"},
		},
		"with a subject": {
			catalog.Access{Permission: "full", HasSubject: true, Direct: catalog.Direct{Enabled: true, WriteTools: writes}},
			[]string{"Cancel", "mine", "order_2", "order_list", "pay"},
		},
		"permission readwrite": {
			catalog.Access{Permission: "readwrite", Direct: catalog.Direct{Enabled: true, WriteTools: []string{"order_2"}}},
			[]string{"order_2", "order_list"},
		},
		"permission readonly": {catalog.Access{Permission: "readonly", Direct: catalog.Direct{Enabled: true, WriteTools: writes}}, []string{"order_list"}},
		"no permission":       {catalog.Access{Direct: catalog.Direct{Enabled: true, WriteTools: writes}}, []string{"order_list"}},
		"another word":        {catalog.Access{Permission: "Full", Direct: catalog.Direct{Enabled: true, WriteTools: writes}}, []string{"order_list"}},
		"names are exact": {
			catalog.Access{Permission: "full", Direct: catalog.Direct{Enabled: true, WriteTools: []string{"cancel", "order"}}}, []string{"order_list"},
		},
	} {
		w := newWorld(t)
		w.offer("erp", tools...)
		s := w.surface(tc.access)
		if got := surfaceNames(s); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", rule, got, tc.want)
		}
		for _, tool := range tools {
			if found := s.Find(tool.Name); (found != nil) != slices.Contains(tc.want, tool.Name) || found != nil && found.Tool.Name != tool.Name {
				t.Errorf("%s: %s found: %v", rule, tool.Name, found)
			}
		}
	}
}

// The route only ever adds approval, to writes, and the older form counts as the list that it stands for (agent §5.2).
func TestEffectiveConfirmation(t *testing.T) {
	t.Parallel()
	tools := []capability.Tool{read("r"), read("rc", confirmed), write("w1"), write("w2"), write("wc", confirmed), write("wh", highRisk), write("wr", ruled)}
	writes := []string{"w1", "w2", "wc", "wh", "wr"}
	for rule, tc := range map[string]struct {
		direct            catalog.Direct
		confirm, approval []string
	}{
		"as declared": {catalog.Direct{WriteTools: writes}, []string{"rc", "wc"}, []string{"rc", "wc", "wh", "wr"}},
		"forced": {
			catalog.Direct{WriteTools: writes, ForceApproval: []string{"w2"}}, []string{"rc", "w2", "wc"}, []string{"rc", "w2", "wc", "wh", "wr"},
		},
		"unattended": {
			catalog.Direct{WriteTools: writes, Unattended: []string{"w1", "wc"}},
			[]string{"rc", "w2", "wc", "wh", "wr"}, []string{"rc", "w2", "wc", "wh", "wr"},
		},
		"reads are unaffected": {
			catalog.Direct{WriteTools: append([]string{"r"}, writes...), ForceApproval: []string{"r"}}, []string{"rc", "wc"}, []string{"rc", "wc", "wh", "wr"},
		},
	} {
		w := newWorld(t)
		w.offer("erp", tools...)
		tc.direct.Enabled = true
		s := w.surface(catalog.Access{Permission: "full", Direct: tc.direct})
		var confirm, approval []string
		for i := range s.Tools {
			if s.Tools[i].Confirm {
				confirm = append(confirm, s.Tools[i].Tool.Name)
			}
			if s.Tools[i].ApprovalRequired() {
				approval = append(approval, s.Tools[i].Tool.Name)
			}
		}
		if !slices.Equal(confirm, tc.confirm) || !slices.Equal(approval, tc.approval) {
			t.Errorf("%s: confirm %v, approval %v", rule, confirm, approval)
		}
		if got, want := s.Counters(), (catalog.Counters{Readonly: 2, Writes: 5, ApprovalRequired: len(tc.approval)}); got != want {
			t.Errorf("%s: %+v, want %+v", rule, got, want)
		}
	}
}

// Two routes share a compiled tool and judge it differently.
func TestACompiledToolIsNeverChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", write("pay"))
	direct := catalog.Direct{Enabled: true, WriteTools: []string{"pay"}, ForceApproval: []string{"pay"}}
	strict := w.surface(catalog.Access{Permission: "full", Direct: direct})
	direct.ForceApproval = nil
	lax := w.surface(catalog.Access{Permission: "full", Direct: direct})
	if a, b := strict.Find("pay"), lax.Find("pay"); !a.Confirm || b.Confirm || a.Tool != b.Tool || a.Tool.ConfirmRequired {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestProblemsReachTheSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("wms", read("a")).Enabled = false
	w.offer("erp", read("b"))
	s := w.surface(catalog.Access{Direct: catalog.Direct{Enabled: true}})
	if !slices.Equal(surfaceNames(s), []string{"b"}) || !slices.Equal(s.Problems, []string{"provider wms is disabled"}) {
		t.Errorf("%v, %v", surfaceNames(s), s.Problems)
	}
}

// The tools of all providers stand in one order (agent §1.7).
func TestSurfaceIsInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("wms", read("z9"), read("a1"), read("B"))
	w.offer("erp", read("a_b"), read("_x"), read("b"))
	s := w.surface(catalog.Access{Direct: catalog.Direct{Enabled: true}})
	if got := surfaceNames(s); !slices.Equal(got, []string{"_x", "a_b", "a1", "b", "B", "z9"}) {
		t.Errorf("%v", got)
	}
}

// Clients refuse an answer with one tool that is larger than they take, and would lose all the others.
func TestAToolThatClientsCannotReadIsLeftOut(t *testing.T) {
	t.Parallel()
	schemaOf := func(bytes int) func(*capability.Tool) {
		return func(t *capability.Tool) {
			head, tail := `{"type":"object","properties":{"q":{"type":"string","description":"`, `"}}}`
			t.InputSchema = json.RawMessage(head + strings.Repeat("d", bytes-len(head)-len(tail)) + tail)
			t.ParamIn = map[string]capability.Location{"q": capability.InQuery}
		}
	}
	scopeOf := func(n int) func(*capability.Tool) {
		return func(t *capability.Tool) { t.Scope = strings.Repeat("s", n) }
	}
	w := newWorld(t)
	w.offer("erp", read("fits", schemaOf(65_536)), read("large", schemaOf(65_537)), read("scoped", scopeOf(256)), read("scopes", scopeOf(257)))
	s := w.surface(catalog.Access{Direct: catalog.Direct{Enabled: true}})
	if got := surfaceNames(s); !slices.Equal(got, []string{"fits", "scoped"}) {
		t.Errorf("%v", got)
	}
	if len(s.Problems) != 2 || !strings.Contains(s.Problems[0], "tool large is not offered to agents") || !strings.Contains(s.Problems[1], "tool scopes") {
		t.Errorf("problems %q", s.Problems)
	}
}
