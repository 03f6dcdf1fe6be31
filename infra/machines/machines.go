// Package machines holds the definitions of the product's state machines, in Amazon States Language. Both hosts fill them in with
// the same function: infra/stacks for CloudFormation, scripts/local for its stand-in. It knows neither.
package machines

import (
	"embed"
	"fmt"
	"regexp"
	"slices"

	"bailing/shared/topology"
)

//go:embed *.asl.json
var definitions embed.FS

// placeholder is where a definition names a function.
var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// Definition is the definition of m with the ARNs of the functions that it invokes. It fails when the definition names a function
// that the topology does not, or the other way round: CloudFormation would deploy either, and the machine would fail later.
func Definition(m topology.StateMachine, arn func(function string) string) (string, error) {
	text, err := definitions.ReadFile(m.Definition)
	if err != nil {
		return "", fmt.Errorf("machines: %s: %w", m.Name, err)
	}
	var unknown []string
	named := map[string]bool{}
	filled := placeholder.ReplaceAllStringFunc(string(text), func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		if !slices.Contains(m.Invokes, name) {
			unknown = append(unknown, name)
			return found
		}
		named[name] = true
		return arn(name)
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("machines: %s: %s names %q, which the topology does not", m.Name, m.Definition, unknown)
	}
	for _, name := range m.Invokes {
		if !named[name] {
			return "", fmt.Errorf("machines: %s: %s does not name %s", m.Name, m.Definition, name)
		}
	}
	return filled, nil
}
