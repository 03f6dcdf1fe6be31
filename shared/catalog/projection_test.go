package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestProjectionHasTheMembersOfTheContract(t *testing.T) {
	t.Parallel()
	tool := write("bay_stock_update", ruled, described("depot.stock.write", "Adjust the pallet count of one bay."))
	const shown = `{"name":"bay_stock_update","description":"Adjust the pallet count of one bay.",` +
		`"input_schema":{"type":"object","properties":{"bay":{"type":"integer"}},"required":["bay"]},` +
		`"scope":"depot.stock.write","risk":"medium","approval_required":true,"readonly":false,"idempotent":false`
	if got := text(t, surfaceOf(t, tool).Tools[0].Projection()); got != shown+"}" {
		t.Errorf("%s", got)
	}
	tool.DescriptionTruncated, tool.Guidance = true, capability.NewGuidance("First read the count.")
	if got := text(t, surfaceOf(t, tool).Tools[0].Projection()); got != shown+`,"usage_guidance_available":true,"description_truncated":true}` {
		t.Errorf("%s", got)
	}
}

func TestApprovalIsRequiredByRiskFlagOrRule(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		tool capability.Tool
		want bool
	}{
		"low risk":    {read("a"), false},
		"medium risk": {write("a"), false},
		"high risk":   {write("a", highRisk), true},
		"the flag":    {read("a", confirmed), true},
		"a rule":      {write("a", ruled), true},
	} {
		if got := surfaceOf(t, tc.tool).Tools[0].Projection().ApprovalRequired; got != tc.want {
			t.Errorf("%s: %v", rule, got)
		}
	}
}

func TestDescriptionsAreSafeText(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		in, want  string
		truncated bool
	}{
		"at the cap":                    {strings.Repeat("a", 1200), strings.Repeat("a", 1200), false},
		"one past":                      {strings.Repeat("a", 1201), strings.Repeat("a", 1200), true},
		"in UTF-16 units":               {strings.Repeat("😀", 600), strings.Repeat("😀", 600), false},
		"cut between characters":        {"a" + strings.Repeat("😀", 600), "a" + strings.Repeat("😀", 599), true},
		"white space at the end":        {strings.Repeat("a", 1200) + "  ", strings.Repeat("a", 1200), false},
		"white space at the cut":        {strings.Repeat("a", 1199) + " b", strings.Repeat("a", 1199) + " ", true},
		"control characters":            {" a\x00b\tc\n", "a b\tc", false},
		"never empty: clients would":    {"\x01 ", "stock_get", false},
		"mark-up is nothing special":    {"<b>&amp;</b>", "<b>&amp;</b>", false},
		"the longest that is compiled":  {strings.Repeat("😀", 500), strings.Repeat("😀", 500), false},
		"line separators are left in":   {"a\u2028b", "a\u2028b", false},
		"non-ASCII letters are left in": {"库存", "库存", false},
	} {
		tool := read("stock_get", described("depot.read", tc.in))
		if p := surfaceOf(t, tool).Tools[0].Projection(); p.Description != tc.want || p.DescriptionTruncated != tc.truncated {
			t.Errorf("%s: %q, truncated %v", rule, p.Description, p.DescriptionTruncated)
		}
	}
}

func TestProjectionsAreInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	s := surfaceOf(t, read("b"), write("A"), read("_"))
	if got := shownNames(s.Projections()); strings.Join(got, " ") != "_ A b" {
		t.Errorf("%v", got)
	}
	w := newWorld(t)
	if got := text(t, w.surface(access()).Projections()); got != "[]" {
		t.Errorf("no tools: %s", got)
	}
}

// The public schema of a tool is made once, whoever looks.
func TestPublicSchemasAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", read("a"))
	one, two := w.surface(access()).Projections()[0].InputSchema, w.surface(access()).Projections()[0].InputSchema
	if &one[0] != &two[0] || !json.Valid(one) {
		t.Error("made twice")
	}
}
