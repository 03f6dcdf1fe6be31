package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits bounds what [Parse] accepts. A zero member takes the default; the zero Limits fits arguments, bodies and
// specifications alike. A member above its maximum means the maximum.
type Limits struct {
	MaxBytes int // length of the source; default [DefaultMaxBytes], at most [MaxMaxBytes]
	MaxDepth int // containers inside each other; default [DefaultMaxDepth], at most [MaxMaxDepth]
	MaxNodes int // values, keys not counted; default [DefaultMaxNodes]
}

// Defaults and maxima of [Limits].
const (
	DefaultMaxBytes = 8 << 20
	DefaultMaxDepth = 128
	DefaultMaxNodes = 1 << 21
	MaxMaxBytes     = 256 << 20 // offsets are 32 bits wide, and a number may grow fivefold in its canonical form
	MaxMaxDepth     = 10_000    // writing and comparing recurse
)

func (l Limits) withDefaults() Limits {
	pick := func(v, def, max int) int {
		if v <= 0 {
			return def
		}
		return min(v, max)
	}
	return Limits{
		MaxBytes: pick(l.MaxBytes, DefaultMaxBytes, MaxMaxBytes),
		MaxDepth: pick(l.MaxDepth, DefaultMaxDepth, MaxMaxDepth),
		MaxNodes: pick(l.MaxNodes, DefaultMaxNodes, MaxMaxBytes),
	}
}

// Sentinels for errors.Is. ErrDuplicateKey and ErrInvalidUTF8 are also ErrSyntax; the two limits are not.
var (
	ErrSyntax       = errors.New("malformed JSON")
	ErrDuplicateKey = errors.New("duplicate key")
	ErrInvalidUTF8  = errors.New("invalid UTF-8")
	ErrTooDeep      = errors.New("nested too deeply")
	ErrTooLarge     = errors.New("document too large")
)

// SyntaxError says where and why a document was refused, without quoting it. Every error of [Parse] is one.
type SyntaxError struct {
	Offset int    // in bytes of the source; for a duplicate key, the start of its object
	Reason string // fixed text, safe to show
	kind   error
}

// Error is the reason with its place.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Is makes errors.Is work with the package's sentinels.
func (e *SyntaxError) Is(target error) bool {
	return target == e.kind || target == ErrSyntax && e.kind != ErrTooDeep && e.kind != ErrTooLarge
}

// Parse reads exactly one JSON document (RFC 8259) from src, which it does not keep. Beyond the grammar it refuses
// invalid UTF-8 and duplicate keys (D17) and numbers with a fraction or exponent that overflow a double. Every error is
// a *[SyntaxError].
func Parse(src []byte, lim Limits) (Value, error) {
	lim = lim.withDefaults()
	if len(src) > lim.MaxBytes {
		return Value{}, &SyntaxError{lim.MaxBytes, "document is too large", ErrTooLarge}
	}
	if !utf8.Valid(src) {
		return Value{}, &SyntaxError{invalidAt(src), "text is not valid UTF-8", ErrInvalidUTF8}
	}
	p := parser{src: src, lim: lim}
	p.out.Grow(len(src))
	if n := entriesAtMost(src); n > 0 {
		p.tab = make([]entry, 0, n)
	}
	if err := p.document(); err != nil {
		return Value{}, err
	}
	return Value{doc: &document{text: p.out.String(), tab: p.tab, sorted: p.sorted}}, nil
}

// entriesAtMost bounds the containers of src that are not empty. Counting brackets is fast; only where entries for all of them
// would take more memory than src are those looked for that open nothing.
func entriesAtMost(src []byte) int {
	n := bytes.Count(src, []byte("{")) + bytes.Count(src, []byte("["))
	if n*entrySize <= len(src) {
		return n
	}
	n = 0
	quoted := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '[' || c == '{') && i+1 < len(src) && src[i+1] != c+2:
			n++
		}
	}
	return n
}

