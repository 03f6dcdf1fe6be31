package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestLongListsAndValuesAreCut(t *testing.T) {
	t.Parallel()
	list := strings.Fields(strings.Repeat("a ", 9))
	if got := some(list[:8], 8); got != "a, a, a, a, a, a, a, a" {
		t.Errorf("eight: %q", got)
	}
	if got := some(list, 8); got != "a, a, a, a, a, a, a, a, and 1 more" {
		t.Errorf("nine: %q", got)
	}
	for n, cut := range map[int]bool{400: false, 401: true} {
		text, err := json.Marshal(strings.Repeat("ü", n))
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(text); strings.HasSuffix(got, "...") != cut || len([]rune(strings.TrimSuffix(got, "..."))) != 400 {
			t.Errorf("%d characters: %q", n, got)
		}
	}
}

func TestWhenACallWaitsForAPerson(t *testing.T) {
	t.Parallel()
	over := capability.Rule{Param: "amount", Op: ">", Value: json.RawMessage("100")}
	given := capability.Rule{Param: "note", Op: "exists"}
	for _, tc := range []struct {
		rule string
		tool capability.AdminTool
		room int
		want string
	}{
		{"never", capability.AdminTool{Risk: capability.RiskMedium}, 20, "no"},
		{"high risk", capability.AdminTool{Risk: capability.RiskHigh}, 20, "always"},
		{"confirmation", capability.AdminTool{ConfirmRequired: true, ConfirmWhen: []capability.Rule{over}}, 20, "always"},
		{"a rule", capability.AdminTool{ConfirmWhen: []capability.Rule{over}}, 12, "amount > 100"},
		{"a rule without room", capability.AdminTool{ConfirmWhen: []capability.Rule{over}}, 11, "1 rule"},
		{"two rules", capability.AdminTool{ConfirmWhen: []capability.Rule{over, given}}, 100, "amount > 100 or note exists"},
	} {
		if got := approval(tc.tool, tc.room); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.rule, got, tc.want)
		}
	}
}

// The answer to a refresh may hold values of any type.
func TestValuesOfFieldsAreShownAsTheyRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"medium"`: "medium", `""`: "none", `true`: "true", `null`: "none", `[1,2]`: "[1,2]", ``: "none",
	} {
		if got := shown(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
