package dynamodb

import (
	"encoding/json"
	"strconv"

	"bailing/shared/awslocal/dynamodb/attr"
)

// objectWriter builds one JSON object of an answer. Items are written directly, because they are most of the bytes.
type objectWriter struct{ b []byte }

func (o *objectWriter) name(name string) {
	sep := byte(',')
	if len(o.b) == 0 {
		sep = '{'
	}
	o.b = append(attr.AppendJSONString(append(o.b, sep), name), ':')
}

func (o *objectWriter) text(name, s string) {
	o.name(name)
	o.b = attr.AppendJSONString(o.b, s)
}

func (o *objectWriter) number(name string, n int) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, int64(n), 10)
}

func (o *objectWriter) item(name string, item attr.Map) {
	o.name(name)
	o.b = attr.AppendItem(o.b, item)
}

// optionalItem writes nothing for an item that does not exist.
func (o *objectWriter) optionalItem(name string, item attr.Map) {
	if item != nil {
		o.item(name, item)
	}
}

func (o *objectWriter) list(name string, n int, element func(b []byte, i int) []byte) {
	o.name(name)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = element(o.b, i)
	}
	o.b = append(o.b, ']')
}

func (o *objectWriter) items(name string, items []attr.Map) {
	o.list(name, len(items), func(b []byte, i int) []byte { return attr.AppendItem(b, items[i]) })
}

// value writes anything that is not an attribute value. v is built by the caller from types that always encode.
func (o *objectWriter) value(name string, v any) {
	o.name(name)
	raw, err := json.Marshal(v)
	if err != nil {
		panic("dynamodb: answer member " + name + " does not encode: " + err.Error())
	}
	o.b = append(o.b, raw...)
}

// bytes is the finished object.
func (o *objectWriter) bytes() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}
