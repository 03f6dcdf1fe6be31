package capability_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/canonical"
)

// order is a call of about 2 KiB: nested lines, enumerations and bounds.
func order() (properties, args string) {
	properties = `{"no":{"type":"string","minLength":1,"maxLength":64},"note":{"type":"string"},
		"lines":{"type":"array","items":{"type":"object","required":["sku","count"],"properties":{
			"sku":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":99},"unit":{"enum":["piece","box"]}}}}}`
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf(`{"sku":"SKU-%04d-%032d","count":%d,"unit":"box"}`, i, i, i+1))
	}
	return properties, `{"no":"SO-1001","note":"leave at the door","lines":[` + strings.Join(lines, ",") + `]}`
}

func BenchmarkValidateArgs(b *testing.B) {
	properties, args := order()
	tool := tool(properties, `["no","lines"]`)
	b.Run("validate", func(b *testing.B) {
		v := parse(b, args)
		b.SetBytes(int64(len(args)))
		b.ReportAllocs()
		for b.Loop() {
			if r := tool.ValidateArgs(v); r != nil {
				b.Fatal(r)
			}
		}
	})
	b.Run("parse-validate-build", func(b *testing.B) {
		b.SetBytes(int64(len(args)))
		b.ReportAllocs()
		for b.Loop() {
			v, err := canonical.Parse([]byte(args), canonical.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			if r := tool.ValidateArgs(v); r != nil {
				b.Fatal(r)
			}
			if _, err := tool.BuildRequest("https://h.example", v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline-json-roundtrip", func(b *testing.B) {
		b.SetBytes(int64(len(args)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal([]byte(args), &v); err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
