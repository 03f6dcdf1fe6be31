package capability

import (
	"encoding/json"
	"fmt"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Policies name why a call needs a person's approval, in the order in which they are looked at (core §6.1).
const (
	PolicyRiskHigh        = "risk_high"
	PolicyConfirmRequired = "confirm_required"
	PolicyConfirmWhen     = "confirm_when"
)

// Approval says why a call needs a person's approval.
type Approval struct {
	Policy string
	Reason string // at most 500 UTF-16 units
	Hit    *Hit   // the rule that said so, with the policy confirm_when
}

// Hit is the approval rule that a call's arguments met (core §4.7). Actual quotes an argument.
type Hit struct {
	Param  string          `json:"param"`
	Op     string          `json:"op"`
	Value  json.RawMessage `json:"value,omitempty"`
	Actual json.RawMessage `json:"actual,omitempty"` // left out when the argument is absent or null
	Reason string          `json:"reason"`           // the rule's label, or what it says
}

// Codes of rules that cannot be evaluated; each is followed by a colon and the rule's parameter.
const (
	CodeRuleNoSchema = "confirm_when_missing_schema"
	CodeRuleUntyped  = "confirm_when_untyped_schema"
	CodeRuleType     = "confirm_when_argument_type"
	CodeRuleIn       = "confirm_when_invalid_in"
)

const maxRuleReason = 500

// ApprovalFor decides whether a call with these arguments needs a person's approval: nil and nil when it may go ahead. Rules
// are looked at in their order and the first that is met decides. A rule that cannot be evaluated before that refuses the
// call: skipping it would be a missing approval.
func (t *Tool) ApprovalFor(args canonical.Value) (*Approval, *Refusal) {
	switch {
	case t.Risk == RiskHigh:
		return &Approval{Policy: PolicyRiskHigh, Reason: "risk=high"}, nil
	case t.ConfirmRequired:
		return &Approval{Policy: PolicyConfirmRequired, Reason: "confirm-required"}, nil
	case len(t.ConfirmWhen) == 0:
		return nil, nil
	}
	p, err := t.compiled()
	if err != nil {
		return nil, &Refusal{Reason: CodeInvalidSchema}
	}
	for i := range p.rules {
		rule := &p.rules[i]
		met, refusal := rule.meets(args, p.root)
		if refusal != nil {
			return nil, refusal
		}
		if met {
			hit := rule.hit(args)
			return &Approval{Policy: PolicyConfirmWhen, Reason: hit.Reason, Hit: hit}, nil
		}
	}
	return nil, nil
}

// preparedRule is a rule with its value read.
type preparedRule struct {
	Rule
	value canonical.Value
	bound *bound // of a numeric value
}

func prepareRules(t *Tool) ([]preparedRule, error) {
	rules := make([]preparedRule, len(t.ConfirmWhen))
	for i, r := range t.ConfirmWhen {
		rules[i].Rule = r
		if r.Value == nil {
			continue
		}
		v, err := canonical.Parse(r.Value, canonical.Limits{})
		if err != nil {
			return nil, fmt.Errorf("approval rule %d of tool %q: %w", i, t.Name, err)
		}
		rules[i].value, rules[i].bound = v, newBound(v)
	}
	return rules, nil
}

// meets evaluates the rule. Values are compared in their JSON types and never coerced; what an operator cannot compare at
// all is a wrong type, not a rule that is not met.
func (r *preparedRule) meets(args canonical.Value, root *schema) (bool, *Refusal) {
	declared, refusal := r.schemaIn(root)
	if refusal != nil {
		return false, refusal
	}
	if r.Op == "in" && r.value.Kind() != canonical.Array {
		return false, refuse(CodeRuleIn, r.Param)
	}
	v, present := r.argument(args)
	if !present {
		return r.Op == "!=", nil
	}
	null := v.Kind() == canonical.Null
	if !declared.types.has(v) && !(declared.nullable && null) {
		return false, refuse(CodeRuleType, r.Param)
	}
	switch r.Op {
	case "==":
		return canonical.Equal(v, r.value), nil
	case "!=":
		return !canonical.Equal(v, r.value), nil
	case "exists":
		return !null, nil
	case "in":
		return r.in(v)
	case "contains":
		return r.contains(v)
	}
	return r.compares(v)
}

func (r *preparedRule) compares(v canonical.Value) (bool, *Refusal) {
	switch {
	case v.Kind() == canonical.Null:
		return false, nil
	case v.Kind() != canonical.Number, r.bound == nil:
		return false, refuse(CodeRuleType, r.Param)
	}
	c := r.bound.compare(v)
	switch r.Op {
	case ">":
		return c > 0, nil
	case ">=":
		return c >= 0, nil
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	}
	return false, refuse(CodeRuleType, r.Param) // an operator that no release knew when the tool was compiled
}

func (r *preparedRule) in(v canonical.Value) (bool, *Refusal) {
	comparable := false
	for _, member := range r.value.Elems() {
		if canonical.Equal(member, v) {
			return true, nil
		}
		comparable = comparable || member.Kind() == v.Kind()
	}
	if !comparable {
		return false, refuse(CodeRuleType, r.Param)
	}
	return false, nil
}

func (r *preparedRule) contains(v canonical.Value) (bool, *Refusal) {
	switch v.Kind() {
	case canonical.Null:
		return false, nil
	case canonical.Array:
		for _, element := range v.Elems() {
			if canonical.Equal(element, r.value) {
				return true, nil
			}
		}
		return false, nil
	case canonical.String:
		if r.value.Kind() == canonical.String {
			return strings.Contains(v.Text(), r.value.Text()), nil
		}
	}
	return false, refuse(CodeRuleType, r.Param)
}

// schemaIn is the declared schema of the parameter.
func (r *preparedRule) schemaIn(root *schema) (*schema, *Refusal) {
	s := root
	for name := range strings.SplitSeq(r.Param, ".") {
		if s == nil || !s.properties[name].declared {
			return nil, refuse(CodeRuleNoSchema, r.Param)
		}
		s = s.properties[name].schema
	}
	if s == nil || s.types == 0 {
		return nil, refuse(CodeRuleUntyped, r.Param)
	}
	return s, nil
}

// argument is the parameter's value. Below something that is no object there is none.
func (r *preparedRule) argument(args canonical.Value) (canonical.Value, bool) {
	v := args
	for name := range strings.SplitSeq(r.Param, ".") {
		var ok bool
		if v, ok = v.Get(name); !ok {
			return v, false
		}
	}
	return v, true
}

func (r *preparedRule) hit(args canonical.Value) *Hit {
	h := &Hit{Param: r.Param, Op: r.Op, Value: r.Value, Reason: r.Label}
	if v, ok := r.argument(args); ok && v.Kind() != canonical.Null {
		h.Actual = v.AppendCompact(nil)
	}
	if h.Reason == "" {
		h.Reason = "confirm_when: " + r.Param + " " + r.Op
		if r.Value != nil {
			h.Reason += " " + plain(r.value)
		}
	}
	h.Reason = textlimit.Cut(h.Reason, maxRuleReason)
	return h
}

// plain is a value as people read it: strings without quotation marks, lists with commas.
func plain(v canonical.Value) string {
	switch text, ok := stringForm(v); {
	case v.Kind() == canonical.Null:
		return "null"
	case ok:
		return text
	}
	return string(v.AppendCompact(nil))
}
