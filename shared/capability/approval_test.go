package capability_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bailing/shared/capability"
)

// guarded is a tool with a rule; its arguments are those of the vectors.
func guarded(schema string, rules ...capability.Rule) *capability.Tool {
	t := tool(schema, `[]`)
	t.ConfirmWhen = rules
	return t
}

const ruleSchema = `{"amount":{"type":"number"},"qty":{"type":"integer"},"code":{"type":"string"},"tags":{"type":"array"},` +
	`"flag":{"type":"boolean"},"nn":{"type":["string","null"]},"o":{"type":"object","properties":{"n":{"type":"number"}}},` +
	`"maybe":{"type":"number","nullable":true},"any":{},"mixed":{"type":["string","number"]}}`

func TestApprovalVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Conditions []struct {
			Condition   capability.Rule
			Arguments   json.RawMessage
			Outcome     string
			Policy      string
			Reason      string
			ConfirmWhen json.RawMessage `json:"confirm_when"`
			ArgsHash    string          `json:"args_hash"`
		}
	}
	readJSON(t, "testdata/approval_conditions.json", &file)
	if len(file.Conditions) != 35 {
		t.Fatalf("%d vectors, want 35", len(file.Conditions))
	}
	for _, v := range file.Conditions {
		name := fmt.Sprintf("%s %s %s of %s", v.Condition.Param, v.Condition.Op, v.Condition.Value, v.Arguments)
		args := parse(t, string(v.Arguments))
		got, refusal := guarded(ruleSchema, v.Condition).ApprovalFor(args)
		switch v.Outcome {
		case "executes":
			if got != nil || refusal != nil {
				t.Errorf("%s: %+v, %v, want it to execute", name, got, refusal)
			}
		case "blocked":
			if refusal == nil || refusal.Reason != v.Reason {
				t.Errorf("%s: refused with %v, want %s", name, refusal, v.Reason)
			}
		case "approval_required":
			if got == nil || got.Policy != v.Policy || got.Reason != v.Reason || args.Hash() != v.ArgsHash {
				t.Errorf("%s: %+v, %v, want %s %s", name, got, refusal, v.Policy, v.Reason)
				continue
			}
			hit, err := json.Marshal(got.Hit)
			if err != nil || !sameJSON(t, hit, v.ConfirmWhen) {
				t.Errorf("%s: hit %s, want %s", name, hit, v.ConfirmWhen)
			}
		default:
			t.Errorf("%s: unknown outcome %s", name, v.Outcome)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func rule(param, op, value string) capability.Rule {
	r := capability.Rule{Param: param, Op: op}
	if value != "" {
		r.Value = json.RawMessage(value)
	}
	return r
}

func TestApprovalRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		rules         []capability.Rule
		args          string
		reason, block string // both empty: the call may go ahead
	}{
		{"the first rule that is met decides", []capability.Rule{rule("qty", ">", "9"), rule("qty", ">", "1"), rule("qty", ">", "0")}, `{"qty":5}`, "confirm_when: qty > 1", ""},
		{"a broken rule after it does not matter", []capability.Rule{rule("qty", ">", "1"), rule("no", "exists", "")}, `{"qty":5}`, "confirm_when: qty > 1", ""},
		{"a broken rule before it blocks", []capability.Rule{rule("no", "exists", ""), rule("qty", ">", "1")}, `{"qty":5}`, "", "confirm_when_missing_schema:no"},
		{"a label is the reason", []capability.Rule{{Param: "qty", Op: ">", Value: json.RawMessage("1"), Label: "Many"}}, `{"qty":5}`, "Many", ""},
		{"a schema without a type blocks, whatever the arguments", []capability.Rule{rule("any", "exists", "")}, `{}`, "", "confirm_when_untyped_schema:any"},
		{"a property that is not declared inside an object", []capability.Rule{rule("o.x", "exists", "")}, `{}`, "", "confirm_when_missing_schema:o.x"},
		{"in needs a list", []capability.Rule{rule("code", "in", `"A"`)}, `{"code":"A"}`, "", "confirm_when_invalid_in:code"},
		{"a null that is allowed is not above anything", []capability.Rule{rule("maybe", ">", "1")}, `{"maybe":null}`, "", ""},
		{"nor below", []capability.Rule{rule("maybe", "<", "1")}, `{"maybe":null}`, "", ""},
		{"text is never compared as a number", []capability.Rule{rule("mixed", ">", "1000")}, `{"mixed":"5000"}`, "", "confirm_when_argument_type:mixed"},
		{"integers beyond 2^53 compare exactly", []capability.Rule{rule("qty", ">", "9007199254740993")}, `{"qty":9007199254740992}`, "", ""},
		{"and one more is above", []capability.Rule{rule("qty", ">", "9007199254740992")}, `{"qty":9007199254740993}`, "confirm_when: qty > 9007199254740992", ""},
		{"1.0 is 1", []capability.Rule{rule("qty", "==", "1")}, `{"qty":1.0}`, "confirm_when: qty == 1", ""},
		{"objects are equal whatever the order of their keys", []capability.Rule{rule("o", "==", `{"n":1,"m":2}`)}, `{"o":{"m":2,"n":1}}`, `confirm_when: o == {"n":1,"m":2}`, ""},
		{"an operator of a later release blocks", []capability.Rule{rule("qty", "~", "1")}, `{"qty":5}`, "", "confirm_when_argument_type:qty"},
		{"the 20th rule counts", append(repeat(rule("qty", ">", "9"), 19), rule("qty", "==", "5")), `{"qty":5}`, "confirm_when: qty == 5", ""},
	} {
		got, refusal := guarded(ruleSchema, tc.rules...).ApprovalFor(parse(t, tc.args))
		reason, block := "", ""
		if got != nil {
			reason = got.Reason
		}
		if refusal != nil {
			block = refusal.Reason
		}
		if reason != tc.reason || block != tc.block {
			t.Errorf("%s: reason %q, refusal %q; want %q, %q", tc.name, reason, block, tc.reason, tc.block)
		}
	}
}

