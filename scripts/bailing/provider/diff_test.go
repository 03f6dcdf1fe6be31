package provider

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// edited is the example after some replacements.
func edited(t *testing.T, replacements ...string) string {
	t.Helper()
	b, err := os.ReadFile(fromRoot(ordersFile))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(string(b), replacements[i]) {
			t.Fatalf("%q is not in the example", replacements[i])
		}
	}
	return file(t, strings.NewReplacer(replacements...).Replace(string(b)))
}

func TestTheStatusOfDiff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule                     string
		changes                  []string
		weakened, changed, never int // statuses by --fail-on
		want                     string
	}{
		{"the same", nil, 0, 0, 0, "The tools are the same."},
		{"another summary", []string{"Pay money back", "Return money"}, 0, 1, 0, "~ refund_create  inputs, texts or limits"},
		{"another scope", []string{"scope: orders.note", "scope: notes.write"}, 0, 1, 0, "scope: orders.note -> notes.write"},
		{"more risk", []string{"level: medium", "level: high"}, 0, 1, 0, "risk: medium -> high"},
		{"less risk", []string{"level: medium", "level: low"}, 1, 1, 0, "WEAKER PROTECTION\n! refund_create\n    risk: medium -> low"},
		{"a weaker rule", []string{"value: 100,", "value: 500,"}, 1, 1, 0,
			"      - amount > 100 (more than 100 euros)\n      + amount > 500"},
		{"no subject", []string{"required: true # no call", "required: false # no call"}, 1, 1, 0,
			"requires_subject: true -> false"},
		{"repeated without the journal", []string{"scope: orders.note", "scope: orders.note\n        execution: {idempotent: true}"}, 1, 1, 0,
			"! order_note_create\n    idempotent: false -> true"},
		{"a tool less", []string{"operationId: order_search", "operationId: order_list"}, 0, 1, 0, "- order_search  removed\n+ order_list  added"},
	} {
		after := edited(t, tc.changes...)
		for failOn, want := range map[string]int{"": tc.weakened, "weakened": tc.weakened, "changed": tc.changed, "none": tc.never} {
			s := newSession()
			args := []string{"diff", ordersFile, after}
			if failOn != "" {
				args = append(args, "--fail-on", failOn)
			}
			if code := s.run(t.Context(), args...); code != want || !strings.Contains(s.stdout.String(), tc.want) || s.stderr.Len() > 0 {
				t.Errorf("%s, --fail-on %q: status %d\n%s%s", tc.rule, failOn, code, &s.stdout, &s.stderr)
			}
		}
	}
}

func TestDiffForPrograms(t *testing.T) {
	t.Parallel()
	s := newSession()
	if code := s.run(t.Context(), "diff", "--json", ordersFile, edited(t, "level: medium", "level: low")); code != 1 {
		t.Fatalf("status %d: %s", code, &s.stderr)
	}
	var d difference
	if err := json.Unmarshal(s.stdout.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Same || len(d.Weakened) != 1 || d.Weakened[0] != "refund_create" || d.Old.Source != ordersFile || d.Old.Tools != 4 ||
		len(d.Changes) != 1 || string(d.Changes[0].Fields[0].Was) != `"medium"` || d.Added == nil || d.Removed == nil || d.Other == nil {
		t.Errorf("%s", &s.stdout)
	}
}

// The hub shows less of a tool than the compiler knows; that is no difference.
func TestDiffWithWhatAHubHas(t *testing.T) {
	t.Parallel()
	spec := file(t, `
openapi: 3.1.0
paths:
  /orders/{order_no}:
    get:
      operationId: order_get
      summary: Get one order
      parameters:
        - {name: order_no, in: path, required: true, description: Number, schema: {type: string}}
      x-agent-capability:
        version: 1
        enabled: true
        scope: orders.read
        subject: {required: SUBJECT}
        outcome: {result: An order, side_effect: read}
        execution: {rate_limit: {count: 0, window: 1m}}
`)
	for subject, want := range map[string]struct {
		code int
		text string
	}{
		"true":  {0, "The tools are the same."},
		"false": {1, "! order_get\n    requires_subject: true -> false"},
	} {
		for _, parameters := range []string{"", "{}"} { // the second: what the hub shows of a very large catalogue
			diffWithHub(t, spec, subject, parameters, want.code, want.text)
		}
	}
}

func diffWithHub(t *testing.T, spec, subject, parameters string, code int, text string) {
	t.Helper()
	b, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	shown := answerFile(t, "tools")
	if parameters != "" {
		var a struct {
			Tools []map[string]any `json:"tools"`
			Note  string           `json:"note"`
		}
		if err := json.Unmarshal([]byte(shown), &a); err != nil {
			t.Fatal(err)
		}
		a.Tools[0]["parameters"] = json.RawMessage(parameters)
		out, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		shown = string(out)
	}
	s := newSession()
	fakeHub(t, s, "GET", "/admin/api/tool-providers/orders/tools", 200, shown)
	after := file(t, strings.Replace(string(b), "SUBJECT", subject, 1))
	if got := s.run(t.Context(), "diff", "orders", after); got != code || !strings.Contains(s.stdout.String(), text) {
		t.Errorf("%s, %s: status %d\n%s%s", subject, parameters, got, &s.stdout, &s.stderr)
	}
	if !strings.Contains(s.stderr.String(), "note: These tools come from the stored specification.") {
		t.Errorf("the hub's note is missing: %q", &s.stderr)
	}
}

func TestWrongUseOfDiff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{}, "diff takes two"}, {[]string{"a.yaml"}, "diff takes two"}, {[]string{"-", "-"}, "only one of the two"},
		{[]string{"--fail-on", "never", "a.yaml", "b.yaml"}, "weakened, changed or none"}, {[]string{"orders", ordersFile}, "BAILING_URL is not set"},
		{[]string{"./orders", ordersFile}, "./orders: no such file"}, {[]string{ordersFile, "orders"}, "orders: no such file"},
		{[]string{ordersFile, file(t, "a: [")}, "cannot be compiled"}, {[]string{"--secret-env", "S", ordersFile, ordersFile}, "empty or not set"},
	} {
		s := newSession()
		if code := s.run(t.Context(), append([]string{"diff"}, tc.args...)...); code != 2 || s.stdout.Len() > 0 || !strings.Contains(s.stderr.String(), tc.want) {
			t.Errorf("%q: status %d, %q", tc.args, code, &s.stderr)
		}
	}
}

func TestOperationsWithErrorsAreMentioned(t *testing.T) {
	t.Parallel()
	s := newSession()
	if code := s.run(t.Context(), "diff", brokenFile, brokenFile); code != 0 || !strings.Contains(s.stderr.String(), "errors; operations with errors are no tools") {
		t.Errorf("status %d, %q", code, &s.stderr)
	}
}
