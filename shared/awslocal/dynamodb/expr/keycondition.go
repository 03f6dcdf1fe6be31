package expr

import "bailing/shared/awslocal/dynamodb/attr"

// KeyOperator is how a key condition restricts one key attribute.
type KeyOperator string

// The operators of key conditions. <> , IN, OR and NOT do not exist there.
const (
	KeyEqual          KeyOperator = "="
	KeyLess           KeyOperator = "<"
	KeyLessOrEqual    KeyOperator = "<="
	KeyGreater        KeyOperator = ">"
	KeyGreaterOrEqual KeyOperator = ">="
	KeyBetween        KeyOperator = "BETWEEN"
	KeyBeginsWith     KeyOperator = "begins_with"
)

// KeyTerm is one restriction of a key condition. High is set for [KeyBetween] only.
type KeyTerm struct {
	Attribute string
	Operator  KeyOperator
	Value     attr.Value
	High      attr.Value
}

// KeyCondition parses a KeyConditionExpression into its one or two terms. Whether they fit the key of a table or index is for
// the caller to decide.
func (p *Params) KeyCondition(src string) ([]KeyTerm, error) {
	const label = "KeyConditionExpression"
	c, err := p.Condition(label, src)
	if err != nil {
		return nil, err
	}
	var terms []KeyTerm
	if err := keyTerms(&parser{label: label}, c.root, &terms); err != nil {
		return nil, err
	}
	if len(terms) > 2 {
		return nil, &Error{label, "Conditions can be of length 1 or 2 only"}
	}
	if len(terms) == 2 && terms[0].Attribute == terms[1].Attribute {
		return nil, &Error{label, "KeyConditionExpressions must only contain one condition per key"}
	}
	return terms, nil
}

func keyTerms(p *parser, n node, out *[]KeyTerm) error {
	var of operand
	var bounds []operand
	var operator KeyOperator
	switch x := n.(type) {
	case groupNode:
		return keyTerms(p, x.node, out)
	case andNode:
		if err := keyTerms(p, x.left, out); err != nil {
			return err
		}
		return keyTerms(p, x.right, out)
	case compareNode:
		if x.operator == "<>" {
			return p.fail("Invalid operator used in KeyConditionExpression: <>")
		}
		of, operator, bounds = x.left, KeyOperator(x.operator), []operand{x.right}
	case betweenNode:
		of, operator, bounds = x.of, KeyBetween, []operand{x.low, x.high}
	case beginsNode:
		of, operator, bounds = x.of, KeyBeginsWith, []operand{x.prefix}
	default:
		return p.fail("Only =, <, <=, >, >=, BETWEEN and begins_with, joined by AND, may be used")
	}
	key, ok := of.(path)
	if !ok || len(key) > 1 {
		return p.fail("KeyConditionExpressions must have a key attribute, not a nested or computed one, as the first operand of %s", operator)
	}
	term := KeyTerm{Attribute: key.root(), Operator: operator}
	for i, b := range bounds {
		l, ok := b.(literal)
		if !ok {
			return p.fail("KeyConditionExpressions cannot compare an attribute with another; operator: %s", operator)
		}
		if i == 0 {
			term.Value = l.v
		} else {
			term.High = l.v
		}
	}
	*out = append(*out, term)
	return nil
}
