package registry_test

import "testing"

func TestTargetRules(t *testing.T) {
	t.Parallel()
	checkRules(t, "target", `{"name":"ref-exec","kind":"executor"}`, nil, []rule{
		{"name", "", "name", "required"},
		{"name", `" "`, "name", "required"},
		{"name", `7`, "name", "string"},
		{"name", name(1), "name", "2 to 64"},
		{"name", name(2), "", ""},
		{"name", name(64), "", ""},
		{"name", name(65), "name", "2 to 64"},
		{"name", `"Ref-exec"`, "name", "a-z"},
		{"name", `"-ref"`, "name", "begin"},
		{"kind", "", "kind", "inhub, executor"},
		{"kind", `"lambda"`, "kind", "inhub, executor"},
		{"kind", `"inhub"`, "kind", "built-in"},
		{"name", `"llm"`, "kind", "built-in"},
		{"timeout_ms", `0`, "", ""},
		{"timeout_ms", `-1`, "timeout_ms", "from 0 to 3600000"},
		{"timeout_ms", `3600000`, "", ""},
		{"timeout_ms", `3600001`, "timeout_ms", "from 0 to 3600000"},
		{"timeout_ms", `1e300`, "timeout_ms", "from 0 to 3600000"},
		{"timeout_ms", `-1e300`, "timeout_ms", "from 0 to 3600000"},
		{"timeout_ms", `1.5`, "timeout_ms", "whole number"},
		{"timeout_ms", `"60000"`, "timeout_ms", "whole number"},
		{"stateless", `1`, "stateless", "true or false"},
		{"needs_project", `"yes"`, "needs_project", "true or false"},
		{"enabled", `null`, "", ""},
		{"enabled", `0`, "enabled", "true or false"},
		{"description", `"line\nline"`, "", ""},
		{"description", `"\u0000"`, "description", "control"},
		{"adapter", `"x"`, "adapter", "not a known member"},
	})
}

func TestABodyMustBeAnObject(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"target", "credential", "provider", "route", "client"} {
		wantInvalid(t, setup(t).save(t, kind, `[]`), "the body", "object")
	}
}

func TestTargetsAreListedByNameWithTheBuiltInOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "target", `{"name":"ref-park","kind":"executor","timeout_ms":60000,"description":"d"}`)
	b.must(t, "target", `{"name":"exec","kind":"executor","stateless":true,"needs_project":true,"enabled":false}`)
	list, err := b.ListTargets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	llm := `{"name":"llm","kind":"inhub","stateless":true,"needs_project":false,"timeout_ms":120000,"enabled":true,"description":"OpenAI-compatible chat completions, run inside the hub"}`
	wantJSON(t, unrevised(t, list), `[
		{"name":"exec","kind":"executor","stateless":true,"needs_project":true,"timeout_ms":0,"enabled":false},
		`+llm+`,
		{"name":"ref-park","kind":"executor","stateless":false,"needs_project":false,"timeout_ms":60000,"enabled":true,"description":"d"}]`)

	b.must(t, "target", `{"name":"llm","kind":"inhub","enabled":false}`)
	list, err = b.ListTargets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[1].Name != "llm" || list[1].Enabled || list[1].Stateless {
		t.Fatalf("%+v: a stored llm must replace the built-in one", list)
	}
}

func TestASaveReplacesEveryMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "target", `{"name":"exec","kind":"executor","stateless":true,"timeout_ms":5,"enabled":false,"description":"d"}`)
	b.must(t, "target", `{"name":"exec","kind":"executor"}`)
	v, err := b.store.Targets().Get(t.Context(), "exec")
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, v.Value, `{"name":"exec","kind":"executor","stateless":false,"needs_project":false,"timeout_ms":0,"enabled":true}`)
}
