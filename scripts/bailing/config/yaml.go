package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bailing/shared/canonical"
)

// maxDepth bounds how deeply a file nests.
const maxDepth = 64

// parse reads JSON or YAML. Whatever begins with a brace is JSON and read as strictly as a hub does.
func parse(src []byte) (canonical.Value, error) {
	if trimmed := bytes.TrimSpace(src); len(trimmed) > 0 && trimmed[0] == '{' {
		return canonical.Parse(src, limits)
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	if err := decoder.Decode(&doc); err != nil {
		return canonical.Value{}, err
	}
	var more yaml.Node
	if decoder.Decode(&more) == nil {
		return canonical.Value{}, fmt.Errorf("line %d: a file holds one document", more.Line)
	}
	if len(doc.Content) != 1 {
		return canonical.Value{}, fmt.Errorf("the file is empty")
	}
	b, err := appendNode(nil, doc.Content[0], 0)
	if err != nil {
		return canonical.Value{}, err
	}
	return canonical.Parse(b, limits)
}

// appendNode writes a YAML node as the JSON that it means. Anchors are refused: what one object says should stand where it is.
func appendNode(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	at := func(format string, args ...any) error {
		return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
	}
	var err error
	switch {
	case depth > maxDepth:
		return nil, at("nested more than %d deep", maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, at("anchors and aliases are not read")
	case n.Kind == yaml.SequenceNode:
		dst = append(dst, '[')
		for i, e := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendNode(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case n.Kind == yaml.MappingNode:
		dst = append(dst, '{')
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				return nil, fmt.Errorf("line %d: a member needs a name", key.Line)
			}
			if seen[key.Value] {
				return nil, fmt.Errorf("line %d: %s is there twice", key.Line, key.Value)
			}
			seen[key.Value] = true
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(canonical.AppendString(dst, key.Value), ':')
			if dst, err = appendNode(dst, n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return appendScalar(dst, n, at)
}

func appendScalar(dst []byte, n *yaml.Node, at func(string, ...any) error) ([]byte, error) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, at("%s is neither true nor false", n.Value)
		}
		return strconv.AppendBool(dst, b), nil
	case "!!int":
		if json.Valid([]byte(n.Value)) {
			return append(dst, n.Value...), nil // keeps every digit
		}
		var i int64
		if err := n.Decode(&i); err != nil {
			return nil, at("%s is too large a number", n.Value)
		}
		return strconv.AppendInt(dst, i, 10), nil
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, at("%s is no number that JSON has", n.Value)
		}
		return canonical.AppendFloat(dst, f), nil
	case "!!str", "!!timestamp": // a date is the text that it is written as
		return canonical.AppendString(dst, n.Value), nil
	default:
		return nil, at("%s is not read", tag)
	}
}

// writeYAML writes a value as YAML, members in their order.
func writeYAML(v canonical.Value) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(node(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

func node(v canonical.Value) *yaml.Node {
	switch v.Kind() {
	case canonical.Object:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for name, m := range v.Members() {
			n.Content = append(n.Content, node(textValue(name)), node(m))
		}
		if len(n.Content) == 0 || reference(v) {
			n.Style = yaml.FlowStyle
		}
		return n
	case canonical.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		short := true
		for _, e := range v.Elems() {
			n.Content = append(n.Content, node(e))
			short = short && e.Kind() != canonical.Object && e.Kind() != canonical.Array
		}
		if short && v.Size() <= 80 {
			n.Style = yaml.FlowStyle
		}
		return n
	case canonical.String:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.Text()}
		if strings.Contains(n.Value, "\n") {
			n.Style = yaml.LiteralStyle
		}
		return n
	case canonical.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case canonical.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.Number()}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// reference reports whether v is {env: NAME} or {file: NAME}, which reads best on one line.
func reference(v canonical.Value) bool {
	_, env := v.Get("env")
	_, file := v.Get("file")
	return v.Len() == 1 && (env || file)
}