func repeat(r capability.Rule, n int) []capability.Rule {
	out := make([]capability.Rule, n)
	for i := range out {
		out[i] = r
	}
	return out
}

func TestApprovalPoliciesHaveAnOrder(t *testing.T) {
	t.Parallel()
	broken := rule("no", "exists", "")
	for _, tc := range []struct {
		name           string
		change         func(*capability.Tool)
		policy, reason string
	}{
		{"risk first", func(t *capability.Tool) { t.Risk, t.ConfirmRequired = capability.RiskHigh, true }, "risk_high", "risk=high"},
		{"then the flag, before any rule", func(t *capability.Tool) { t.ConfirmRequired = true }, "confirm_required", "confirm-required"},
	} {
		g := guarded(ruleSchema, broken)
		tc.change(g)
		got, refusal := g.ApprovalFor(parse(t, `{}`))
		if refusal != nil || got == nil || got.Policy != tc.policy || got.Reason != tc.reason || got.Hit != nil {
			t.Errorf("%s: %+v, %v", tc.name, got, refusal)
		}
	}
	if got, refusal := guarded(ruleSchema).ApprovalFor(parse(t, `{}`)); got != nil || refusal != nil {
		t.Errorf("without a reason: %+v, %v", got, refusal)
	}
}

func TestReasonOfARuleIsBounded(t *testing.T) {
	t.Parallel()
	got, _ := guarded(ruleSchema, rule("code", "!=", `"`+strings.Repeat("x", 10_000)+`"`)).ApprovalFor(parse(t, `{"code":"y"}`))
	if got == nil || len(got.Reason) != 500 {
		t.Errorf("%+v", got)
	}
}

