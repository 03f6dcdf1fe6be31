package contract_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailing/shared/contract"
	"bailing/shared/contract/contracttest"
	"bailing/shared/topology"
)

type object = map[string]any

func openAPI(t *testing.T) object {
	t.Helper()
	doc := object{}
	decode(t, contract.OpenAPI(), &doc)
	return doc
}

// operations returns every operation of the document by "METHOD /path".
func operations(t *testing.T, doc object) map[string]object {
	t.Helper()
	ops := map[string]object{}
	for path, item := range doc["paths"].(object) {
		for method, op := range item.(object) {
			ops[strings.ToUpper(method)+" "+path] = op.(object)
		}
	}
	return ops
}

// operationID is a route's handler in lower camel case; HEAD shares its handler with GET and gets a suffix.
func operationID(r topology.Route) string {
	id := strings.ToLower(r.Handler[:1]) + r.Handler[1:]
	if r.Method == "HEAD" {
		id += "Head"
	}
	return id
}

var security = map[topology.Auth][]any{
	topology.Public:        {},
	topology.ClientOrAdmin: {object{"clientToken": []any{}}, object{"serverToken": []any{}}},
	topology.Admin:         {object{"adminSession": []any{}}, object{"serverToken": []any{}}},
	topology.Decider:       {object{"clientToken": []any{}}, object{"serverToken": []any{}}, object{"signedBody": []any{}}},
	topology.Client:        {object{"clientToken": []any{}}},
	topology.Agent:         {object{"agentToken": []any{}}},
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func TestOpenAPIListsExactlyTheRoutesOfTheTopology(t *testing.T) {
	t.Parallel()
	ops := operations(t, openAPI(t))
	for _, f := range topology.System().Functions {
		for _, r := range f.Routes {
			if r.Method == topology.Any {
				continue // OpenAPI has no such method: the route only refuses
			}
			key := r.Method + " " + contracttest.DocumentPath(r.Path)
			op, ok := ops[key]
			if !ok {
				t.Errorf("%s is not described", key)
				continue
			}
			delete(ops, key)
			if want := operationID(r); op["operationId"] != want {
				t.Errorf("%s: operationId %v, want %s", key, op["operationId"], want)
			}
			if op["summary"] != r.Summary {
				t.Errorf("%s: summary %q, the topology says %q", key, op["summary"], r.Summary)
			}
			if want, known := security[r.Auth]; !known || !equalJSON(op["security"], want) {
				t.Errorf("%s: security %v does not fit %s", key, op["security"], r.Auth)
			}
		}
	}
	for key := range ops {
		t.Errorf("%s is described and not in the topology", key)
	}
}

func TestOpenAPIOperationIDsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[any]string{}
	for key, op := range operations(t, openAPI(t)) {
		if other, dup := seen[op["operationId"]]; dup {
			t.Errorf("%s and %s share operationId %v", key, other, op["operationId"])
		}
		seen[op["operationId"]] = key
	}
}

var pathVariable = regexp.MustCompile(`\{([^}]+)\}`)

