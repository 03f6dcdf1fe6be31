package specfile

import (
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability/compile"
)

// Operation is an operation of a specification, enabled for agents or not.
type Operation struct {
	Method  string // upper case
	Path    string
	Enabled bool // x-agent-capability has enabled: true, or is a mistake that compiling reports
}

// Outline is what a specification is about, whether it compiles or not.
type Outline struct {
	OpenAPI    string
	Operations []Operation
}

// Outlined reads the outline; an unreadable document has an empty one.
func Outlined(src []byte) Outline {
	root, ok := parsed(src)
	if !ok {
		return Outline{}
	}
	version, _ := root.Get("openapi")
	out := Outline{OpenAPI: version.Text()}
	paths, _ := root.Get("paths")
	for path, item := range paths.Members() {
		item = follow(root, item)
		for method, op := range item.Members() {
			if !isMethod(method) || op.Kind() != canonical.Object {
				continue
			}
			extension, has := op.Get("x-agent-capability")
			enabled, _ := extension.Get("enabled")
			out.Operations = append(out.Operations, Operation{
				Method: strings.ToUpper(method), Path: path,
				Enabled: enabled.Bool() || has && extension.Kind() != canonical.Object,
			})
		}
	}
	return out
}

// parsed is the document as a tree, with the order of its members.
func parsed(src []byte) (canonical.Value, bool) {
	text, err := compile.ToJSON(src)
	if err != nil {
		return canonical.Value{}, false
	}
	root, err := canonical.Parse(text, canonical.Limits{
		MaxBytes: len(text), MaxDepth: compile.MaxDocumentDepth, MaxNodes: compile.MaxDocumentNodes,
	})
	return root, err == nil
}

func isMethod(key string) bool {
	return slices.Contains([]string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}, strings.ToLower(key))
}

// maxHops ends a chain of references that leads back to itself.
const maxHops = 16

// follow is the path item that a local reference stands for, or the item itself.
func follow(root, item canonical.Value) canonical.Value {
	for range maxHops {
		ref, ok := item.Get("$ref")
		pointer, local := strings.CutPrefix(ref.Text(), "#/")
		if !ok || !local {
			return item
		}
		target := root
		for step := range strings.SplitSeq(pointer, "/") {
			target, _ = target.Get(strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~"))
		}
		if target.Kind() != canonical.Object {
			return item
		}
		item = target
	}
	return item
}