func invalidAt(src []byte) int {
	for i := 0; ; {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// parser turns source into a document in one pass. Source that already is in its final spelling is not copied
// piece by piece: src[flushed:i] is what has been accepted and not yet written.
type parser struct {
	src     []byte
	lim     Limits
	out     strings.Builder
	flushed int
	nodes   int
	tab     []entry
	stack   []frame
	keys    []span // in the text, of every open object: its first smallObject keys
	refs    []ref  // scratch of sortKeys
	sorted  map[uint32][]ref

	// Where stack and keys start, so that ordinary documents allocate neither.
	stackRoom [16]frame
	keysRoom  [64]span
}

// frame is an open container.
type frame struct {
	src    int    // offset of its bracket in the source
	pos    uint32 // place of its bracket in the text
	tab    uint32 // its entry
	first  uint32 // where its keys begin in parser.keys
	object bool
	flags  uint32 // what is still true of everything below it
	keys   keyOrder
}

// replace accepts the source up to i, writes with, and goes on at j: src[i:j] had another spelling.
func (p *parser) replace(i, j int, with ...byte) {
	p.out.Write(p.src[p.flushed:i])
	p.out.Write(with)
	p.flushed = j
}

// place is where source offset i is, or will be, in the text.
func (p *parser) place(i int) uint32 { return uint32(p.out.Len() + i - p.flushed) }

// space drops white space from i on and returns the offset of what follows.
func (p *parser) space(i int) int {
	if i < len(p.src) && p.src[i] > ' ' {
		return i
	}
	return p.drop(i)
}

// drop is space where there is some, apart from it so that looking for it can be inlined.
func (p *parser) drop(i int) int {
	j := i
	for j < len(p.src) && (p.src[j] == ' ' || p.src[j] == '\n' || p.src[j] == '\t' || p.src[j] == '\r') {
		j++
	}
	if j > i {
		p.replace(i, j)
	}
	return j
}

// fail is the error for unexpected source at i.
func (p *parser) fail(i int, reason string) error {
	if i >= len(p.src) {
		i, reason = len(p.src), "unexpected end of document"
	}
	return &SyntaxError{i, reason, ErrSyntax}
}

func (p *parser) document() error {
	p.stack, p.keys = p.stackRoom[:0], p.keysRoom[:0]
	i := p.space(0)
	for {
		opened, i2, err := p.value(i)
		if err != nil {
			return err
		}
		i = i2
		if opened {
			continue
		}
		// A value has ended: close containers until one goes on.
		for {
			i = p.space(i)
			if len(p.stack) == 0 {
				if i != len(p.src) {
					return p.fail(i, "unexpected data after the document")
				}
				p.replace(i, i)
				return nil
			}
			f := &p.stack[len(p.stack)-1]
			if i < len(p.src) && p.src[i] == ',' {
				if i = p.space(i + 1); f.object {
					if i, err = p.key(f, i); err != nil {
						return err
					}
				}
				break
			}
			if i >= len(p.src) || p.src[i] != p.src[f.src]+2 {
				return p.fail(i, "expected a comma or a closing bracket")
			}
			i++
			if err := p.close(f, i); err != nil {
				return err
			}
		}
	}
}

// value reads a scalar or an empty container, or opens a container and moves to its first value; opened tells.
func (p *parser) value(i int) (opened bool, next int, err error) {
	if i >= len(p.src) {
		return false, 0, p.fail(i, "")
	}
	if p.nodes++; p.nodes > p.lim.MaxNodes {
		return false, 0, &SyntaxError{i, "document has too many values", ErrTooLarge}
	}
	switch c := p.src[i]; c {
	case '{', '[':
		return p.open(i)
	case '"':
		_, next, err = p.string(i)
		return false, next, err
	case 't':
		next, err = p.literal(i, "true")
	case 'f':
		next, err = p.literal(i, "false")
	case 'n':
		next, err = p.literal(i, "null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return false, 0, p.fail(i, "expected a value")
		}
		next, err = p.number(i)
	}
	return false, next, err
}

func (p *parser) literal(i int, want string) (int, error) {
	for k := range len(want) {
		if i+k >= len(p.src) || p.src[i+k] != want[k] {
			return 0, p.fail(i+k, "malformed literal")
		}
	}
	return i + len(want), nil
}

func (p *parser) open(i int) (opened bool, next int, err error) {
	if len(p.stack) >= p.lim.MaxDepth {
		return false, 0, &SyntaxError{i, "document is nested too deeply", ErrTooDeep}
	}
	f := frame{
		src: i, pos: p.place(i), tab: uint32(len(p.tab)), first: uint32(len(p.keys)),
		object: p.src[i] == '{', flags: flagCompact | flagCanonical, keys: newKeyOrder(),
	}
	next = p.space(i + 1)
	if next < len(p.src) && p.src[next] == p.src[i]+2 {
		return false, next + 1, nil
	}
	p.tab = append(p.tab, entry{})
	p.stack = append(p.stack, f)
	if f.object {
		next, err = p.key(&p.stack[len(p.stack)-1], next)
	}
	return true, next, err
}

// key reads a key and its colon and moves to the value.
func (p *parser) key(f *frame, i int) (int, error) {
	if i >= len(p.src) || p.src[i] != '"' {
		return 0, p.fail(i, "expected a key")
	}
	from := p.place(i + 1)
	escaped, end, err := p.string(i)
	if err != nil {
		return 0, err
	}
	addKey(&f.keys, p.src, i+1, end-1)
	f.keys.escaped = f.keys.escaped || escaped
	if f.keys.count <= smallObject {
		p.keys = append(p.keys, span{from, p.place(end - 1)})
	}
	end = p.space(end)
	if end >= len(p.src) || p.src[end] != ':' {
		return 0, p.fail(end, "expected a colon")
	}
	return p.space(end + 1), nil
}

// close ends the innermost container, whose bracket is just before i.
func (p *parser) close(f *frame, i int) error {
	if f.object {
		if !f.keys.ascending || f.keys.escaped {
			p.replace(i, i)
			if err := p.checkKeys(f); err != nil {
				return err
			}
		}
		if !f.keys.ascending {
			f.flags &^= flagCanonical
		}
		if !f.keys.ordered {
			f.flags &^= flagCompact
		}
	}
	p.keys = p.keys[:f.first]
	p.tab[f.tab] = entry{size: p.place(i) - f.pos, span: uint32(len(p.tab)) - f.tab | f.flags}
	flags := f.flags
	p.stack = p.stack[:len(p.stack)-1]
	if n := len(p.stack); n > 0 {
		p.stack[n-1].flags &= flags
	}
	return nil
}
