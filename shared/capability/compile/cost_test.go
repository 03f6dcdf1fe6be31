package compile_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

const extension = `"x-agent-capability":{"version":1,"enabled":true,"scope":"a.b"}`

func document(paths, components string) string {
	return `{"openapi":"3.1.0","paths":{` + paths + `},"components":{` + components + `}}`
}

// many is f of 0 to n-1 with commas.
func many(n int, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

// writes is n paths whose operation takes the body that schema says.
func writes(n int, schema func(i int) string) string {
	return many(n, func(i int) string {
		return fmt.Sprintf(`"/p%d":{"post":{"operationId":"t%d","summary":"s","requestBody":{"content":{"application/json":{"schema":%s}}},%s}}`,
			i, i, schema(i), extension)
	})
}

// schemas is n components, S0 and so on.
func schemas(n int, f func(i int) string) string {
	return `"schemas":{` + many(n, func(i int) string { return fmt.Sprintf(`"S%d":%s`, i, f(i)) }) + `}`
}

func to(i int) string { return fmt.Sprintf(`{"$ref":"#/components/schemas/S%d"}`, i) }

func linked(i, next int) string {
	return fmt.Sprintf(`{"type":"object","properties":{"x%d":{"type":"string"},"next":%s}}`, i, to(next))
}

func first(int) string { return to(0) }

func properties(n int) string {
	return `{"type":"object","properties":{` + many(n, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","description":"d"}`, i) }) + `}}`
}

func numbers(n, from int) string {
	return `{"enum":[` + many(n, func(i int) string { return fmt.Sprint(from + i) }) + `]}`
}

type hostileDocument struct {
	rule string
	n    int
	// linear: twice the size costs about twice as much. Others may cost more, up to what the work budget allows.
	linear bool
	source func(n int) string
	tools  func(n int) int // at least; the rest ends in a typed diagnostic
}

// measure is what compiling the document of size n allocates, in bytes: it stands for the work, for nothing here loops without.
func (c hostileDocument) measure(t *testing.T, n int) uint64 {
	t.Helper()
	src := []byte(c.source(n))
	if len(src) > compile.MaxDocumentBytes {
		t.Fatalf("%d bytes are no test of what happens behind the limit", len(src))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	catalog := compile.Compile(src)
	runtime.ReadMemStats(&after)
	if len(catalog.Tools) < c.tools(n) {
		t.Errorf("size %d: %d tools, want at least %d: %+v", n, len(catalog.Tools), c.tools(n), catalog.Diagnostics[:min(3, len(catalog.Diagnostics))])
	}
	failed := false
	for _, d := range catalog.Diagnostics {
		failed = failed || d.Severity == capability.SeverityError
		if d.Code == "" || d.Message == "" || d.Suggestion == "" {
			t.Fatalf("size %d: %+v", n, d)
		}
	}
	if len(catalog.Tools) == 0 && !failed {
		t.Errorf("size %d: neither tools nor errors", n)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// hostile documents, each of a size n that can be doubled.
var hostile = []hostileDocument{
	{"many operations", 1000, true, func(n int) string {
		return document(writes(n, func(int) string { return properties(5) }), "")
	}, func(n int) int { return n }},
	{"many schemas that nobody uses", 10_000, true, func(n int) string {
		return document(writes(1, func(int) string { return properties(5) }), schemas(n, func(i int) string { return linked(i, i+1) }))
	}, func(int) int { return 1 }},
	{"a wide object inside an argument", 1500, true, func(n int) string {
		return document(writes(1, func(int) string { return `{"type":"object","properties":{"o":` + properties(n) + `}}` }), "")
	}, func(int) int { return 1 }},
	{"a chain as deep as schemas may be", 25, false, func(n int) string {
		return document(writes(n, func(int) string { return to(0) }), schemas(n+1, func(i int) string {
			if i == n {
				return `{"type":"string"}`
			}
			return linked(i, i+1)
		}))
	}, func(int) int { return 0 }},
	{"a chain of thousands, entered everywhere", 1000, true, func(n int) string {
		return document(writes(n, to), schemas(n+1, func(i int) string { return linked(i, i+1) }))
	}, func(int) int { return 0 }},
	{"a chain of references to references", 1000, true, func(n int) string {
		return document(writes(n, to), schemas(n, func(i int) string { return to(i + 1) }))
	}, func(int) int { return 0 }},
	{"one ring", 1000, true, func(n int) string {
		return document(writes(n, to), schemas(n, func(i int) string { return linked(i, (i+1)%n) }))
	}, func(int) int { return 0 }},
	{"many rings", 2000, true, func(n int) string {
		return document(writes(n, to), schemas(n, func(i int) string { return linked(i, i/20*20+(i+1)%20) }))
	}, func(int) int { return 0 }},
	{"a fan of allOf", 700, false, func(n int) string {
		return document(writes(1, func(int) string {
			return `{"type":"object","allOf":[` + many(n, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{"type":"string"}}}`, i) }) + `]}`
		}), "")
	}, func(int) int { return 0 }},
	{"a fan of allOf of the same", 1000, false, func(n int) string {
		return document(writes(1, func(int) string {
			return `{"allOf":[` + many(n, func(int) string { return to(0) }) + `]}`
		}), schemas(1, func(int) string { return properties(50) }))
	}, func(int) int { return 1 }},
	{"references that double at every level", 20, false, func(n int) string {
		return document(writes(1, first), schemas(n+1, func(i int) string {
			return fmt.Sprintf(`{"type":"object","properties":{"x":%s,"y":%s}}`, to(min(i+1, n)), to(min(i+1, n)))
		}))
	}, func(int) int { return 0 }},
	{"allOf that doubles at every level", 20, false, func(n int) string {
		return document(writes(1, first), schemas(n+1, func(i int) string {
			if i == n {
				return properties(2)
			}
			return fmt.Sprintf(`{"type":"object","allOf":[%s,{"properties":{"x%d":%s}}]}`, to(i+1), i, to(i+1))
		}))
	}, func(int) int { return 0 }},
	{"long enums that are merged again and again", 500, false, func(n int) string {
		return document(writes(1, func(int) string {
			return `{"type":"object","properties":{` + many(900, func(i int) string {
				return fmt.Sprintf(`"p%d":{"allOf":[%s,%s]}`, i, to(0), to(1))
			}) + `}}`
		}), schemas(2, func(i int) string { return numbers(n, i*(n-1)) }))
	}, func(int) int { return 0 }},
	{"thousands of alternatives in a shared body", 200, false, func(n int) string {
		return document(writes(n, first), schemas(1, func(int) string {
			return `{"oneOf":[` + many(n, func(i int) string {
				return fmt.Sprintf(`{"type":"object","properties":{"k%d":{"description":"d","const":%d}}}`, i%500, i)
			}) + `]}`
		}))
	}, func(int) int { return 1 }},
	{"a large base under every body", 250, false, func(n int) string {
		return document(writes(n, func(int) string { return `{"allOf":[` + to(0) + `,{"required":["p1"]}]}` }),
			schemas(1, func(int) string { return properties(1000) }))
	}, func(int) int { return 1 }},
	{"parameters shared by paths", 100, true, func(n int) string {
		return document(many(n, func(i int) string { return fmt.Sprintf(`"/p%d":{"$ref":"#/components/pathItems/P"}`, i) }),
			`"pathItems":{"P":{"parameters":[`+many(200, func(i int) string {
				return fmt.Sprintf(`{"name":"X-Name-%d","in":"header","description":"d","schema":{"type":"string"}}`, i)
			})+`],"get":{"summary":"s",`+extension+`}}}`)
	}, func(n int) int { return n }},
	{"required names that nobody declares", 4_000, true, func(n int) string {
		return document(writes(1, func(int) string {
			return `{"type":"object","required":[` + many(n, func(i int) string { return fmt.Sprintf(`"n%d"`, i) }) + `]}`
		}), "")
	}, func(int) int { return 0 }},
	{"placeholders that nobody declares", 20_000, true, func(n int) string {
		return document(`"`+strings.Repeat("/{p}{q}", n)+`":{"get":{"summary":"s","operationId":"a",`+extension+`}}`, "")
	}, func(int) int { return 0 }},
	{"long names in every diagnostic", 500, true, func(n int) string {
		long := strings.Repeat("n", 1000)
		return document(many(n, func(i int) string {
			return fmt.Sprintf(`"/%s%d":{"get":{"operationId":"%s","summary":"s",%s}}`, long, i, long, extension)
		}), "")
	}, func(int) int { return 0 }},
}

// Not parallel: what other tests allocate would be counted.
func TestHostileDocumentsHaveABoundedCost(t *testing.T) {
	if compile.RaceDetector {
		t.Skip("measures cost")
	}
	const budget = 256 << 20 // allocated in all, not at a time
	for _, c := range hostile {
		t.Run(c.rule, func(t *testing.T) {
			single, double := c.measure(t, c.n), c.measure(t, 2*c.n)
			if c.linear && double > 5*single/2+1<<20 {
				t.Errorf("%d bytes allocated, %d for twice the size", single, double)
			}
			if double > budget {
				t.Errorf("%d MiB allocated", double>>20)
			}
		})
	}
}
