package sim

import (
	"encoding/json"
	"slices"
	"strings"
)

// Mutant removes a guard of the product, on the wire between it and DynamoDB or by what it is told: the product itself is not touched.
// The zero value removes nothing.
type Mutant struct {
	Name string
	// Sees lists invariants one of which must be seen broken.
	Sees    []string
	request func(action string, body object) bool            // changes a request; false leaves it as it was
	answer  func(action string, request, answer object) bool // changes its answer

	publishes func(specification string) string // what businesses say about their tools
	egress    string                            // the policy of connections, in place of the right one
}

// object is JSON.
type object = map[string]any

// rewritten is a request as the mutant sends it.
func (m Mutant) rewritten(action string, body []byte) []byte {
	if m.request == nil {
		return body
	}
	return edited(body, func(o object) bool { return m.request(action, o) })
}

// answered is an answer as the mutant gets it.
func (m Mutant) answered(action string, request, answer []byte) []byte {
	if m.answer == nil {
		return answer
	}
	var r object
	if json.Unmarshal(request, &r) != nil {
		return answer
	}
	return edited(answer, func(o object) bool { return m.answer(action, r, o) })
}

func edited(b []byte, edit func(object) bool) []byte {
	var o object
	if json.Unmarshal(b, &o) != nil || !edit(o) {
		return b
	}
	out, err := json.Marshal(o)
	if err != nil {
		return b
	}
	return out
}

// proved reports whether the mutant was seen: then nothing else of its schedule matters.
func (w *world) proved() bool {
	return slices.ContainsFunc(w.failures, func(f Failure) bool { return slices.Contains(w.mutant.Sees, f.Invariant) })
}

// Mutants are the guards whose removal the simulator must see.
func Mutants() []Mutant {
	return []Mutant{
		{
			Name: "journal condition", Sees: []string{"I1"},
			request: func(_ string, body object) bool {
				return each(body, "Put", func(put object) bool { return sortKey(put["Item"], "call#") && drop(put, "ConditionExpression") })
			},
			answer: func(action string, _, answer object) bool {
				return action == "BatchGetItem" && hide(answer, func(it object) bool { return sortKey(it, "call#") })
			},
		},
		{
			Name: "fencing", Sees: []string{"I4", "I5", "I9"},
			request: func(_ string, body object) bool {
				return everyCondition(body, "claim = :claim AND #state = :running",
					"(claim = :claim OR claim <> :claim) AND (#state = :running OR #state <> :running)")
			},
		},
		{
			Name: "preflight", Sees: []string{"I4"},
			answer: func(action string, _, answer object) bool {
				it, _ := answer["Attributes"].(object)
				if action != "UpdateItem" || it["open"] == nil {
					return false
				}
				delete(it, "open")
				delete(it, "call")
				return true
			},
		},
		{
			Name: "outbox", Sees: []string{"I6"},
			request: func(_ string, body object) bool {
				return without(body, func(a object) bool {
					put, ok := a["Put"].(object)
					return ok && sortKey(put["Item"], "outbox#")
				})
			},
		},
		{
			Name: "head rule", Sees: []string{"I5"},
			request: func(action string, body object) bool {
				return action == "UpdateItem" && everyCondition(body, "head = :true", "(head = :true OR head <> :true)")
			},
		},
		{
			Name: "audit record of a dispatch", Sees: []string{"I2"},
			request: func(_ string, body object) bool {
				reserve := false
				each(body, "Put", func(put object) bool {
					reserve = reserve || sortKey(put["Item"], "call#") && put["ConditionExpression"] != nil
					return false
				})
				return reserve && without(body, func(a object) bool {
					put, ok := a["Put"].(object)
					return ok && strings.Contains(stringOf(put["Item"], "sk"), "#tool_call-")
				})
			},
		},
		{
			Name: "request id", Sees: []string{"I9"},
			request: func(_ string, body object) bool {
				return each(body, "Put", func(put object) bool {
					return strings.HasPrefix(stringOf(put["Item"], "pk"), "request#") && drop(put, "ConditionExpression")
				})
			},
			answer: func(action string, _, answer object) bool {
				return action == "BatchGetItem" && hide(answer, func(it object) bool { return strings.HasPrefix(stringOf(it, "pk"), "request#") })
			},
		},
		{
			Name: "ticket condition", Sees: []string{"I3"},
			request: func(_ string, body object) bool {
				return everyCondition(body, "#state = :approved AND attribute_not_exists(used)", "(#state = :approved OR #state <> :approved)")
			},
			answer: func(action string, _, answer object) bool {
				return action == "BatchGetItem" && change(answer, func(it object) bool {
					if !sortKey(it, "ticket#") || stringOf(it, "state") == "approved" && it["used"] == nil {
						return false
					}
					it["state"] = object{"S": "approved"}
					delete(it, "used")
					return true
				})
			},
		},
		{
			Name: "due ticket", Sees: []string{"I3"},
			request: func(_ string, body object) bool {
				return everyCondition(body, "attribute_not_exists(#due)", "(attribute_not_exists(#due) OR attribute_exists(#due))")
			},
			answer: func(action string, _, answer object) bool {
				it, _ := answer["Item"].(object)
				return action == "GetItem" && drop(it, "due")
			},
		},
		{
			Name: "deadline", Sees: []string{"I3", "I5"},
			request: func(_ string, body object) bool {
				return everyCondition(body, "expires > :now", "(expires > :now OR expires <= :now)")
			},
			answer: func(action string, _, answer object) bool {
				later := func(it object) bool {
					due, _ := it["due"].(object)
					for i, mark := range list(due["SS"]) {
						id, _, _ := strings.Cut(mark.(string), "@")
						list(due["SS"])[i] = id + "@4102444800000"
					}
					if it["expires"] != nil {
						it["expires"] = object{"N": "4102444800000"}
					}
					return it["expires"] != nil || due != nil
				}
				it, _ := answer["Attributes"].(object)
				return later(it) || action == "BatchGetItem" && change(answer, later)
			},
		},
		{
			Name: "sealing of sensitive answers", Sees: []string{"I10"},
			publishes: func(s string) string { return strings.ReplaceAll(s, `"audit":{"sensitive":true},`, "") },
		},
		{
			Name: "egress policy", Sees: []string{"I7"}, egress: "127.0.0.0/8,10.0.0.0/8",
		},
		{
			Name: "unknown outcome", Sees: []string{"I4"},
			request: func(_ string, body object) bool {
				return each(body, "Put", func(put object) bool {
					it, _ := put["Item"].(object)
					if !sortKey(it, "call#") || stringOf(it, "state") != "uncertain" {
						return false
					}
					it["state"] = object{"S": "completed"}
					return true
				})
			},
		},
	}
}

