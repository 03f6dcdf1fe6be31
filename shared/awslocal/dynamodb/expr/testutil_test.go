package expr

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/awslocal/dynamodb/attr"
)

// item reads an item in wire form.
func item(t testing.TB, text string) attr.Map {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("test data %s: %v", text, err)
	}
	m, err := attr.ItemFromWire(v)
	if err != nil {
		t.Fatalf("test data %s: %v", text, err)
	}
	return m
}

// values are placeholders that the cases share; usedBy gives an expression those that it names.
const values = `{
	":s":{"S":"hello"}, ":w":{"S":"world"}, ":e":{"S":""}, ":b":{"B":"AQI="}, ":bp":{"B":"AQ=="},
	":0":{"N":"0"}, ":1":{"N":"1"}, ":2":{"N":"2"}, ":3":{"N":"3"}, ":7":{"N":"7.0"}, ":10":{"N":"10"}, ":11":{"N":"11"},
	":t":{"BOOL":true}, ":f":{"BOOL":false}, ":null":{"NULL":true},
	":ss":{"SS":["x","y"]}, ":x":{"S":"x"}, ":ns":{"NS":["1","2"]}, ":bs":{"BS":["AQ=="]},
	":l":{"L":[{"S":"a"},{"N":"2"}]}, ":el":{"L":[]}, ":m":{"M":{"k":{"S":"v"}}}, ":v":{"S":"v"}, ":a":{"S":"a"},
	":S":{"S":"S"}, ":N":{"S":"N"}, ":L":{"S":"L"}, ":DOG":{"S":"DOG"},
	":big":{"N":"99999999999999999999999999999999999999"}, ":tiny":{"N":"0.1"}}`

var names = map[string]string{"#status": "status", "#dot": "a.b", "#a": "a", "#a2": "a", "#k": "k"}

func used(t testing.TB, sources ...string) *Params {
	t.Helper()
	all := item(t, values)
	var vs map[string]attr.Value
	var ns map[string]string
	for _, src := range sources {
		tokens, _ := lex(src)
		for _, tok := range tokens {
			if v, ok := all[tok.text]; ok {
				if vs == nil {
					vs = map[string]attr.Value{}
				}
				vs[tok.text] = v
			}
			if n, ok := names[tok.text]; ok {
				if ns == nil {
					ns = map[string]string{}
				}
				ns[tok.text] = n
			}
		}
	}
	p, err := NewParams(ns, vs)
	if err != nil {
		t.Fatalf("placeholders of %q: %v", sources, err)
	}
	return p
}

func show(m attr.Map) string {
	if m == nil {
		return "none"
	}
	return string(attr.AppendItem(nil, m))
}