// naive evaluates one rule over decoded JSON, as the table of core §4.7 reads.
func naive(r capability.Rule, typeOf map[string]string, args map[string]any) string {
	var want any
	if r.Value != nil {
		_ = json.Unmarshal(r.Value, &want)
	}
	v, present := args[r.Param]
	list, isList := want.([]any)
	if r.Op == "in" && !isList {
		return "blocked"
	}
	if !present {
		if r.Op == "!=" {
			return "hit"
		}
		return "miss"
	}
	kindOf := func(v any) string {
		switch v.(type) {
		case nil:
			return "null"
		case bool:
			return "boolean"
		case float64:
			return "number"
		case string:
			return "string"
		case []any:
			return "array"
		}
		return "object"
	}
	kind := kindOf(v)
	if f, ok := v.(float64); typeOf[r.Param] == "integer" && ok && f == float64(int64(f)) {
		kind = "integer"
	}
	if kind != typeOf[r.Param] {
		return "blocked"
	}
	outcome := func(hit bool) string {
		if hit {
			return "hit"
		}
		return "miss"
	}
	switch r.Op {
	case "==":
		return outcome(reflect.DeepEqual(v, want))
	case "!=":
		return outcome(!reflect.DeepEqual(v, want))
	case "exists":
		return "hit"
	case "in":
		same := false
		for _, m := range list {
			if reflect.DeepEqual(m, v) {
				return "hit"
			}
			same = same || kindOf(m) == kindOf(v)
		}
		if !same {
			return "blocked"
		}
		return "miss"
	case "contains":
		if elements, ok := v.([]any); ok {
			for _, e := range elements {
				if reflect.DeepEqual(e, want) {
					return "hit"
				}
			}
			return "miss"
		}
		text, isText := v.(string)
		part, isPart := want.(string)
		if !isText || !isPart {
			return "blocked"
		}
		return outcome(strings.Contains(text, part))
	}
	x, isNumber := v.(float64)
	y, comparable := want.(float64)
	if !isNumber || !comparable {
		return "blocked"
	}
	return outcome(map[string]bool{">": x > y, ">=": x >= y, "<": x < y, "<=": x <= y}[r.Op])
}

func TestPropertyApprovalRulesAgainstANaiveEvaluator(t *testing.T) {
	t.Parallel()
	const schema = `{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"a":{"type":"array"}}`
	typeOf := map[string]string{"s": "string", "n": "number", "i": "integer", "b": "boolean", "a": "array"}
	values := []string{`null`, `true`, `false`, `0`, `1`, `1.5`, `-2`, `3`, `""`, `"a"`, `"ab"`, `"1"`, `[]`, `["a"]`, `[1,"a",null]`, `[[1]]`, `{}`, `{"x":1}`}
	params := []string{"s", "n", "i", "b", "a"}
	ops := []string{">", ">=", "<", "<=", "==", "!=", "in", "contains", "exists"}
	r := rand.New(rand.NewPCG(7, 11))
	seen := map[string]int{}
	for range 30_000 {
		one := rule(params[r.IntN(len(params))], ops[r.IntN(len(ops))], values[r.IntN(len(values))])
		text := `{`
		for i := range params {
			if r.IntN(4) > 0 {
				if len(text) > 1 {
					text += ","
				}
				text += fmt.Sprintf("%q:%s", params[i], values[r.IntN(len(values))])
			}
		}
		text += `}`
		var decoded map[string]any
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatal(err)
		}
		got, refusal := guarded(schema, one).ApprovalFor(parse(t, text))
		outcome := "miss"
		if got != nil {
			outcome = "hit"
		}
		if refusal != nil {
			outcome = "blocked"
		}
		want := naive(one, typeOf, decoded)
		if seen[want+one.Op]++; outcome != want {
			t.Fatalf("%s %s %s of %s: %s, want %s", one.Param, one.Op, one.Value, text, outcome, want)
		}
	}
	for _, op := range ops {
		if seen["hit"+op] == 0 || seen["miss"+op] == 0 {
			t.Errorf("%s: %d hits, %d misses: nothing was compared", op, seen["hit"+op], seen["miss"+op])
		}
	}
}

// Whatever rule and arguments are: no panic, and one of the three outcomes.
func FuzzApprovalFor(f *testing.F) {
	f.Add("amount", ">", `100`, `{"amount":100.01}`)
	f.Add("o.n", "in", `[1,null]`, `{"o":{"n":1}}`)
	f.Add("..", "contains", `""`, `{"":{"":{}}}`)
	f.Fuzz(func(t *testing.T, param, op, value, args string) {
		v, err := parseMaybe(args)
		if err != nil {
			return
		}
		if _, err := parseMaybe(value); err != nil {
			value = ""
		}
		got, refusal := guarded(ruleSchema, rule(param, op, value)).ApprovalFor(v)
		if got != nil && refusal != nil {
			t.Errorf("%+v and %v", got, refusal)
		}
	})
}
