package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// MaxRules is the number of approval rules that a tool may have (core §4.6, D15).
const MaxRules = 20

// approvalRules checks the rules of approval.when against the inputs (core §4.7). A rule that could not be evaluated safely at
// call time makes the tool an error now.
func (o *operation) approvalRules(t *capability.Tool, in *inputs) {
	when, ok := o.section("approval").Get("when")
	if !ok || when.Kind() == canonical.Null {
		return
	}
	if when.Kind() != canonical.Array {
		o.fail(faultf(codeInvalidConfirmWhen, "Write approval.when as an array of rules.",
			"approval.when is not an array").under(o.capability("approval", "when")))
		return
	}
	if n := when.Len(); n > MaxRules {
		o.fail(faultf(codeTooManyRules, "Combine rules, or set approval.required.",
			"%d approval rules, at most %d are allowed", n, MaxRules).under(o.capability("approval", "when")))
		return
	}
	for i, v := range when.Elems() {
		rule, f := o.readRule(v, in)
		if f != nil {
			f.message = fmt.Sprintf("approval rule %d: %s", i+1, f.message)
			o.fail(f.in(strconv.Itoa(i)).under(o.capability("approval", "when")))
			continue
		}
		t.ConfirmWhen = append(t.ConfirmWhen, rule)
	}
}

// present is the name of a rule's member, as the steps to it; none when the rule lacks it.
func present(rule canonical.Value, name string) []string {
	if _, ok := rule.Get(name); ok {
		return []string{name}
	}
	return nil
}

var operators = [...]string{">", ">=", "<", "<=", "==", "!=", "in", "contains", "exists"}

func (o *operation) readRule(v canonical.Value, in *inputs) (capability.Rule, *fault) {
	var rule capability.Rule
	if v.Kind() != canonical.Object {
		return rule, faultf(codeInvalidConfirmWhen, "Write the rule as an object with param, op and value.", "it is not an object")
	}
	param, _ := v.Get("param")
	op, _ := v.Get("op")
	value, hasValue := v.Get("value")
	label, _ := v.Get("label")
	rule = capability.Rule{Param: param.Text(), Op: op.Text(), Label: textlimit.Cut(whole(label.Text()), maxLabel)}
	if hasValue {
		rule.Value = json.RawMessage(value.AppendCompact(nil))
	}
	switch {
	case textlimit.Blank(rule.Param):
		return rule, faultf(codeInvalidConfirmWhenParam, "Name the argument.", "param is missing").in(present(v, "param")...)
	case !slices.Contains(operators[:], rule.Op):
		return rule, faultf(codeInvalidConfirmWhenOp, "Use one of "+strings.Join(operators[:], " ")+".",
			"the operator %q is unknown", quote(rule.Op)).in(present(v, "op")...)
	case !hasValue && rule.Op != "exists":
		return rule, faultf(codeInvalidConfirmWhenValue, "Add the value to compare with.", "value is missing")
	}
	target, f := o.find(in, rule.Param)
	if f != nil {
		return rule, f
	}
	if target == nil {
		return rule, faultf(codeConfirmWhenUndeclared, "Name a declared argument, or a property inside one with dots.",
			"%q is not declared", quote(rule.Param)).in("param")
	}
	kinds := typeNames(target.get("type").value())
	if len(kinds) == 0 {
		return rule, faultf(codeConfirmWhenUntyped, "Give the argument a type.", "%q has no type", quote(rule.Param)).in("param")
	}
	if target.get("nullable").value().Bool() {
		kinds = append(kinds, "null")
	}
	return rule, checkOperand(rule, value, kinds)
}

// find is the schema at a dotted path through declared object properties.
func (o *operation) find(in *inputs, path string) (*node, *fault) {
	name, rest, nested := strings.Cut(path, ".")
	i, ok := in.at[name]
	if !ok {
		return nil, nil
	}
	n := in.properties[i].value
	for nested {
		name, rest, nested = strings.Cut(rest, ".")
		properties := n.get("properties")
		if properties == nil {
			return nil, nil
		}
		if f := o.doc.spend(len(properties.members)); f != nil {
			return nil, f
		}
		if n = properties.get(name); n == nil || n.kind != objectNode {
			return nil, nil
		}
	}
	return n, nil
}

func checkOperand(rule capability.Rule, value canonical.Value, kinds []string) *fault {
	has := func(kind string) bool { return slices.Contains(kinds, kind) }
	switch rule.Op {
	case ">", ">=", "<", "<=":
		for _, k := range kinds {
			if k != "number" && k != "integer" && k != "null" {
				return faultf(codeConfirmWhenNumericType, "Compare numbers only.",
					"%s needs a number, %q may be %s", rule.Op, quote(rule.Param), quote(k)).in("op")
			}
		}
		if value.Kind() != canonical.Number || !has("number") && !has("integer") {
			return faultf(codeConfirmWhenNumericType, "Write the value as a number, without quotation marks.",
				"%s needs a number", rule.Op).in("value")
		}
	case "==", "!=":
		if !matches(value, kinds) {
			return faultf(codeConfirmWhenValueType, "Write the value in the argument's type; nothing is converted.",
				"the value is %s, %q is %s", value.Kind(), quote(rule.Param), quote(strings.Join(kinds, " or "))).in("value")
		}
	case "in":
		if value.Kind() != canonical.Array {
			return faultf(codeConfirmWhenInType, "Write the value as an array.", "in needs an array").in("value")
		}
		for _, e := range value.Elems() {
			if matches(e, kinds) {
				return nil
			}
		}
		return faultf(codeConfirmWhenInType, "List values of the argument's type.",
			"no listed value has the type of %q", quote(rule.Param)).in("value")
	case "contains":
		if !has("array") && !has("string") {
			return faultf(codeConfirmWhenContainsType, "Use contains on strings and arrays.",
				"%q is neither string nor array", quote(rule.Param)).in("op")
		}
		if !has("array") && value.Kind() != canonical.String {
			return faultf(codeConfirmWhenContainsType, "Write the value as a string.", "a string contains only strings").in("value")
		}
	}
	return nil
}

// matches reports whether a value is of one of the JSON Schema types.
func matches(v canonical.Value, kinds []string) bool {
	return slices.Contains(kinds, v.Kind().String()) ||
		v.Kind() == canonical.Number && v.IsInteger() && slices.Contains(kinds, "integer")
}
