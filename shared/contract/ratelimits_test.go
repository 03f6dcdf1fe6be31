package contract_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/contract/contracttest"
)

// What a save accepts as tool_rate_limits, the description of its body, that of a list entry and the configuration schema
// accept, and nothing else.
func TestToolRateLimitsAreDescribedAsTheyAreJudged(t *testing.T) {
	t.Parallel()
	s := newRegistry()
	overrides := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"t%d":{"mode":"disabled"}`, i)
		}
		return `{"overrides":{` + strings.Join(list, ",") + `}}`
	}
	named := func(tool string) string { return fmt.Sprintf(`{"overrides":{%q:{"mode":"inherit"}}}`, tool) }
	judges := map[string]interface{ Validate(v any) error }{}
	for name, path := range map[string]string{
		"body": "openapi.json#/components/schemas/ProviderInput", "entry": "openapi.json#/components/schemas/Provider",
		"configuration": "schemas/config/tool-provider.schema.json",
	} {
		schema, err := contracttest.NewCompiler().Compile(contracttest.Base + path)
		if err != nil {
			t.Fatal(err)
		}
		judges[name] = schema
	}
	for raw, valid := range map[string]bool{
		`{}`:                                    true,
		`[]`:                                    false,
		`{"more":{}}`:                           false,
		`{"overrides":[]}`:                      false,
		`{"default":{}}`:                        false,
		`{"default":{"mode":"inherit"}}`:        true,
		`{"default":{"mode":"off"}}`:            false,
		`{"default":{"mode":"disabled"}}`:       true,
		`{"default":{"mode":"disabled","x":1}}`: false,
		`{"default":{"mode":"inherit","count":1}}`:                            false,
		`{"default":{"mode":"disabled","window":"1m"}}`:                       false,
		`{"default":{"mode":"custom"}}`:                                       false,
		`{"default":{"mode":"custom","count":1}}`:                             false,
		`{"default":{"mode":"custom","window":"1m"}}`:                         false,
		`{"default":{"mode":"custom","count":0,"window":"1m"}}`:               false,
		`{"default":{"mode":"custom","count":1,"window":"1m"}}`:               true,
		`{"default":{"mode":"custom","count":1,"window":"1w"}}`:               false,
		`{"overrides":{"a":{"mode":"custom","count":1000000,"window":"1d"}}}`: true,
		`{"overrides":{"a":{"mode":"custom","count":1000001,"window":"1d"}}}`: false,
		overrides(1000):                true,
		overrides(1001):                false,
		named(strings.Repeat("a", 64)): true,
		named(strings.Repeat("a", 65)): false,
		named("2a"):                    false,
		named("a*"):                    false,
	} {
		body := without(t, wholeOf("Provider"), append(slices.Clone(readable), command...)...)
		var limits any
		decode(t, []byte(raw), &limits)
		body["tool_rate_limits"] = limits
		for name, schema := range judges {
			if err := schema.Validate(body); (err == nil) != valid {
				t.Errorf("%s, %.70s: described as valid should be %t: %v", name, raw, valid, err)
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := saveWhole(t, s, "Provider", string(text)); (err == nil) != valid {
			t.Errorf("%.70s: accepted should be %t: %v", raw, valid, err)
		}
	}
}
