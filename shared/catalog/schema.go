package catalog

import (
	"encoding/json"

	"bailing/shared/canonical"
)

// Bounds on the schemas that agents see (agent §5.1).
const (
	maxSchemaLevels = 16 // below the root
	maxAlternatives = 20 // of each oneOf, anyOf and allOf
)

// anyObject stands for what is nested too deeply to be shown.
const anyObject = `{"type":"object","properties":{}}`

// publicSchema is a tool's input schema as agents see it: the keywords that help to write arguments, at every level, and an
// object with properties at the root. What else a specification says (defaults, examples, extensions) stays inside. Calls
// are judged by the complete schema; one that cannot be read refuses them all, and shows no arguments.
func publicSchema(stored json.RawMessage) json.RawMessage {
	root, err := canonical.Parse(stored, canonical.Limits{})
	if err != nil {
		return json.RawMessage(anyObject)
	}
	b := append(make([]byte, 0, len(stored)+len(anyObject)), `{"type":"object"`...)
	properties := false
	for keyword, v := range root.Members() {
		if keyword == "type" {
			continue
		}
		if next, kept := appendKeyword(b, keyword, v, 0); kept {
			b = next
			properties = properties || keyword == "properties"
		}
	}
	if !properties {
		b = append(b, `,"properties":{}`...)
	}
	return append(b, '}')
}

// appendKeyword appends a keyword of a schema at a level, and reports whether it is shown.
func appendKeyword(b []byte, keyword string, v canonical.Value, level int) (out []byte, kept bool) {
	key := append(canonical.AppendString(comma(b), keyword), ':')
	switch keyword {
	case "type", "required", "description", "enum", "const", "nullable", "format", "pattern", "minLength", "maxLength",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
		return v.AppendCompact(key), true
	case "properties":
		if v.Kind() == canonical.Object {
			return appendProperties(key, v, level), true
		}
	case "oneOf", "anyOf", "allOf":
		if v.Kind() == canonical.Array {
			return appendSchemas(key, v, level, maxAlternatives), true
		}
	case "items":
		if v.Kind() == canonical.Array { // one schema for each place, as older drafts have it
			return appendSchemas(key, v, level, v.Len()), true
		}
		return appendSchema(key, v, level+1), true
	case "additionalProperties":
		return appendSchema(key, v, level+1), true
	}
	return b, false
}

func appendProperties(b []byte, v canonical.Value, level int) []byte {
	b = append(b, '{')
	for name, property := range v.Members() {
		b = append(canonical.AppendString(comma(b), name), ':')
		b = appendSchema(b, property, level+1)
	}
	return append(b, '}')
}

func appendSchemas(b []byte, v canonical.Value, level, max int) []byte {
	b = append(b, '[')
	for i, schema := range v.Elems() {
		if i == max {
			break
		}
		b = appendSchema(comma(b), schema, level+1)
	}
	return append(b, ']')
}

// appendSchema appends a nested schema. The schemas true and false are shown as they are; what is no schema allows anything.
func appendSchema(b []byte, v canonical.Value, level int) []byte {
	switch {
	case level > maxSchemaLevels:
		return append(b, anyObject...)
	case v.Kind() == canonical.Bool:
		return v.AppendCompact(b)
	}
	b = append(b, '{')
	for keyword, m := range v.Members() {
		if next, kept := appendKeyword(b, keyword, m, level); kept {
			b = next
		}
	}
	return append(b, '}')
}

// comma separates what follows from what came before it in the same container.
func comma(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}
