package sfn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// maxData is the size of a state's input and output, and of a task's result, in bytes.
const maxData = 256 << 10

// path is a reference path, such as $.wait.timeout_s; empty for $.
type path []string

var referencePath = regexp.MustCompile(`^\$(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// tokenPath is the one path into the context object.
const tokenPath = "$$.Task.Token"

func (p *parser) path(at string, v []byte) path {
	text := p.text(at, v)
	if !referencePath.MatchString(text) {
		p.report(at, "the path %q is not implemented by this stand-in", text)
	}
	return path(strings.Split(text, ".")[1:])
}

// in finds what the path leads to.
func (p path) in(data any) (any, error) {
	for _, name := range p {
		object, ok := data.(map[string]any)
		if !ok {
			return nil, p.missing()
		}
		if data, ok = object[name]; !ok {
			return nil, p.missing()
		}
	}
	return data, nil
}

func (p path) missing() error {
	return fmt.Errorf("the path '$.%s' leads to nothing in the input", strings.Join(p, "."))
}

// resultPath says where a result goes: the zero value replaces the input.
type resultPath struct {
	discard bool // null: the input stays as it is
	path    path
}

func (p *parser) resultPath(at string, v []byte) resultPath {
	if isNull(v) {
		return resultPath{discard: true}
	}
	return resultPath{path: p.path(at, v)}
}

// put returns the input with the result in it.
func (r resultPath) put(input, result any) (any, error) {
	if r.discard {
		return input, nil
	}
	if len(r.path) == 0 {
		return result, nil
	}
	root, ok := input.(map[string]any)
	if !ok {
		return nil, errors.New("a result cannot be put into an input that is no object")
	}
	object := root
	for _, name := range r.path[:len(r.path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			if _, there := object[name]; there {
				return nil, fmt.Errorf("a result cannot be put below '%s', which is no object", name)
			}
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[r.path[len(r.path)-1]] = result
	return root, nil
}

// template is an object to be filled in. A member whose name ends with ".$" takes its value from a path.
type template []templateMember

type templateMember struct {
	name    string
	literal any // of none of the others
	path    path
	isPath  bool
	token   bool
	object  template // nested
}

func (p *parser) template(at string, v []byte) (t template) {
	members := p.members(at, v)
	for name, v := range members {
		at := at + "/" + name
		bare, isPath := strings.CutSuffix(name, ".$")
		m := templateMember{name: bare, isPath: isPath}
		if _, twice := members[bare]; twice && isPath {
			p.report(at, "is there with and without a path")
		}
		switch text := strings.TrimSpace(string(v)); {
		case isPath && text == `"`+tokenPath+`"`:
			m.token, m.isPath = true, false
		case isPath:
			m.path = p.path(at, v)
		case strings.HasPrefix(text, "{"):
			m.object = p.template(at, v)
			if m.object == nil {
				m.literal = map[string]any{}
			}
		case strings.HasPrefix(text, "["):
			p.report(at, "a list in a template is not implemented by this stand-in")
		default:
			literal, err := decode([]byte(text))
			if err != nil {
				p.report(at, "is no JSON")
			}
			m.literal = literal
		}
		t = append(t, m)
	}
	return t
}

func (t template) hasToken() bool {
	for _, m := range t {
		if m.token || m.object.hasToken() {
			return true
		}
	}
	return false
}

// fill makes the object that the template describes.
func (t template) fill(data any, token string) (map[string]any, error) {
	out := make(map[string]any, len(t))
	for _, m := range t {
		v, err := m.literal, error(nil)
		switch {
		case m.token:
			v = token
		case m.isPath:
			v, err = m.path.in(data)
		case m.object != nil:
			v, err = m.object.fill(data, token)
		}
		if err != nil {
			return nil, err
		}
		out[m.name] = v
	}
	return out, nil
}

// decode reads one JSON value; numbers keep their digits.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}
