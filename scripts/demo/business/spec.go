package business

import (
	_ "embed"
	"slices"
)

//go:embed openapi.json
var document []byte

// Spec is the OpenAPI 3.1 document of the order system, whose operations are declared as governed tools (core §4.4 to
// §4.7). The caller may change the bytes it gets.
func Spec() []byte { return slices.Clone(document) }
