package capability_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
)

var ruleOperators = []string{">", ">=", "<", "<=", "==", "!=", "in", "contains", "exists"}

// FuzzRules compares the evaluation of one rule with the table of core §4.7, written down a second time and naively.
func FuzzRules(f *testing.F) {
	const schema = `{"n":{"type":"number"},"i":{"type":["integer","null"]},"s":{"type":"string","nullable":true},"a":{"type":"array"},` +
		`"o":{"type":"object","properties":{"x":{"type":"number"},"y":{}}},"b":{"type":"boolean"}}`
	for _, seed := range [][4]string{
		{"n", ">", `100`, `{"n":100.5}`}, {"n", "<=", `9007199254740993`, `{"n":9007199254740992}`}, {"i", "==", `null`, `{"i":null}`},
		{"i", ">=", `1`, `{"i":1.5}`}, {"s", "contains", `"b"`, `{"s":"abc"}`}, {"s", "!=", `"b"`, `{}`}, {"a", "contains", `{"k":[1]}`, `{"a":[{"k":[1.0]}]}`},
		{"o.x", "in", `[1,"2"]`, `{"o":{"x":2}}`}, {"o.x", "exists", ``, `{"o":[]}`}, {"o.y", "exists", ``, `{"o":{}}`}, {"o", "==", `{"x":1}`, `{"o":{"x":1e0}}`},
		{"none", "exists", ``, `{}`}, {"b", "in", `true`, `{"b":true}`}, {"s", "in", `[]`, `{"s":"a"}`}, {"n", ">", `"1"`, `{"n":2}`}, {"..", "==", `1`, `{"":{"":{"":1}}}`},
	} {
		f.Add(schema, seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, properties, param, op, value, args string) {
		checkRule(t, properties, param, op, value, args)
	})
}

// checkRule is the outcome of both evaluations: hit, miss or a code; they are compared if the texts are JSON, and the compiler
// would let the rule through. A value of "" is none.
func checkRule(t *testing.T, properties, param, op, value, args string) (outcome string) {
	t.Helper()
	schema, _, ok := decode(properties)
	declared, isObject := schema.(map[string]any)
	decoded, parsed, argsOK := decode(args)
	arguments, isArguments := decoded.(map[string]any)
	rule := capability.Rule{Param: param, Op: op}
	var want any
	if value != "" {
		v, parsedValue, valueOK := decode(value)
		ok = ok && valueOK
		want, rule.Value = v, json.RawMessage(parsedValue.AppendCompact(nil))
	}
	switch {
	case !ok, !isObject, !argsOK, !isArguments, !plainText(properties + args + value), hugeNumber(properties + args + value):
		return "skipped"
	case !slices.Contains(ruleOperators, op), value == "" && op != "exists":
		return "skipped"
	case len(param) > 400: // longer places are cut
		return "skipped"
	}
	got := "miss"
	hit, refusal := guarded(properties, rule).ApprovalFor(parsed)
	switch {
	case refusal != nil:
		got = refusal.Reason
	case hit != nil:
		got = "hit"
	}
	outcome = naiveRule(param, op, want, declared, arguments)
	if got != outcome {
		t.Errorf("%s %s %s of %s in %s: %s, want %s", param, op, value, args, properties, got, outcome)
	}
	outcome, _, _ = strings.Cut(outcome, ":")
	return outcome
}

// naiveRule is hit, miss, or the reason to block. The parameter's schema is looked at first, then the operator's value, then
// the argument.
func naiveRule(param, op string, want any, properties, args map[string]any) string {
	schema := map[string]any{"properties": properties}
	for _, name := range strings.Split(param, ".") {
		members, _ := declaredMembers(schema)
		m, ok := members[name]
		if !ok {
			return "confirm_when_missing_schema:" + param
		}
		schema, _ = m.(map[string]any)
	}
	if _, typed := plainTypes(schema); !typed {
		return "confirm_when_untyped_schema:" + param
	}
	list, isList := want.([]any)
	if op == "in" && !isList {
		return "confirm_when_invalid_in:" + param
	}
	v, present := any(args), true
	for _, name := range strings.Split(param, ".") {
		object, _ := v.(map[string]any)
		if v, present = object[name]; !present {
			break
		}
	}
	block := "confirm_when_argument_type:" + param
	outcome := map[bool]string{true: "hit", false: "miss"}
	switch {
	case !present:
		return outcome[op == "!="]
	case !typeAllows(schema, v):
		return block
	}
	switch op {
	case "==":
		return outcome[plainEqual(v, want)]
	case "!=":
		return outcome[!plainEqual(v, want)]
	case "exists":
		return outcome[v != nil]
	case "in":
		if slices.ContainsFunc(list, func(m any) bool { return plainEqual(m, v) }) {
			return "hit"
		}
		if !slices.ContainsFunc(list, func(m any) bool { return plainKind(m) == plainKind(v) }) {
			return block
		}
		return "miss"
	}
	if v == nil { // null that is allowed has no order and no parts
		return "miss"
	}
	if op == "contains" {
		if elements, ok := v.([]any); ok {
			return outcome[slices.ContainsFunc(elements, func(e any) bool { return plainEqual(e, want) })]
		}
		text, isText := v.(string)
		part, isPart := want.(string)
		if !isText || !isPart {
			return block
		}
		return outcome[strings.Contains(text, part)]
	}
	x, isNumber := v.(json.Number)
	y, comparable := want.(json.Number)
	if !isNumber || !comparable {
		return block
	}
	c := rational(x).Cmp(rational(y))
	return outcome[op == ">" && c > 0 || op == ">=" && c >= 0 || op == "<" && c < 0 || op == "<=" && c <= 0]
}
