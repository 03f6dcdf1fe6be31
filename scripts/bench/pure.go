package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
	"bailing/shared/signature"
)

// order is arguments of about size bytes: what a business system sends, nested, with text that needs no escapes and
// some that does, and members that are not in canonical order.
func order(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"order_no":"SO-1001","note":"gift – \"fragile\"\nleave at the door","lines":[`)
	for i := 0; b.Len() < size-80; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"SKU-%06d","count":%d,"price":%d.%02d,"unit":"box"}`, i, i%99+1, i%500, i%100)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// orderTool takes what order makes.
func orderTool() *capability.Tool {
	t := &capability.Tool{
		SchemaVersion: capability.SchemaVersion, Name: "order_create", Source: capability.SourceOpenAPI, Method: "POST", Path: "/orders",
		Scope: "orders.write", Risk: capability.RiskMedium,
		InputSchema: json.RawMessage(`{"type":"object","required":["order_no","lines"],"properties":{
			"order_no":{"type":"string","minLength":1,"maxLength":64},"note":{"type":"string"},
			"lines":{"type":"array","items":{"type":"object","required":["sku","count"],"properties":{
				"sku":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":99},"price":{"type":"number"},
				"unit":{"enum":["piece","box"]}}}}}}`),
		ParamIn: map[string]capability.Location{"order_no": capability.InBody, "note": capability.InBody, "lines": capability.InBody},
	}
	t.Prepare()
	return t
}

// flat is one object of size bytes with about 65,000 members in no order: what is hardest to sort and to look for duplicates in.
func flat(size int) []byte {
	b := []byte{'{'}
	for i := uint32(0); len(b) < size-20; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"k%07x":%d`, i*0x9E3779B1&0xFFFFFFF, i%1000) // an odd factor: no two the same
	}
	return append(b, '}')
}

// specification is an OpenAPI document of n operations, two to a path, with references, allOf and parameters of the path.
func specification(n int) []byte {
	b := []byte(`{"openapi":"3.0.3","info":{"title":"orders","version":"1"},"paths":{`)
	for i := range n / 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"/orders%[1]d/{id}":{"parameters":[{"$ref":"#/components/parameters/Id"}],
			"get":{"operationId":"order%[1]d_get","summary":"One order","parameters":[{"name":"view","in":"query",
				"description":"How much to show","schema":{"$ref":"#/components/schemas/View"}}],
				"responses":{"200":{"description":"The order"}},"x-agent-capability":{"version":1,"enabled":true,"scope":"orders.read"}},
			"put":{"operationId":"order%[1]d_put","summary":"Change an order","requestBody":{"required":true,"content":
				{"application/json":{"schema":{"allOf":[{"$ref":"#/components/schemas/Order"},{"type":"object","required":["reason"],
					"properties":{"reason":{"type":"string","description":"Why"}}}]}}}},
				"responses":{"200":{"description":"Done"}},"x-agent-capability":{"version":1,"enabled":true,"scope":"orders.write"}}}`, i)
	}
	return append(b, `},"components":{"parameters":{"Id":{"name":"id","in":"path","required":true,"description":"Its number",
		"schema":{"type":"string"}}},"schemas":{"View":{"type":"string","enum":["full","short"]},
		"Order":{"type":"object","required":["lines"],"properties":{"note":{"type":"string","description":"For the courier",
			"maxLength":200},"lines":{"type":"array","description":"What is ordered","items":{"type":"object","required":["sku"],
			"properties":{"sku":{"type":"string"},"count":{"type":"integer","minimum":1}}}}}}}}}`...)
}

const (
	small      = 2 << 10
	large      = 1 << 20
	operations = 500
)

// work is what is measured, on one document.
type work struct {
	args   []byte
	parsed canonical.Value
	tool   *capability.Tool
	secret string
	at     time.Time
}

func newWork(args []byte) (*work, error) {
	w := &work{args: args, tool: orderTool(), secret: "tool-secret-0123456789abcdef", at: time.Unix(1_796_053_968, 0)}
	var err error
	if w.parsed, err = canonical.Parse(w.args, canonical.Limits{}); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *work) parse() canonical.Value {
	v, err := canonical.Parse(w.args, canonical.Limits{})
	if err != nil {
		panic(err) // newWork has parsed the same bytes
	}
	return v
}

func (w *work) hash()         { keep(w.parse().Hash()) }
func (w *work) canonicalise() { keep(w.parse().Canonical()) }
func (w *work) validate()     { keep(w.tool.ValidateArgs(w.parsed)) }

func (w *work) sign() { keep(w.signed(w.args)) }

func (w *work) signed(body []byte) signature.Headers {
	return signature.SignTool(w.secret, signature.ToolCall{
		Method: "POST", Path: "/orders", Body: body, OnBehalfOf: "u_42", JobID: "8a4f5c1e-6b7d-4e2a-9c3b-1d2e3f4a5b6c",
	}, w.at)
}

// governed is the CPU of a call without its I/O: read the arguments, validate them, hash their canonical form, and sign the
// body, whose members keep the order in which the business gets them (core §3.3).
func (w *work) governed() {
	v := w.parse()
	if r := w.tool.ValidateArgs(v); r != nil {
		panic(r) // pureRows has validated the same arguments
	}
	keep(v.Hash())
	keep(w.signed(v.AppendCompact(nil)))
}

func (w *work) jsonValid() { keep(json.Valid(w.args)) }

func (w *work) jsonDecode() {
	var v any
	if err := json.Unmarshal(w.args, &v); err != nil {
		panic(err)
	}
	keep(v)
}

// jsonCanonicalise sorts members as encoding/json does.
func (w *work) jsonCanonicalise() {
	var v any
	if err := json.Unmarshal(w.args, &v); err != nil {
		panic(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	keep(b)
}

func (w *work) rawHMAC() {
	mac := hmac.New(sha256.New, []byte(w.secret))
	mac.Write(w.args)
	keep(mac.Sum(nil))
}

// compile compiles a specification.
func (w *work) compile() { keep(compile.Compile(w.args)) }

// measurement is a row to be.
type measurement struct {
	name, against   string
	value, baseline func()
	source          []byte // if the row of time is to be followed by one of memory, beside the size of this
}

// pureRows measures what needs no I/O.
func pureRows(ctx context.Context, o options, p *progress) ([]row, error) {
	s, err1 := newWork(order(small))
	l, err2 := newWork(order(large))
	f, err3 := newWork(flat(large))
	d, err4 := newWork(specification(operations))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if r := s.tool.ValidateArgs(s.parsed); r != nil {
		return nil, r
	}
	var rows []row
	for _, m := range []measurement{
		{"canonicalise and hash 1 MiB", "json.Valid", l.hash, l.jsonValid, l.args},
		{"canonicalise and hash 1 MiB, one flat object", "json.Valid", f.hash, f.jsonValid, f.args},
		{"canonicalise 2 KiB", "encoding/json decode, encode", s.canonicalise, s.jsonCanonicalise, nil},
		{"sign a call of 2 KiB", "one HMAC-SHA256", s.sign, s.rawHMAC, nil},
		{"validate arguments of 2 KiB", "json.Unmarshal", s.validate, s.jsonDecode, nil},
		{"governed call without I/O, 2 KiB", "encoding/json decode, encode", s.governed, s.jsonCanonicalise, nil},
		{"compile 500 operations", "json.Unmarshal", d.compile, d.jsonDecode, d.args},
	} {
		p.step("measuring: %s", m.name)
		v, b, err := compare(ctx, o.duration, m.value, m.baseline)
		if err != nil {
			return nil, err
		}
		rows = append(rows, compared(m.name, m.against, v, b))
		if m.source != nil {
			rows = append(rows, memory(m))
		}
	}
	return rows, nil
}

func memory(m measurement) row {
	got, size := float64(allocated(m.value)), float64(len(m.source))
	return row{
		name: "memory of " + m.name, value: fmt.Sprintf("%.3g MiB", got/(1<<20)), baseline: fmt.Sprintf("%.3g MiB  size of the input", size/(1<<20)),
		ratio: got / size,
	}
}
