package contracttest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"bailing/shared/contract"
)

// Base is the URL below which the schemas name themselves ($id).
const Base = "https://bailing.dev/"

// NewCompiler returns a compiler that finds every served artefact below [Base] and asserts formats.
func NewCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.UseLoader(loader{})
	c.AssertFormat()
	return c
}

// ClientAPI fails t unless body satisfies a schema of the client-api v1 pack, such as "job-response.schema.json".
func ClientAPI(t testing.TB, file string, body []byte) {
	t.Helper()
	validate(t, Base+"contracts/client-api/v1/"+file, body)
}

// Response fails t unless the OpenAPI document lists the status for the operation and body satisfies its schema. The
// path is the one of the topology or of the document ("/jobs/{id}"). An answer without a declared body must be empty.
func Response(t testing.TB, method, path string, status int, body []byte) {
	t.Helper()
	pointer, err := responseSchema(method, path, status)
	switch {
	case err != nil:
		t.Error(err)
	case pointer == "" && len(body) > 0:
		t.Errorf("%s %s: status %d has no body in the document, got %d bytes", method, path, status, len(body))
	case pointer != "":
		validate(t, Base+"openapi.json#"+pointer, body)
	}
}

func validate(t testing.TB, url string, body []byte) {
	t.Helper()
	schema, err := NewCompiler().Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("not JSON: %v\n%s", err, body)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v\n%s", err, body)
	}
}

// responseSchema is the JSON pointer of the schema of one answer; "" when it is declared without a body.
func responseSchema(method, path string, status int) (pointer string, err error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(contract.OpenAPI()))
	if err != nil {
		return "", err
	}
	segments := []string{"paths", DocumentPath(path), strings.ToLower(method), "responses", strconv.Itoa(status)}
	answer, ok := lookup(doc, segments)
	if !ok {
		return "", fmt.Errorf("%s %s: status %d is not in the document", method, path, status)
	}
	if ref, ok := answer["$ref"].(string); ok {
		segments = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		if answer, ok = lookup(doc, segments); !ok {
			return "", fmt.Errorf("%s does not resolve", ref)
		}
	}
	content, _ := answer["content"].(map[string]any)
	for media := range content {
		return join(append(segments, "content", media, "schema")), nil
	}
	return "", nil
}

// DocumentPath is the OpenAPI form of a path of the topology: OpenAPI has no greedy variable, {proxy+} is written {proxy}.
func DocumentPath(path string) string { return strings.ReplaceAll(path, "+}", "}") }

func lookup(v any, segments []string) (map[string]any, bool) {
	for _, s := range segments {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		v = m[s]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

func join(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s))
	}
	return b.String()
}

type loader struct{}

func (loader) Load(url string) (any, error) {
	path, _ := strings.CutPrefix(url, Base)
	b, ok := contract.OpenAPI(), path == "openapi.json"
	if file, found := strings.CutPrefix(path, "contracts/client-api/v1/"); found {
		b, ok = contract.ClientAPI(file)
	} else if file, found := strings.CutPrefix(path, "schemas/"); found {
		b, ok = contract.Schema(file)
	}
	if !ok {
		return nil, fmt.Errorf("%s is not served", url)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}
