package dynamodb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
)

// object is a JSON object of a request. Reading a member takes it out; what is left when [object.done] is called was not
// understood and makes the request fail. The first error sticks, so members can be read one after the other.
type object struct {
	path    string // where the object is in the request, for messages; empty at the top
	members map[string]any
	first   *error // shared by all objects of a request
}

// parseRequest reads a request body.
func parseRequest(body []byte) (*object, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &apiError{code: codeSerialization, message: "The request body is not valid JSON"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &apiError{code: codeSerialization, message: "The request body has bytes after the JSON object"}
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, &apiError{code: codeSerialization, message: "The request body is not a JSON object"}
	}
	return &object{members: members, first: new(error)}, nil
}

func (o *object) fail(err error) {
	if *o.first == nil {
		*o.first = err
	}
}

func (o *object) at(name string) string { return o.path + name }

func (o *object) wrongType(name, want string) {
	o.fail(&apiError{code: codeSerialization, message: fmt.Sprintf("The member %s must be a JSON %s", o.at(name), want)})
}

// take removes and returns a member; null counts as absent.
func (o *object) take(name string) (any, bool) {
	v, ok := o.members[name]
	delete(o.members, name)
	return v, ok && v != nil
}

func (o *object) has(name string) bool { return o.members[name] != nil }

// require refuses a request without the member.
func (o *object) require(name string) {
	if !o.has(name) {
		o.fail(invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", o.at(name)))
	}
}

// optionalText returns nil when the member is absent.
func (o *object) optionalText(name string) *string {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		o.wrongType(name, "string")
		return nil
	}
	return &s
}

// text is a required member of at least one character.
func (o *object) text(name string) string {
	o.require(name)
	s := o.optionalText(name)
	if s == nil {
		return ""
	}
	if *s == "" {
		o.fail(invalid("1 validation error detected: Value '' at '%s' failed to satisfy constraint: Member must have length greater than or equal to 1", o.at(name)))
	}
	return *s
}

// enum is an optional member with fixed values, the first of which is the default.
func (o *object) enum(name string, allowed ...string) string {
	s := o.optionalText(name)
	if s == nil {
		return allowed[0]
	}
	if !slices.Contains(allowed, *s) {
		o.fail(invalid("The value %q of the member %s is not one of [%s]", *s, o.at(name), strings.Join(allowed, ", ")))
	}
	return *s
}

// boolean returns def when the member is absent.
func (o *object) boolean(name string, def bool) bool {
	v, ok := o.take(name)
	if !ok {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		o.wrongType(name, "boolean")
	}
	return b
}

// integer is an optional member of at least low and at most high; absent is -1.
func (o *object) integer(name string, low, high int) int {
	v, ok := o.take(name)
	if !ok {
		return -1
	}
	number, ok := v.(json.Number)
	n, err := strconv.Atoi(string(number))
	if !ok || err != nil {
		o.wrongType(name, "integer")
		return -1
	}
	if n < low || n > high {
		o.fail(invalid("1 validation error detected: Value '%d' at '%s' failed to satisfy constraint: Member must be between %d and %d", n, o.at(name), low, high))
	}
	return n
}

// item is an optional item, key or set of values.
func (o *object) item(name string) attr.Map {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	item, err := attr.ItemFromWire(v)
	if err != nil {
		o.fail(err)
		return attr.Map{}
	}
	return item
}

// texts is an optional object of strings; nil when absent.
func (o *object) texts(name string) map[string]string {
	child := o.object(name)
	if child == nil {
		return nil
	}
	out := make(map[string]string, len(child.members))
	for _, k := range child.names() {
		if s := child.optionalText(k); s != nil {
			out[k] = *s
		}
	}
	return out
}

// object is an optional object; nil when absent.
func (o *object) object(name string) *object {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	return o.child(name, v)
}

func (o *object) child(name string, v any) *object {
	members, ok := v.(map[string]any)
	if !ok {
		o.wrongType(name, "object")
		return &object{o.at(name) + ".", nil, o.first}
	}
	// A copy, because reading consumes members, and batches repeat parts of the request in their answer.
	return &object{o.at(name) + ".", maps.Clone(members), o.first}
}

// list is an optional array of objects.
func (o *object) list(name string) []*object {
	v, ok := o.take(name)
	if !ok {
		return nil
	}
	elements, ok := v.([]any)
	if !ok {
		o.wrongType(name, "array")
		return nil
	}
	out := make([]*object, len(elements))
	for i, e := range elements {
		out[i] = o.child(fmt.Sprintf("%s[%d]", name, i), e)
	}
	return out
}

// names lists the members that were not read yet, sorted.
func (o *object) names() []string { return slices.Sorted(maps.Keys(o.members)) }

// done refuses members that nobody read.
func (o *object) done() error {
	for _, name := range o.names() {
		if o.has(name) {
			o.fail(invalid("The member %s is not implemented", o.at(name)))
		}
	}
	return *o.first
}
