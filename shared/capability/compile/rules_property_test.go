package compile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

// A rule that the compiler lets through is never the reason why a call is blocked: only a wrong argument is.
func TestPropertyCompiledRulesCanBeEvaluated(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 19))
	values := []any{nil, true, 1, 2.5, "a", []any{}, []any{1, "a"}, map[string]any{"a": 1}, map[string]any{"a": "x", "b": nil}}
	ops := []string{">", ">=", "<", "<=", "==", "!=", "in", "contains", "exists"}
	paths := map[string]any{}
	for i := range 4000 {
		rule := map[string]any{"param": []string{"p", "p.a", "p.b", "p.a.b"}[r.IntN(4)], "op": ops[r.IntN(len(ops))], "value": values[r.IntN(len(values))]}
		paths[fmt.Sprintf("/p%d", i)] = map[string]any{"get": map[string]any{
			"operationId": fmt.Sprintf("t%d", i), "summary": "s",
			"parameters": []any{map[string]any{"name": "p", "in": "query", "description": "d", "schema": combine(r, r.IntN(2), true)}},
			"x-agent-capability": map[string]any{"version": 1, "enabled": true, "scope": "s",
				"approval": map[string]any{"when": []any{rule}}},
		}}
	}
	src, err := json.Marshal(map[string]any{"openapi": "3.0.3", "paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	catalog := compile.Compile(src)
	hits := 0
	for i := range catalog.Tools {
		for _, v := range values {
			args, err := canonical.FromGo(map[string]any{"p": v})
			if err != nil {
				t.Fatal(err)
			}
			approval, refusal := catalog.Tools[i].ApprovalFor(args)
			if refusal != nil && refusal.Code() != capability.CodeRuleType {
				t.Errorf("%+v in %s: %v", catalog.Tools[i].ConfirmWhen, catalog.Tools[i].InputSchema, refusal)
			}
			if approval != nil {
				hits++
			}
		}
	}
	if len(catalog.Tools) < 50 || hits < 50 {
		t.Errorf("%d tools, %d hits: too little was compared", len(catalog.Tools), hits)
	}
}

// References that were resolved from below nest deeper than a document may, around values as deep as a document may be.
func TestDeepToolsCanBeCalled(t *testing.T) {
	t.Parallel()
	const n = 70
	value := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	src := document(writes(n, func(i int) string { return to(n - 1 - i) }), schemas(n+1, func(i int) string {
		if i == n {
			return `{"enum":[` + value + `]}`
		}
		return linked(i, i+1)
	}))
	catalog := compile.Compile([]byte(src))
	if len(catalog.Tools) < 50 {
		t.Fatalf("%d tools: %v", len(catalog.Tools), catalog.Diagnostics)
	}
	args, err := canonical.FromGo(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range catalog.Tools {
		stored, err := json.Marshal(&catalog.Tools[i])
		if err != nil {
			t.Fatal(err)
		}
		var loaded capability.Tool
		if err := json.Unmarshal(stored, &loaded); err != nil {
			t.Fatal(err)
		}
		if refusal := loaded.ValidateArgs(args); refusal != nil {
			t.Errorf("%s: %v", loaded.Name, refusal)
		}
	}
}
