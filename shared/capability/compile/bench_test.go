package compile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// large is a document of 500 operations with references, allOf and path-level parameters.
func large() []byte {
	var paths, schemas []string
	for i := range 250 {
		paths = append(paths, fmt.Sprintf(`"/things%d/{id}":{"parameters":[{"$ref":"#/components/parameters/Id"},{"name":"trace","in":"header","description":"trace","schema":{"type":"string"}}],`+
			`"get":{"operationId":"thing%d_get","summary":"One thing","parameters":[{"name":"view","in":"query","description":"how much","schema":{"$ref":"#/components/schemas/View"}}],"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/T%d"}}}}},%s},`+
			`"put":{"operationId":"thing%d_put","summary":"Change a thing","requestBody":{"required":true,"content":{"application/json":{"schema":{"allOf":[{"$ref":"#/components/schemas/T%d"},{"type":"object","properties":{"reason":{"type":"string","description":"why"}},"required":["reason"]}]}}}},"responses":{"200":{"description":"ok"}},%s}}`,
			i, i, i, enabled, i, i, enabled))
		schemas = append(schemas, fmt.Sprintf(`"T%d":{"type":"object","properties":{"name":{"type":"string","description":"name","maxLength":%d},"view":{"$ref":"#/components/schemas/View"},"lines":{"type":"array","description":"lines","items":{"$ref":"#/components/schemas/Line"}}},"required":["name"]}`, i, i+1))
	}
	return []byte(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{` + strings.Join(paths, ",") + `},"components":{"parameters":{"Id":{"name":"id","in":"path","required":true,"description":"id","schema":{"type":"string"}}},"schemas":{` +
		strings.Join(schemas, ",") + `,"View":{"type":"string","description":"view","enum":["full","short"]},"Line":{"type":"object","properties":{"sku":{"type":"string"},"count":{"type":"integer","minimum":1}},"required":["sku"]}}}}`)
}

func TestLargeDocumentCompilesWhole(t *testing.T) {
	t.Parallel()
	if c := Compile(large()); len(c.Tools) != 500 || len(errorsOf(c)) != 0 {
		t.Errorf("%d tools, errors %v", len(c.Tools), errorsOf(c))
	}
}

// The budget of architecture §7. The other half, time beside encoding/json, is for the benchmark.
func TestLargeDocumentCompilesInTenMegabytes(t *testing.T) {
	if n, _ := allocated(large()); n > 10<<20 {
		t.Errorf("%d KiB allocated", n>>10)
	}
}

func BenchmarkCompile500(b *testing.B) {
	src := large()
	b.Run("compile", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			Compile(src)
		}
	})
	b.Run("baseline-json-unmarshal", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(src, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kin-openapi-load", func(b *testing.B) { // resolves references, merges and checks nothing
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := openapi3.NewLoader().LoadFromData(src); err != nil {
				b.Fatal(err)
			}
		}
	})
}
