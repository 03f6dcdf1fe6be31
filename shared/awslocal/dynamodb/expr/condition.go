package expr

import (
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Condition is a parsed condition or filter expression.
type Condition struct {
	root  node
	paths []path
}

// Condition parses a ConditionExpression or FilterExpression; label names the request member in errors.
func (p *Params) Condition(label, src string) (*Condition, error) {
	ps, err := p.parser(label, src)
	if err != nil {
		return nil, err
	}
	c := &conditionParser{parser: ps}
	root, err := c.or()
	if err != nil {
		return nil, err
	}
	return &Condition{root, c.paths}, ps.end()
}

// Eval reports whether item fulfils the condition. An item that does not exist is a nil map.
func (c *Condition) Eval(item attr.Map) bool { return c.root.eval(item) }

// Attributes lists the top-level attributes that the condition reads, with repetitions.
func (c *Condition) Attributes() []string {
	names := make([]string, len(c.paths))
	for i, p := range c.paths {
		names[i] = p.root()
	}
	return names
}

type conditionParser struct {
	*parser
	paths []path
}

// or = and { OR and }
func (p *conditionParser) or() (node, error) {
	left, err := p.and()
	for err == nil && p.accept("OR") {
		if err = p.operator(); err != nil {
			return nil, err
		}
		var right node
		right, err = p.and()
		left = orNode{left, right}
	}
	return left, err
}

// and = not { AND not }
func (p *conditionParser) and() (node, error) {
	left, err := p.not()
	for err == nil && p.accept("AND") {
		if err = p.operator(); err != nil {
			return nil, err
		}
		var right node
		right, err = p.not()
		left = andNode{left, right}
	}
	return left, err
}

// not = NOT not | primary
func (p *conditionParser) not() (node, error) {
	if !p.accept("NOT") {
		return p.primary()
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	n, err := p.not()
	return notNode{n}, err
}

// primary = "(" or ")" | function | comparison
func (p *conditionParser) primary() (node, error) {
	if !p.peek().is("(") {
		if p.isCall() && p.peek().text != "size" {
			return p.function()
		}
		return p.comparison()
	}
	p.next()
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if _, again := n.(groupNode); again {
		return nil, p.fail("The expression has redundant parentheses;")
	}
	return groupNode{n}, nil
}

var comparators = []string{"=", "<>", "<", "<=", ">", ">="}

// comparison = operand op operand | operand BETWEEN operand AND operand | operand IN "(" operand { "," operand } ")"
func (p *conditionParser) comparison() (node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	switch t := p.peek(); {
	case p.accept("BETWEEN"):
		return p.between(left)
	case p.accept("IN"):
		return p.in(left)
	case t.kind == tokSymbol && slices.Contains(comparators, t.text):
		p.next()
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		if t.text != "=" && t.text != "<>" {
			if err := p.orderable(t.text, left, right); err != nil {
				return nil, err
			}
		}
		return compareNode{t.text, left, right}, p.distinct(t.text, left, right)
	}
	return nil, p.syntaxError()
}

func (p *conditionParser) between(of operand) (node, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.orderable("BETWEEN", of, low, high); err != nil {
		return nil, err
	}
	l, lok := low.(literal)
	h, hok := high.(literal)
	if lok && hok {
		order, same := attr.Compare(l.v, h.v)
		switch {
		case !same:
			return nil, p.fail("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {%s}, upper bound operand: AttributeValue: {%s}", l.v.Kind(), h.v.Kind())
		case order > 0:
			return nil, p.fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: %s, upper bound operand: %s", l.name, h.name)
		}
	}
	return betweenNode{of, low, high}, p.distinct("BETWEEN", of, low, high)
}

func (p *conditionParser) in(of operand) (node, error) {
	among, err := p.arguments()
	if err != nil {
		return nil, err
	}
	if len(among) > maxInOperands {
		return nil, p.fail("The IN operator has too many operands; at most %d are allowed, number of operands: %d", maxInOperands, len(among))
	}
	return inNode{of, among}, p.distinct("IN", of, among...)
}

// arguments = "(" operand { "," operand } ")"
func (p *conditionParser) arguments() ([]operand, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var out []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		out = append(out, o)
		if p.accept(")") {
			return out, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

// operand = path | :value | size "(" operand ")"
func (p *conditionParser) operand() (operand, error) {
	if p.peek().kind == tokValue {
		return p.value()
	}
	if p.isCall() {
		name := p.next().text
		if name != "size" {
			return nil, p.misusedFunction(name)
		}
		args, err := p.arguments()
		if err != nil {
			return nil, err
		}
		if err := p.operandCount(name, len(args), 1); err != nil {
			return nil, err
		}
		if err := p.operator(); err != nil {
			return nil, err
		}
		return sizeOf{args[0]}, p.literalType(name, args[0], attr.KindString, attr.KindBinary, attr.KindStringSet,
			attr.KindNumberSet, attr.KindBinarySet, attr.KindList, attr.KindMap)
	}
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	p.paths = append(p.paths, path)
	return path, nil
}

// function is a call that is a condition by itself.
func (p *conditionParser) function() (node, error) {
	name := p.next().text
	operands, known := map[string]int{
		"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
	}[name]
	if !known {
		return nil, p.misusedFunction(name)
	}
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	if err := p.operandCount(name, len(args), operands); err != nil {
		return nil, err
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	if operands == 2 {
		if err := p.distinct(name, args[0], args[1]); err != nil {
			return nil, err
		}
	}
	switch name {
	case "attribute_type":
		return p.attributeType(args)
	case "begins_with":
		for _, a := range args {
			if err := p.literalType(name, a, attr.KindString, attr.KindBinary); err != nil {
				return nil, err
			}
		}
		return beginsNode{args[0], args[1]}, nil
	case "contains":
		return containsNode{args[0], args[1]}, nil
	}
	of, isPath := args[0].(path)
	if !isPath {
		return nil, p.fail("Operator or function requires a document path; operator or function: %s", name)
	}
	return existsNode{of, name == "attribute_exists"}, nil
}

func (p *conditionParser) attributeType(args []operand) (node, error) {
	kind, ok := args[1].(literal)
	if !ok {
		return nil, p.fail("The second operand of attribute_type must be an expression attribute value")
	}
	if err := p.literalType("attribute_type", kind, attr.KindString); err != nil {
		return nil, err
	}
	k := attr.Kind(kind.v.(attr.String))
	if !attr.ValidKind(k) {
		return nil, p.fail("Invalid attribute type name found; type: %s", k)
	}
	return typeNode{args[0], k}, nil
}

func (p *parser) misusedFunction(name string) error {
	switch name {
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size", "if_not_exists", "list_append":
		return p.fail("The function is not allowed to be used this way in an expression; function: %s", name)
	}
	return p.fail("Invalid function name; function: %s", name)
}

// orderable refuses literals that have no order.
func (p *conditionParser) orderable(operator string, operands ...operand) error {
	for _, o := range operands {
		if err := p.literalType(operator, o, attr.KindString, attr.KindNumber, attr.KindBinary); err != nil {
			return err
		}
	}
	return nil
}

func (p *conditionParser) distinct(operator string, first operand, rest ...operand) error {
	for _, o := range rest {
		if o.String() == first.String() {
			return p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", operator, first)
		}
	}
	return nil
}
