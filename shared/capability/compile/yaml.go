package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"bailing/shared/canonical"
)

// parseYAML reads a single YAML document by way of its JSON form, so that one tree serves both notations.
func parseYAML(src []byte) (canonical.Value, *fault) {
	text, f := yamlToJSON(src)
	if f != nil {
		return canonical.Value{}, f
	}
	doc, err := parseJSON(text)
	switch {
	case err == nil:
		return doc, nil
	case errors.Is(err, canonical.ErrTooDeep), errors.Is(err, canonical.ErrTooLarge):
		return doc, limitFault(err.Error())
	}
	return doc, faultf(codeInvalidSpec, "Validate the document with a YAML linter.", "YAML: %v", err)
}

// yamlToJSON turns what checkYAML has let pass into JSON. It lets go of the parser's nodes, which take far more room than the text that they become.
func yamlToJSON(src []byte) ([]byte, *fault) {
	root, err := decodeYAML(src)
	if err != nil {
		return nil, faultf(codeInvalidSpec, "Validate the document with a YAML linter.", "neither JSON nor YAML: %v", err)
	}
	w := yamlWriter{uses: make(map[*yaml.Node]int)}
	if f := w.node(root, 0); f != nil {
		return nil, f
	}
	return w.out, nil
}

// decodeYAML builds the node tree. The parser is not ours: a panic in it is a refused document, not a dead function.
func decodeYAML(src []byte) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	if rest, ok := bytes.CutPrefix(src, []byte("%YAML 1.2")); ok { // the parser reads 1.2, but refuses a document that says so
		src = append([]byte("%YAML 1.1"), rest...)
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the document is empty")
		}
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errors.New("the document is empty")
	}
	return doc.Content[0], nil
}

// yamlWriter writes a node tree as JSON, expanding aliases within a budget.
type yamlWriter struct {
	out   []byte
	nodes int                // values and keys
	uses  map[*yaml.Node]int // expansions of each anchor
}

func yamlFault(n *yaml.Node, format string, args ...any) *fault {
	return faultf(codeInvalidSpec, "Write what JSON can say too: keys that are scalars, finite numbers, mappings to merge.",
		"YAML line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

func (w *yamlWriter) node(n *yaml.Node, depth int) *fault {
	if w.nodes++; w.nodes > 2*MaxDocumentNodes {
		return limitFault(fmt.Sprintf("the document has more than %d values", MaxDocumentNodes))
	}
	if len(w.out) > MaxDocumentBytes {
		return limitFault(fmt.Sprintf("the document's JSON form has more than %d bytes", MaxDocumentBytes))
	}
	if depth > MaxDocumentDepth {
		return limitFault(fmt.Sprintf("the document is nested more than %d deep", MaxDocumentDepth))
	}
	switch n.Kind {
	case yaml.AliasNode:
		target, f := w.alias(n)
		if f != nil {
			return f
		}
		return w.node(target, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, e := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if f := w.node(e, depth+1); f != nil {
				return f
			}
		}
		w.out = append(w.out, ']')
		return nil
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return yamlFault(n, "unexpected node")
}

// alias is the node that an alias stands for. The budget is per anchor, so that a document may use many anchors, yet
// nested anchors cannot multiply. An anchor that contains itself exceeds it too.
func (w *yamlWriter) alias(n *yaml.Node) (*yaml.Node, *fault) {
	if n.Alias == nil {
		return nil, yamlFault(n, "alias without anchor")
	}
	if w.uses[n.Alias]++; w.uses[n.Alias] > MaxAliasUses {
		return nil, limitFault(fmt.Sprintf("YAML line %d: an anchor is used more than %d times", n.Line, MaxAliasUses))
	}
	return n.Alias, nil
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) *fault {
	w.out = append(w.out, '{')
	seen := make(map[string]bool, len(n.Content)/2)
	if f := w.members(n, depth, seen); f != nil {
		return f
	}
	if w.out[len(w.out)-1] == ',' {
		w.out = w.out[:len(w.out)-1]
	}
	w.out = append(w.out, '}')
	return nil
}

// members writes the members of a mapping, each with a comma after it. Those of merged mappings ("<<") come last and yield
// to what is there already; everywhere else a key may stand once.
func (w *yamlWriter) members(n *yaml.Node, depth int, seen map[string]bool) *fault {
	var merges []*yaml.Node
	own, into := seen, len(seen) > 0 // into: there are members of other mappings already
	if into {
		own = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if w.nodes++; w.nodes > 2*MaxDocumentNodes {
			return limitFault("too many YAML keys")
		}
		if key.Kind == yaml.AliasNode {
			var f *fault
			if key, f = w.alias(key); f != nil {
				return f
			}
		}
		if key.Kind != yaml.ScalarNode {
			return yamlFault(key, "a key is not a scalar")
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if own[key.Value] {
			return faultf(codeInvalidSpec, "Keep one of the members with the same name.", "YAML line %d: duplicate key", key.Line)
		}
		yields := into && seen[key.Value]
		own[key.Value], seen[key.Value] = true, true
		if yields {
			continue
		}
		w.out = append(canonical.AppendString(w.out, key.Value), ':')
		if f := w.node(value, depth+1); f != nil {
			return f
		}
		w.out = append(w.out, ',')
	}
	for _, m := range merges {
		if f := w.merge(m, depth+1, seen); f != nil {
			return f
		}
	}
	return nil
}

func (w *yamlWriter) merge(n *yaml.Node, depth int, seen map[string]bool) *fault {
	if w.nodes++; w.nodes > 2*MaxDocumentNodes || depth > MaxDocumentDepth {
		return limitFault("too many merged YAML mappings")
	}
	switch n.Kind {
	case yaml.AliasNode:
		target, f := w.alias(n)
		if f != nil {
			return f
		}
		return w.merge(target, depth+1, seen)
	case yaml.MappingNode:
		return w.members(n, depth, seen)
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if f := w.merge(e, depth+1, seen); f != nil {
				return f
			}
		}
		return nil
	}
	return yamlFault(n, "only mappings can be merged")
}

func (w *yamlWriter) scalar(n *yaml.Node) *fault {
	switch n.ShortTag() {
	case "!!null":
		w.out = append(w.out, "null"...)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return yamlFault(n, "not a boolean")
		}
		w.out = strconv.AppendBool(w.out, b)
	case "!!int", "!!float":
		return w.number(n)
	default: // strings, timestamps, binary and private tags: the text as it stands
		if n.Style == 0 && json.Valid([]byte(n.Value)) {
			return yamlFault(n, "number out of range") // the parser takes it for text
		}
		w.out = canonical.AppendString(w.out, n.Value)
	}
	return nil
}

// number keeps the digits of a number that JSON can spell, and converts the other notations of YAML.
func (w *yamlWriter) number(n *yaml.Node) *fault {
	if json.Valid([]byte(n.Value)) {
		w.out = append(w.out, n.Value...)
		return nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return yamlFault(n, "not a number")
	}
	switch v := v.(type) {
	case int:
		w.out = strconv.AppendInt(w.out, int64(v), 10)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case uint64:
		w.out = strconv.AppendUint(w.out, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return yamlFault(n, "JSON has no such number")
		}
		w.out = canonical.AppendFloat(w.out, v)
	default:
		return yamlFault(n, "not a number")
	}
	return nil
}