// each visits the actions of one kind of a transaction, or the request itself.
func each(body object, kind string, visit func(object) bool) (changed bool) {
	for _, a := range list(body["TransactItems"]) {
		if act, ok := a.(object)[kind].(object); ok && visit(act) {
			changed = true
		}
	}
	return changed
}

// without drops actions of a transaction.
func without(body object, which func(object) bool) bool {
	actions := list(body["TransactItems"])
	var kept []any
	for _, a := range actions {
		if !which(a.(object)) {
			kept = append(kept, a)
		}
	}
	if len(kept) == len(actions) || len(kept) == 0 {
		return false
	}
	body["TransactItems"] = kept
	return true
}

// everyCondition replaces a part of all conditions of a request.
func everyCondition(body object, old, with string) (changed bool) {
	replace := func(o object) bool {
		c, _ := o["ConditionExpression"].(string)
		if !strings.Contains(c, old) {
			return false
		}
		o["ConditionExpression"] = strings.ReplaceAll(c, old, with)
		return true
	}
	changed = replace(body)
	for _, kind := range []string{"Put", "Update", "ConditionCheck", "Delete"} {
		changed = each(body, kind, replace) || changed
	}
	return changed
}

// hide drops items from the answer of a batched read.
func hide(answer object, which func(object) bool) (changed bool) {
	tables, _ := answer["Responses"].(object)
	for name, items := range tables {
		var kept []any
		for _, it := range list(items) {
			if !which(it.(object)) {
				kept = append(kept, it)
			}
		}
		if len(kept) < len(list(items)) {
			tables[name], changed = append([]any{}, kept...), true
		}
	}
	return changed
}

// change visits the items in the answer of a batched read.
func change(answer object, visit func(object) bool) (changed bool) {
	tables, _ := answer["Responses"].(object)
	for _, items := range tables {
		for _, it := range list(items) {
			changed = visit(it.(object)) || changed
		}
	}
	return changed
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func drop(o object, member string) bool {
	_, had := o[member]
	delete(o, member)
	return had
}

func stringOf(it any, name string) string {
	o, _ := it.(object)
	v, _ := o[name].(object)
	s, _ := v["S"].(string)
	return s
}

func sortKey(it any, begin string) bool { return strings.HasPrefix(stringOf(it, "sk"), begin) }
