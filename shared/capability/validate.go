package capability

import (
	"math"
	"slices"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds of core §5.5.
const (
	MaxArgumentDepth = 16   // containers inside an argument; an argument itself is at depth 0
	MaxArrayItems    = 1000 // of every array in the arguments
	MaxObjectKeys    = 256  // of every object inside an argument
)

// ValidateArgs checks the arguments of a call against the tool's schema, in the order and within the bounds of core §5.5,
// and answers with the first reason to refuse; nil when there is none. Nothing is coerced. Keywords that core §5.5 does
// not name (format, pattern, oneOf, ...) are for the business to check.
func (t *Tool) ValidateArgs(args canonical.Value) *Refusal {
	if args.Kind() != canonical.Object {
		return &Refusal{Reason: CodeNotObject}
	}
	p, err := t.compiled()
	if err != nil {
		return &Refusal{Reason: CodeInvalidSchema}
	}
	var c checker
	if f := c.members(args, p.root, 0, math.MaxInt); f != nil {
		// One walk has found something to refuse. Whatever it is, names that are wrong come first.
		if names := p.root.undeclared(args, maxReasonNames); names != nil {
			return refuseNames(CodeUnknownArguments, names)
		}
		if names := p.root.missing(args, maxReasonNames); names != nil {
			return refuseNames(CodeMissingRequired, names)
		}
		return f.refusal()
	}
	if p.reserved != "" {
		return refuse(CodeReservedHeader, p.reserved)
	}
	return nil
}

// finding is something to refuse. Its place is put together on the way back from it, so that accepting costs no bookkeeping.
type finding struct {
	code string
	back place // from the innermost step to the outermost
}

func found(code string) *finding { return &finding{code: code} }

// in is f seen from one level further out.
func (f *finding) in(s step) *finding {
	f.back = append(f.back, s)
	return f
}

func (f *finding) refusal() *Refusal {
	slices.Reverse(f.back)
	return refuse(f.code, f.back.String())
}

// checker walks arguments. Its methods answer with the first thing to refuse, or nil.
type checker struct {
	scratch []byte
}

func (c *checker) value(v canonical.Value, s *schema, depth int) *finding {
	if depth > MaxArgumentDepth {
		return found(CodeTooDeep)
	}
	if s != nil {
		if s.types != 0 && !s.types.has(v) && !(s.nullable && v.Kind() == canonical.Null) {
			return found(CodeType)
		}
		if s.enum != nil {
			c.scratch = v.AppendCanonical(c.scratch[:0])
			if _, ok := s.enum[string(c.scratch)]; !ok {
				return found(CodeEnum)
			}
		}
	}
	switch v.Kind() {
	case canonical.String:
		return c.text(v, s)
	case canonical.Number:
		return c.number(v, s)
	case canonical.Array:
		return c.array(v, s, depth)
	case canonical.Object:
		return c.object(v, s, depth)
	}
	return nil
}

func (c *checker) text(v canonical.Value, s *schema) *finding {
	if s == nil || s.minLength == 0 && s.maxLength < 0 {
		return nil
	}
	n := textlimit.Len(v.Text())
	if n < s.minLength {
		return found(CodeMinLength)
	}
	if s.maxLength >= 0 && n > s.maxLength {
		return found(CodeMaxLength)
	}
	return nil
}

func (c *checker) number(v canonical.Value, s *schema) *finding {
	if s == nil {
		return nil
	}
	if s.minimum != nil && s.minimum.compare(v) < 0 {
		return found(CodeMinimum)
	}
	if s.maximum != nil && s.maximum.compare(v) > 0 {
		return found(CodeMaximum)
	}
	return nil
}

func (c *checker) array(v canonical.Value, s *schema, depth int) *finding {
	var items *schema
	if s != nil {
		items = s.items
	}
	for i, item := range v.Elems() {
		if i == MaxArrayItems {
			return found(CodeArrayTooLarge)
		}
		if f := c.value(item, items, depth+1); f != nil {
			if v.Len() > MaxArrayItems { // comes before anything about an item
				return found(CodeArrayTooLarge)
			}
			return f.in(step{index: i})
		}
	}
	return nil
}

func (c *checker) object(v canonical.Value, s *schema, depth int) *finding {
	f := c.members(v, s, depth+1, MaxObjectKeys)
	if f == nil {
		return nil
	}
	if v.Len() > MaxObjectKeys { // comes before anything about a member, as do members that are not there
		return found(CodeObjectTooLarge)
	}
	if s != nil {
		if names := s.missing(v, 1); names != nil {
			return found(CodeMissingRequired).in(step{key: names[0], index: -1})
		}
	}
	return f
}

// members checks the members of an object in one walk: their values at the given depth, that there are at most limit of
// them, and that the required ones are among them. Which of several findings comes first is for the caller to say.
func (c *checker) members(v canonical.Value, s *schema, depth, limit int) *finding {
	count, required := 0, 0
	for key, m := range v.Members() {
		if count++; count > limit {
			return found(CodeObjectTooLarge)
		}
		var sub *schema
		if s != nil {
			p := s.properties[key]
			switch {
			case p.declared:
				sub = p.schema
			case s.open:
				sub = s.additional
			default:
				return found(CodeUnknownArgument).in(step{key: key, index: -1})
			}
			if p.required {
				required++
			}
		}
		if f := c.value(m, sub, depth); f != nil {
			return f.in(step{key: key, index: -1})
		}
	}
	if s != nil && required < s.distinct {
		return found(CodeMissingRequired)
	}
	return nil
}
