package expr

import (
	"strconv"

	"bailing/shared/awslocal/dynamodb/attr"
)

// parser reads one expression. Each grammar rule is a method that consumes its tokens.
type parser struct {
	params    *Params
	label     string
	src       string
	tokens    []token
	pos       int
	operators int
}

func (p *Params) parser(label, src string) (*parser, error) {
	p.parsed = true
	ps := &parser{params: p, label: label, src: src}
	if len(src) > maxExpressionBytes {
		return nil, ps.fail("Expression size has exceeded the maximum allowed size of %d bytes; expression size: %d", maxExpressionBytes, len(src))
	}
	var ok bool
	ps.tokens, ok = lex(src)
	if !ok {
		ps.pos = len(ps.tokens) - 1
		return nil, ps.syntaxError()
	}
	if len(ps.tokens) == 1 {
		return nil, ps.fail("The expression can not be empty;")
	}
	return ps, nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) peekAt(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokEnd {
		p.pos++
	}
	return t
}

// accept consumes the next token if it is the keyword or symbol s.
func (p *parser) accept(s string) bool {
	if p.peek().is(s) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(s string) error {
	if !p.accept(s) {
		return p.syntaxError()
	}
	return nil
}

// end demands that nothing is left.
func (p *parser) end() error {
	if p.peek().kind != tokEnd {
		return p.syntaxError()
	}
	return nil
}

// syntaxError names the token at which the parser stands and its neighbours.
func (p *parser) syntaxError() error {
	from := p.tokens[max(p.pos-1, 0)].at
	last := p.peekAt(1)
	to := min(last.at+len(last.text), len(p.src))
	return p.fail("Syntax error; token: %q, near: %q", p.peek().text, p.src[from:to])
}

// operator counts operators and functions, of which an expression may have 300.
func (p *parser) operator() error {
	p.operators++
	if p.operators > maxOperators {
		return p.fail("The expression contains too many operators; at most %d are allowed", maxOperators)
	}
	return nil
}

// path = name { "." name | "[" index "]" }
func (p *parser) path() (path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	out := path{{name: name}}
	for {
		switch {
		case p.accept("."):
			name, err := p.name()
			if err != nil {
				return nil, err
			}
			out = append(out, element{name: name})
		case p.accept("["):
			index, err := p.index()
			if err != nil {
				return nil, err
			}
			out = append(out, element{index: index})
		default:
			if len(out) > maxPathDepth {
				return nil, p.fail("The document path has too many nesting elements; nesting levels: %d, at most %d are allowed", len(out), maxPathDepth)
			}
			return out, nil
		}
	}
}

// name is a bare name that is no reserved word, or a #placeholder.
func (p *parser) name() (string, error) {
	switch t := p.peek(); t.kind {
	case tokIdent:
		if Reserved(t.text) {
			return "", p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.pos++
		return t.text, nil
	case tokName:
		name, ok := p.params.names[t.text]
		if !ok {
			return "", p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		p.params.usedNames[t.text] = true
		p.pos++
		return name, nil
	}
	return "", p.syntaxError()
}

func (p *parser) index() (int, error) {
	t := p.peek()
	if t.kind != tokNumber {
		return 0, p.syntaxError()
	}
	n, err := strconv.ParseInt(t.text, 10, 32)
	if err != nil {
		return 0, p.fail("List index is not within the allowable range; index: [%s]", t.text)
	}
	p.pos++
	return int(n), p.expect("]")
}

// value is a :placeholder.
func (p *parser) value() (literal, error) {
	t := p.peek()
	if t.kind != tokValue {
		return literal{}, p.syntaxError()
	}
	v, ok := p.params.values[t.text]
	if !ok {
		return literal{}, p.fail("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	p.params.usedValues[t.text] = true
	p.pos++
	return literal{t.text, v}, nil
}

// isCall reports whether the parser stands before a function call.
func (p *parser) isCall() bool { return p.peek().kind == tokIdent && p.peekAt(1).is("(") }

// operandCount refuses a call with another number of arguments than want.
func (p *parser) operandCount(function string, got, want int) error {
	if got == want {
		return nil
	}
	return p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, got)
}

// literalType refuses a literal operand whose type the operator or function can never accept. What a path holds is known
// only at evaluation, where a wrong type is no error.
func (p *parser) literalType(function string, o operand, allowed ...attr.Kind) error {
	l, ok := o.(literal)
	if !ok {
		return nil
	}
	for _, k := range allowed {
		if l.v.Kind() == k {
			return nil
		}
	}
	return p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", function, l.v.Kind())
}
