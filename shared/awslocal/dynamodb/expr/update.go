package expr

import (
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Update is a parsed UpdateExpression.
type Update struct {
	root    *tree[action]
	paths   []path
	creates bool // has a SET or ADD
}

// action is what happens at the end of one path.
type action struct {
	clause string   // SET, REMOVE, ADD or DELETE
	set    setValue // of SET
	value  literal  // of ADD and DELETE
}

// Update parses an UpdateExpression.
func (p *Params) Update(src string) (*Update, error) {
	ps, err := p.parser("UpdateExpression", src)
	if err != nil {
		return nil, err
	}
	u := &updateParser{ps, &Update{root: &tree[action]{}}}
	seen := map[string]bool{}
	for ps.peek().kind != tokEnd {
		clause := strings.ToUpper(ps.peek().text)
		rule := map[string]func() (action, path, error){"SET": u.set, "REMOVE": u.remove, "ADD": u.add, "DELETE": u.delete}[clause]
		if rule == nil || ps.peek().kind != tokIdent {
			return nil, ps.syntaxError()
		}
		if seen[clause] {
			return nil, ps.fail("The %q section can only be used once in an update expression;", clause)
		}
		seen[clause] = true
		ps.next()
		if err := u.clause(clause, rule); err != nil {
			return nil, err
		}
	}
	u.out.creates = seen["SET"] || seen["ADD"]
	return u.out, nil
}

// Attributes lists the top-level attributes that the update writes, with repetitions.
func (u *Update) Attributes() []string {
	names := make([]string, len(u.paths))
	for i, p := range u.paths {
		names[i] = p.root()
	}
	return names
}

// Creates reports whether the update makes an item that did not exist: one that only removes does not.
func (u *Update) Creates() bool { return u.creates }

// Touched returns the part of item at the updated paths, for UPDATED_OLD and UPDATED_NEW.
func (u *Update) Touched(item attr.Map) attr.Map {
	v, _ := keep(u.root, item)
	m, _ := v.(attr.Map)
	return m
}

type updateParser struct {
	*parser
	out *Update
}

// clause = keyword action { "," action }
func (p *updateParser) clause(name string, rule func() (action, path, error)) error {
	for {
		a, target, err := rule()
		if err != nil {
			return err
		}
		a.clause = name
		if err := addPath(p.parser, p.out.root, target, &a); err != nil {
			return err
		}
		p.out.paths = append(p.out.paths, target)
		if !p.accept(",") {
			return nil
		}
	}
}

// set = path "=" operand [ ( "+" | "-" ) operand ]
func (p *updateParser) set() (a action, target path, err error) {
	if target, err = p.path(); err != nil {
		return a, nil, err
	}
	if err = p.expect("="); err != nil {
		return a, nil, err
	}
	if err = p.operator(); err != nil {
		return a, nil, err
	}
	left, err := p.setOperand("")
	if err != nil {
		return a, nil, err
	}
	a.set = left
	if sign := p.peek(); sign.is("+") || sign.is("-") {
		p.next()
		if err = p.operator(); err != nil {
			return a, nil, err
		}
		right, err := p.setOperand("")
		if err != nil {
			return a, nil, err
		}
		for _, side := range []setValue{left, right} {
			if err := p.setType(sign.text, side, attr.KindNumber); err != nil {
				return a, nil, err
			}
		}
		a.set = sum{left, right, sign.text == "-"}
	}
	return a, target, nil
}

// setOperand = path | :value | if_not_exists "(" path "," operand ")" | list_append "(" operand "," operand ")"
func (p *updateParser) setOperand(inside string) (setValue, error) {
	if p.peek().kind == tokValue {
		l, err := p.value()
		return plain{l}, err
	}
	if !p.isCall() {
		path, err := p.path()
		return plain{path}, err
	}
	name := p.next().text
	// DynamoDB refuses a list_append inside another one, though not an if_not_exists.
	if name != "if_not_exists" && (name != "list_append" || inside == "list_append") {
		return nil, p.misusedFunction(name)
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	args, err := p.setArguments(name)
	if err != nil {
		return nil, err
	}
	if err := p.operandCount(name, len(args), 2); err != nil {
		return nil, err
	}
	if name == "list_append" {
		for _, a := range args {
			if err := p.setType(name, a, attr.KindList); err != nil {
				return nil, err
			}
		}
		return appended{args[0], args[1]}, nil
	}
	first, _ := args[0].(plain)
	of, ok := first.operand.(path)
	if !ok {
		return nil, p.fail("Operator or function requires a document path; operator or function: %s", name)
	}
	return ifNotExists{of, args[1]}, nil
}

func (p *updateParser) setArguments(function string) ([]setValue, error) {
	p.next() // the parenthesis that made it a call
	var args []setValue
	for {
		a, err := p.setOperand(function)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if p.accept(")") {
			return args, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *updateParser) setType(function string, v setValue, allowed attr.Kind) error {
	if l, ok := v.(plain); ok {
		return p.literalType(function, l.operand, allowed)
	}
	return nil
}

// remove = path
func (p *updateParser) remove() (a action, target path, err error) {
	target, err = p.path()
	return a, target, err
}

// add = path :value
func (p *updateParser) add() (action, path, error) {
	return p.change("ADD", attr.KindNumber, attr.KindStringSet, attr.KindNumberSet, attr.KindBinarySet)
}

// delete = path :value
func (p *updateParser) delete() (action, path, error) {
	return p.change("DELETE", attr.KindStringSet, attr.KindNumberSet, attr.KindBinarySet)
}

func (p *updateParser) change(clause string, allowed ...attr.Kind) (a action, target path, err error) {
	if target, err = p.path(); err != nil {
		return a, nil, err
	}
	if a.value, err = p.value(); err != nil {
		return a, nil, err
	}
	if err = p.operator(); err != nil {
		return a, nil, err
	}
	return a, target, p.literalType(clause, a.value, allowed...)
}
