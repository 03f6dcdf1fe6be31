package capability_test

import (
	"encoding/json"
	"os"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

func parse(t testing.TB, src string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(src), canonical.Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, src)
	}
	return v
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, into); err != nil {
		t.Fatal(err)
	}
}

// tool is a POST tool whose arguments all travel in the body, with the given properties and required list.
func tool(properties, required string) *capability.Tool {
	t := &capability.Tool{
		Name: "t", Method: "POST", Path: "/t", Scope: "t.write",
		InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + required + `}`),
		ParamIn:     map[string]capability.Location{},
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal([]byte(properties), &names); err != nil {
		panic(err)
	}
	for name := range names {
		t.ParamIn[name] = capability.InBody
	}
	t.Prepare()
	return t
}

func parseMaybe(src string) (canonical.Value, error) {
	return canonical.Parse([]byte(src), canonical.Limits{})
}
