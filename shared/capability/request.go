package capability

import (
	"slices"
	"strings"

	"bailing/shared/canonical"
)

// HeaderField is one declared header parameter of a call.
type HeaderField struct {
	Name  string // as declared
	Value string // printable ASCII
}

// Request is a call of a tool before governance headers and signature are put on it.
type Request struct {
	Method      string
	PathQuery   string // the operation's path and query, exactly as sent: the signed part (core §3.1)
	URL         string // base URL without trailing slashes, and PathQuery
	Header      []HeaderField
	Body        []byte // nil for GET
	ContentType string // "" without a body
}

// BuildRequest places the arguments of a call (core §3.3). The provider's baseURL is trusted configuration. The error is
// always a *[Refusal]. Arguments are not validated here, but what [Tool.ValidateArgs] would refuse as undeclared or reserved
// is refused here too: no path leads an undeclared argument into a request.
func (t *Tool) BuildRequest(baseURL string, args canonical.Value) (Request, error) {
	if args.Kind() != canonical.Object {
		return Request{}, &Refusal{Reason: CodeNotObject}
	}
	b := builder{tool: t}
	for name, v := range args.Members() {
		if r := b.place(name, v); r != nil {
			return Request{}, r
		}
	}
	path, r := b.path()
	if r != nil {
		return Request{}, r
	}
	pathQuery := string(path)
	if len(b.query) > 0 {
		pathQuery += "?" + string(b.query)
	}
	req := Request{
		Method: t.Method, PathQuery: pathQuery, URL: strings.TrimRight(baseURL, "/") + pathQuery, Header: b.header,
	}
	if t.sendsBody() {
		req.Body = append(b.openBody(), '}')
		req.ContentType = "application/json"
		if t.BodyType != "" {
			req.ContentType = t.BodyType
		}
		req.Header = slices.DeleteFunc(req.Header, func(h HeaderField) bool { return strings.EqualFold(h.Name, "content-type") })
	}
	return req, nil
}

// builder collects a request while it walks the arguments once, in their order.
type builder struct {
	tool     *Tool
	segments map[string]string // encoded path arguments
	query    []byte
	header   []HeaderField
	body     []byte
}

func (b *builder) place(name string, v canonical.Value) *Refusal {
	in, declared := b.tool.ParamIn[name]
	if !declared {
		return refuseNames(CodeUnknownArguments, []string{name})
	}
	if in == InHeader && ReservedHeader(name) {
		return refuse(CodeReservedHeader, name)
	}
	if v.Kind() == canonical.Null {
		return nil // part of args_hash, not of the request
	}
	if in == InBody {
		b.addBody(name, v)
		return nil
	}
	text, ok := stringForm(v)
	if !ok {
		return refuse(CodeNotEncodable, name)
	}
	switch in {
	case InPath:
		return b.addPath(name, text)
	case InQuery:
		if len(b.query) > 0 {
			b.query = append(b.query, '&')
		}
		b.query = append(appendForm(b.query, name), '=')
		b.query = appendForm(b.query, text)
	case InHeader:
		value, ok := headerValue(text)
		if !ok || !HeaderName(name) {
			return refuse(CodeHeaderValue, name)
		}
		b.header = append(b.header, HeaderField{Name: name, Value: value})
	default:
		return refuse(CodeNotEncodable, name)
	}
	return nil
}

func (b *builder) addPath(name, text string) *Refusal {
	if text == "" {
		return refuse(CodePathSegment, name) // would address the collection instead of the item
	}
	segment, ok := appendPathSegment(nil, text)
	if !ok {
		return refuse(CodeNotEncodable, name)
	}
	if b.segments == nil {
		b.segments = make(map[string]string)
	}
	b.segments[name] = string(segment)
	return nil
}

func (b *builder) addBody(name string, v canonical.Value) {
	b.body = b.openBody()
	if len(b.body) > 1 {
		b.body = append(b.body, ',')
	}
	b.body = append(canonical.AppendString(b.body, name), ':')
	b.body = v.AppendCompact(b.body)
}

func (b *builder) openBody() []byte {
	if b.body == nil {
		return []byte{'{'}
	}
	return b.body
}

func (b *builder) path() ([]byte, *Refusal) {
	var path []byte
	var last string
	for _, part := range templateParts(b.tool.Path) {
		if !part.placeholder {
			path = appendTemplate(path, part.text)
			continue
		}
		segment, ok := b.segments[part.text]
		if !ok {
			return nil, refuseNames(CodeMissingRequired, []string{part.text})
		}
		last = part.text
		path = append(path, segment...)
	}
	if DotSegment(string(path)) {
		return nil, refuse(CodePathSegment, last)
	}
	return path, nil
}

// stringForm is a value outside the body (core §3.3): strings as they are, numbers in their canonical form, arrays joined with
// commas, null elements empty. Objects have no such form.
func stringForm(v canonical.Value) (string, bool) {
	switch v.Kind() {
	case canonical.String:
		return v.Text(), true
	case canonical.Number:
		return v.Number(), true
	case canonical.Bool:
		if v.Bool() {
			return "true", true
		}
		return "false", true
	case canonical.Null:
		return "", true
	case canonical.Array:
		var b strings.Builder
		for i, e := range v.Elems() {
			if i > 0 {
				b.WriteByte(',')
			}
			text, ok := stringForm(e)
			if !ok {
				return "", false
			}
			b.WriteString(text)
		}
		return b.String(), true
	}
	return "", false
}
