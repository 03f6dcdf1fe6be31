package contract_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"bailing/shared/contract"
	"bailing/shared/contract/contracttest"
)

// clientSchemas are the schemas of the pack and how many vectors each has (core §1.8).
var clientSchemas = map[string]int{
	"health-response.schema.json": 1,
	"run-request.schema.json":     7,
	"submit-response.schema.json": 2,
	"job-response.schema.json":    2,
	"error-response.schema.json":  1,
}

type vector struct {
	ID     string
	Schema string
	Valid  bool
	Value  any
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var pack struct{ Cases []vector }
	decode(t, clientFile(t, "vectors.json"), &pack)
	return pack.Cases
}

func clientFile(t testing.TB, name string) []byte {
	t.Helper()
	b, ok := contract.ClientAPI(name)
	if !ok {
		t.Fatalf("%s is not served", name)
	}
	return b
}

func decode(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func compile(t testing.TB, path string) *jsonschema.Schema {
	t.Helper()
	s, err := contracttest.NewCompiler().Compile(contracttest.Base + path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVectorsGetTheVerdictTheyName(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, v := range vectors(t) {
		count[v.Schema]++
		err := compile(t, "contracts/client-api/v1/"+v.Schema).Validate(v.Value)
		if (err == nil) != v.Valid {
			t.Errorf("%s: valid should be %v: %v", v.ID, v.Valid, err)
		}
	}
	if !reflect.DeepEqual(count, clientSchemas) {
		t.Errorf("vectors by schema = %v, want %v", count, clientSchemas)
	}
}

// published reads a file of the pack as the contract's source publishes it; it lies beside the repository in CI.
func published(t *testing.T, name string) any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spec", "client-api-v1", name))
	if os.IsNotExist(err) {
		t.Skipf("the published %s is not beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	var v any
	decode(t, b, &v)
	return v
}

func TestVectorsAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	want := published(t, "vectors.json")
	var got any
	decode(t, clientFile(t, "vectors.json"), &got)
	if !reflect.DeepEqual(got, want) {
		t.Error("vectors.json differs from the published file")
	}
}

// The manifest may differ from the published one in texts for people, nowhere else.
func TestManifestStatesThePublishedFacts(t *testing.T) {
	t.Parallel()
	want := published(t, "manifest.json")
	var got any
	decode(t, clientFile(t, "manifest.json"), &got)
	for _, m := range []any{got, want} {
		m := m.(map[string]any)
		delete(m, "description")
		for status := range m["http_errors"].(map[string]any) {
			m["http_errors"].(map[string]any)[status] = "text"
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Each vector is bent in many ways; the published schema and ours must judge every result alike.
func TestSchemasJudgeLikeThePublishedOnes(t *testing.T) {
	t.Parallel()
	judged := map[bool]int{}
	for _, v := range vectors(t) {
		reference := jsonschema.NewCompiler()
		reference.AssertFormat()
		if err := reference.AddResource("mem://"+v.Schema, published(t, v.Schema)); err != nil {
			t.Fatal(err)
		}
		theirs, err := reference.Compile("mem://" + v.Schema)
		if err != nil {
			t.Fatal(err)
		}
		ours := compile(t, "contracts/client-api/v1/"+v.Schema)
		for _, m := range mutations(v.Value) {
			want, got := theirs.Validate(m) == nil, ours.Validate(m) == nil
			judged[want]++
			if got != want {
				b, _ := json.Marshal(m)
				t.Errorf("%s: valid = %v, published %v: %.200s", v.ID, got, want, b)
			}
		}
	}
	if judged[true] < 100 || judged[false] < 100 {
		t.Errorf("too few cases on one side: %v", judged)
	}
}

// mutations are values near v: other types, members removed, added and set to awkward values.
func mutations(v any) []any {
	runs := func(n int) string { return strings.Repeat("a", n) }
	awkward := []any{
		nil, true, false, 0.0, 1.5, "", " ", "\t\n", []any{}, []any{"x"}, map[string]any{}, map[string]any{"a": 1.0},
		"a", "ab", "Ab", "auto", "_a", "a b", runs(64), runs(65), runs(128), runs(129), runs(100000), runs(100001),
		"https://x.example/", "HTTP://x.example/", "ftp://x.example/", "https://x.example/" + runs(2030), "https://x.example/" + runs(2031),
		"11111111-1111-4111-8111-111111111111", "11111111-1111-4111-8111-11111111111", "2026-07-23T00:00:00Z", "2026-07-23",
		"queued", "running", "dispatched", "done", "error", "rejected", "cancelled", "ok",
	}
	out := append([]any{v}, awkward...)
	object := v.(map[string]any)
	members := []string{
		"request_id", "route", "input", "metadata", "callback_url", "callback", "project", "job_id", "status", "target", "session_id",
		"continue", "result", "report", "usage", "raw_result", "error", "reason", "decision", "created_at", "updated_at", "other",
	}
	with := func(member string, value any, keep bool) map[string]any {
		m := map[string]any{}
		for k, x := range object {
			m[k] = x
		}
		delete(m, member)
		if keep {
			m[member] = value
		}
		return m
	}
	for _, member := range members {
		out = append(out, with(member, nil, false))
		for _, value := range awkward {
			out = append(out, with(member, value, true))
		}
	}
	return out
}

func TestEveryFileNamesItself(t *testing.T) {
	t.Parallel()
	paths := []string{}
	for file := range clientSchemas {
		paths = append(paths, "contracts/client-api/v1/"+file)
	}
	for _, name := range []string{"client", "common", "credential", "route", "target", "tool-provider"} {
		paths = append(paths, "schemas/config/"+name+".schema.json")
	}
	for _, path := range paths {
		s := compile(t, path)
		if want := contracttest.Base + path + "#"; s.Location != want {
			t.Errorf("%s: $id gives %s", path, s.Location)
		}
		if s.DraftVersion != 2020 {
			t.Errorf("%s: draft %d", path, s.DraftVersion)
		}
	}
}

func TestOnlyArtefactsAreServed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "config", "config/", "config/none.schema.json", "../openapi.json", "../schemas/config/client.schema.json", "/config/client.schema.json",
		"config//client.schema.json", "config/./client.schema.json", "config/../config/client.schema.json", "config/client.schema.json/",
		"config/client.schema", "config/cliént.schema.json", "config%2Fclient.schema.json", `config\client.schema.json`, "config/client.schema.json\x00",
	} {
		if _, ok := contract.Schema(path); ok {
			t.Errorf("Schema(%q) is served", path)
		}
	}
	for _, file := range []string{"", ".", "..", "NOTICE", "none.json", "../v1/manifest.json", "./manifest.json", "manifest.json/", "Manifest.json"} {
		if _, ok := contract.ClientAPI(file); ok {
			t.Errorf("ClientAPI(%q) is served", file)
		}
	}
	if _, ok := contract.Schema("config/client.schema.json"); !ok {
		t.Error("the client schema is not served")
	}
}

func TestCallersOwnWhatTheyGet(t *testing.T) {
	t.Parallel()
	contract.OpenAPI()[0] = 'x'
	if contract.OpenAPI()[0] != '{' {
		t.Error("a caller changed the document for all")
	}
}

func FuzzSchemaPath(f *testing.F) {
	for _, s := range []string{"config/client.schema.json", "../openapi.json", "config/../../openapi.json", "a\x00.schema.json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		b, ok := contract.Schema(path)
		if ok && !strings.Contains(string(b), `"$id": "`+contracttest.Base+"schemas/"+path+`"`) {
			t.Errorf("%q served a file of another name", path)
		}
	})
}
