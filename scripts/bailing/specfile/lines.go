package specfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bailing/shared/canonical"
)

// Lines finds the lines, from 1, on which the values at some JSON pointers begin. A pointer that leads nowhere gets the line of
// the last value on its way. A document that is neither JSON nor YAML has none.
func Lines(src []byte, pointers []string) map[string]int {
	src = bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))
	found := map[string]int{}
	wanted := newTrie(pointers)
	if json.Valid(src) {
		walker := jsonWalker{src: src, dec: json.NewDecoder(bytes.NewReader(src)), found: found}
		walker.dec.UseNumber()
		walker.value(wanted, 1)
		return found
	}
	if root := yamlRoot(src); root != nil {
		yamlLines(root, wanted, root.Line, found)
	}
	return found
}

// SyntaxLine is the line, from 1, at which JSON stops being JSON; 0 when the document is JSON or does not try to be.
func SyntaxLine(src []byte) int {
	if trimmed := bytes.TrimLeft(src, "\xEF\xBB\xBF \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return 0
	}
	src = bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))
	_, err := canonical.Parse(src, canonical.Limits{MaxBytes: len(src) + 1})
	if syntax, ok := err.(*canonical.SyntaxError); ok {
		return 1 + bytes.Count(src[:min(syntax.Offset, len(src))], []byte("\n"))
	}
	return 0
}

// trie holds the wanted pointers by their steps.
type trie struct {
	pointers []string // that end here
	next     map[string]*trie
}

func newTrie(pointers []string) *trie {
	root := &trie{}
	for _, p := range pointers {
		if p != "" && p[0] != '/' {
			continue
		}
		at := root
		for step := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			if p == "" {
				break
			}
			step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
			if at.next == nil {
				at.next = map[string]*trie{}
			}
			if at.next[step] == nil {
				at.next[step] = &trie{}
			}
			at = at.next[step]
		}
		at.pointers = append(at.pointers, p)
	}
	return root
}

// mark gives the pointers that end at t, and for now those that go on, the line of their value.
func (t *trie) mark(line int, found map[string]int) {
	if t == nil {
		return
	}
	for _, p := range t.pointers {
		found[p] = line
	}
	for _, next := range t.next {
		next.mark(line, found)
	}
}

// jsonWalker reads a valid document token by token. A member begins on the line of its name.
type jsonWalker struct {
	src   []byte
	dec   *json.Decoder
	found map[string]int
	at    int // bytes whose lines are counted
	lines int // newlines in them
}

// line is where the token that was read last ends; no token has a newline in it.
func (w *jsonWalker) line() int {
	to := int(w.dec.InputOffset())
	w.lines += bytes.Count(w.src[w.at:to], []byte("\n"))
	w.at = to
	return 1 + w.lines
}

func (w *jsonWalker) value(t *trie, line int) {
	token, err := w.dec.Token()
	if err != nil {
		return
	}
	t.mark(line, w.found)
	delim, ok := token.(json.Delim)
	if !ok {
		return
	}
	for i := 0; w.dec.More(); i++ {
		step := strconv.Itoa(i)
		if delim == '{' {
			key, err := w.dec.Token()
			if err != nil {
				return
			}
			step, _ = key.(string)
		}
		var next *trie
		if t != nil {
			next = t.next[step]
		}
		line := 0
		if next != nil {
			if delim == '[' {
				line = w.elementLine()
			} else {
				line = w.line()
			}
		}
		w.value(next, line)
	}
	_, _ = w.dec.Token() // the end, which a valid document has
}

// elementLine is the line on which the next element begins.
func (w *jsonWalker) elementLine() int {
	to := int(w.dec.InputOffset())
	for to < len(w.src) && strings.IndexByte(" \t\r\n,", w.src[to]) >= 0 {
		to++
	}
	return w.line() + bytes.Count(w.src[w.at:to], []byte("\n"))
}

func yamlRoot(src []byte) (root *yaml.Node) {
	defer func() {
		if recover() != nil { // the parser is not ours; without it there are no lines
			root = nil
		}
	}()
	var doc yaml.Node
	if yaml.Unmarshal(src, &doc) != nil || doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil
	}
	return doc.Content[0]
}

// yamlLines follows only the wanted steps, so that aliases cannot multiply the work.
func yamlLines(n *yaml.Node, t *trie, line int, found map[string]int) {
	t.mark(line, found)
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	for step, next := range t.next {
		switch n.Kind {
		case yaml.MappingNode:
			if key, value := yamlMember(n, step, 0); value != nil {
				yamlLines(value, next, key.Line, found)
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
				yamlLines(n.Content[i], next, n.Content[i].Line, found)
			}
		}
	}
}

// yamlMember is a member of a mapping, its own or one that is merged into it.
func yamlMember(n *yaml.Node, name string, depth int) (key, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return k, n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content) && depth < 8; i += 2 {
		if n.Content[i].ShortTag() != "!!merge" {
			continue
		}
		merged := n.Content[i+1]
		if merged.Kind == yaml.AliasNode {
			merged = merged.Alias
		}
		if merged != nil && merged.Kind == yaml.MappingNode {
			if key, value := yamlMember(merged, name, depth+1); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

// At writes a place for people and editors: NAME:LINE, or NAME without a line.
func At(name string, line int) string {
	if line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}