func TestOpenAPIDeclaresEveryPathParameter(t *testing.T) {
	t.Parallel()
	for key, op := range operations(t, openAPI(t)) {
		var want, got []string
		for _, m := range pathVariable.FindAllStringSubmatch(key, -1) {
			want = append(want, m[1])
		}
		parameters, _ := op["parameters"].([]any)
		for _, p := range parameters {
			p := p.(object)
			if p["in"] == "query" && p["required"] == nil && p["schema"] != nil && p["description"] != nil {
				continue
			}
			if p["in"] != "path" || p["required"] != true || p["schema"] == nil || p["description"] == nil {
				t.Errorf("%s: parameter %v must be described, have a schema, and be required in the path or optional in the query", key, p["name"])
			}
			got = append(got, p["name"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: parameters %v, want %v", key, got, want)
		}
	}
}

// Which failures an operation must describe follows from what it does (core §0.1, §0.2).
func TestOpenAPIDescribesEveryFailure(t *testing.T) {
	t.Parallel()
	for key, op := range operations(t, openAPI(t)) {
		want := []string{"500"}
		if len(op["security"].([]any)) > 0 {
			want = append(want, "401", "503")
		}
		if strings.Contains(key, "/admin/") || key == "POST /run" {
			want = append(want, "403")
		}
		if op["requestBody"] != nil {
			want = append(want, "400")
			if !strings.Contains(key, "/agent-auth/") { // there a long body is one that cannot be read (agent §1.3)
				want = append(want, "413")
			}
		}
		if strings.Contains(key, "{") {
			want = append(want, "404")
		}
		if key == "POST /run" {
			want = append(want, "409", "429")
		}
		for _, status := range want {
			if op["responses"].(object)[status] == nil {
				t.Errorf("%s: status %s is not described", key, status)
			}
		}
		if strings.HasPrefix(key, "HEAD ") {
			for status, r := range op["responses"].(object) {
				if r.(object)["content"] != nil {
					t.Errorf("%s: status %s has a body", key, status)
				}
			}
		}
	}
}

// walk calls visit for every object of v with its JSON pointer.
func walk(v any, pointer string, visit func(pointer string, o object)) {
	switch v := v.(type) {
	case object:
		visit(pointer, v)
		for k, x := range v {
			walk(x, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), visit)
		}
	case []any:
		for i, x := range v {
			walk(x, pointer+"/"+strconv.Itoa(i), visit)
		}
	}
}

func TestOpenAPIReferencesResolveAndNothingIsUnused(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	components := doc["components"].(object)
	used := map[string]bool{}
	walk(doc, "", func(pointer string, o object) {
		ref, ok := o["$ref"].(string)
		if !ok {
			return
		}
		parts := strings.Split(ref, "/")
		if len(parts) != 4 || parts[0] != "#" || parts[1] != "components" {
			t.Errorf("%s: %s does not name a component", pointer, ref)
			return
		}
		kind, _ := components[parts[2]].(object)
		if kind[parts[3]] == nil {
			t.Errorf("%s: %s does not resolve", pointer, ref)
		}
		used[parts[2]+"/"+parts[3]] = true
	})
	for _, kind := range []string{"schemas", "responses"} {
		for name := range components[kind].(object) {
			if !used[kind+"/"+name] {
				t.Errorf("component %s/%s is not used", kind, name)
			}
		}
	}
}

func TestOpenAPISchemasCompile(t *testing.T) {
	t.Parallel()
	c := contracttest.NewCompiler()
	for name := range openAPI(t)["components"].(object)["schemas"].(object) {
		if _, err := c.Compile(contracttest.Base + "openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenAPIExamplesSatisfyTheirSchemas(t *testing.T) {
	t.Parallel()
	c := contracttest.NewCompiler()
	escape := strings.NewReplacer("{", "%7B", "}", "%7D")
	examples := 0
	walk(openAPI(t), "", func(pointer string, o object) {
		if o["schema"] == nil || !strings.Contains(pointer, "/content/") {
			return
		}
		schema, err := c.Compile(contracttest.Base + "openapi.json#" + escape.Replace(pointer) + "/schema")
		if err != nil {
			t.Errorf("%s: %v", pointer, err)
			return
		}
		list, _ := o["examples"].(object)
		for name, e := range list {
			examples++
			if err := schema.Validate(e.(object)["value"]); err != nil {
				t.Errorf("%s example %s: %v", pointer, name, err)
			}
		}
	})
	if examples < 30 {
		t.Errorf("only %d examples were checked", examples)
	}
}

// The OpenAPI document and the client-api pack describe the same answers: each example of the one is valid in the other.
func TestOpenAPIAgreesWithTheClientAPI(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	ops := operations(t, doc)
	examples := func(holder any) object {
		list, _ := holder.(object)["content"].(object)["application/json"].(object)["examples"].(object)
		return list
	}
	answer := func(key, status string) any { return ops[key]["responses"].(object)[status] }
	check := func(file string, list object) {
		schema := compile(t, "contracts/client-api/v1/"+file)
		if len(list) == 0 {
			t.Errorf("%s: no example", file)
		}
		for name, e := range list {
			if err := schema.Validate(e.(object)["value"]); err != nil {
				t.Errorf("%s: example %s: %v", file, name, err)
			}
		}
	}
	check("run-request.schema.json", examples(ops["POST /run"]["requestBody"]))
	check("submit-response.schema.json", examples(answer("POST /run", "202")))
	check("job-response.schema.json", examples(answer("GET /jobs/{id}", "200")))
	check("health-response.schema.json", examples(answer("GET /health", "200")))
	errors := maps.Clone(examples(doc["components"].(object)["responses"].(object)["BadRequest"]))
	for name, r := range doc["components"].(object)["responses"].(object) {
		for example, e := range examples(r) {
			if example != "paused" { // the one failure without an error member (core §0.1)
				errors[name+" "+example] = e
			}
		}
	}
	check("error-response.schema.json", errors)

	ours := map[string]string{"run-request.schema.json": "RunRequest", "submit-response.schema.json": "SubmitAnswer"}
	for _, v := range vectors(t) {
		if name := ours[v.Schema]; name != "" && v.Valid {
			if err := compile(t, "openapi.json#/components/schemas/"+name).Validate(v.Value); err != nil {
				t.Errorf("%s is not a %s: %v", v.ID, name, err)
			}
		}
	}
}

// D5: claim tokens, prompts and target configuration never appear in a job.
func TestOpenAPIRefusesInternalsInAJob(t *testing.T) {
	t.Parallel()
	schema := compile(t, "openapi.json#/components/schemas/Job")
	job := object{
		"id": "11111111-1111-4111-8111-111111111111", "job_id": "11111111-1111-4111-8111-111111111111", "request_id": "r", "status": "queued",
		"attempts": 0.0, "created_at": "2026-07-23T00:00:00.000Z", "updated_at": "2026-07-23T00:00:00.000Z",
	}
	if err := schema.Validate(job); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"claim_token", "dispatch", "input", "lease_until", "executor_id", "target_config"} {
		leaky := maps.Clone(job)
		leaky[member] = "x"
		if schema.Validate(leaky) == nil {
			t.Errorf("a job with %s is valid", member)
		}
	}
}

func TestOpenAPIIsSorted(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths      json.RawMessage
		Components struct {
			Responses, Schemas json.RawMessage
		}
	}
	decode(t, contract.OpenAPI(), &doc)
	for name, text := range map[string]json.RawMessage{"paths": doc.Paths, "responses": doc.Components.Responses, "schemas": doc.Components.Schemas} {
		if keys := keysInOrder(t, text); !slices.IsSorted(keys) {
			t.Errorf("%s are not sorted: %v", name, keys)
		}
	}
}

// keysInOrder are the member names of a JSON object as written.
func keysInOrder(t *testing.T, text json.RawMessage) (keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}
