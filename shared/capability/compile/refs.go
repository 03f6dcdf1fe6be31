package compile

import (
	"net/url"
	"strconv"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// document is a parsed specification with what is learned while following its references.
type document struct {
	root    canonical.Value
	is30    bool                                  // OpenAPI 3.0: siblings of a schema's $ref mean nothing there
	targets map[string]target                     // by reference, as written
	indexes map[string]map[string]canonical.Value // members of large objects, by canonical pointer
	schemas map[string]*resolution                // by canonical pointer
	work    int
	looked  int // schemas searched for the places of diagnostics

	objectType *node // the leaf "object"
}

func newDocument(root canonical.Value) *document {
	version, _ := root.Get("openapi")
	return &document{
		root: root, is30: strings.HasPrefix(version.Text(), "3.0"), targets: make(map[string]target),
		indexes: make(map[string]map[string]canonical.Value), schemas: make(map[string]*resolution),
		objectType: goLeaf("object"),
	}
}

// target is what a reference points to, and its pointer in canonical spelling.
type target struct {
	value canonical.Value
	canon string
}

// resolution is a referenced schema: being resolved, resolved, or impossible.
type resolution struct {
	node  *node
	fault *fault
	done  bool
}

// spend counts elementary steps; past the budget the document is too expensive to go on with.
func (d *document) spend(steps int) *fault {
	if d.work += steps; d.work > maxWork {
		return limitFault("the document takes too much work to resolve")
	}
	return nil
}

// spendBytes counts the reading of a piece of the document, or of a resolved schema. Such pieces can be shared by many
// operations.
func (d *document) spendBytes(n int) *fault { return d.spend(1 + n/64) }

// indexFrom is the number of members from which an object is indexed instead of searched.
const indexFrom = 16

// refOf is the reference of an object, if it is one.
func refOf(v canonical.Value) (string, bool) {
	ref, ok := v.Get("$ref")
	if !ok || ref.Kind() != canonical.String {
		return "", false
	}
	return ref.Text(), true
}

// pointer splits a local reference into the steps of its JSON pointer (RFC 6901), and joins them again in one spelling
// that identifies the target.
func pointer(ref string) (steps []string, canon string, f *fault) {
	unresolved := func(why string) *fault {
		return faultf(codeRefUnresolved, "Use a JSON pointer into this document, such as #/components/schemas/Order.",
			"the reference %q %s", textlimit.Cut(ref, 200), why)
	}
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, "", unresolved("leads out of the document")
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, "", unresolved("has a malformed escape")
	}
	if fragment == "" {
		return nil, "", unresolved("is the whole document")
	}
	if fragment[0] != '/' {
		return nil, "", unresolved("names an anchor")
	}
	steps = strings.Split(fragment[1:], "/")
	if len(steps) > MaxDocumentDepth {
		return nil, "", unresolved("has no target")
	}
	var b strings.Builder
	for i, s := range steps {
		if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(s, "~0", ""), "~1", ""), "~") {
			return nil, "", unresolved("has a malformed escape")
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
		b.WriteString("/" + escapeStep(steps[i]))
	}
	return steps, b.String(), nil
}

// escapeStep writes a member name as a step of a JSON pointer.
func escapeStep(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// lookup is the value that a local reference points to, and the pointer in its canonical spelling.
func (d *document) lookup(ref string) (canonical.Value, string, *fault) {
	if t, ok := d.targets[ref]; ok {
		return t.value, t.canon, nil
	}
	steps, canon, f := pointer(ref)
	if f != nil {
		return canonical.Value{}, "", f
	}
	v, at := d.root, ""
	for _, step := range steps {
		v, f = d.child(v, at, step)
		if f != nil {
			return v, "", f
		}
		if v.Kind() == canonical.Invalid {
			return v, "", faultf(codeRefUnresolved, "Correct the reference, or add its target to the document.",
				"the reference %q has no target", textlimit.Cut(ref, 200))
		}
		at += "/" + escapeStep(step)
	}
	d.targets[ref] = target{v, canon}
	return v, canon, nil
}

// child is a member or element of v, which stands at the pointer at; Invalid when there is none.
func (d *document) child(v canonical.Value, at, step string) (canonical.Value, *fault) {
	if v.Kind() == canonical.Array {
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || strconv.Itoa(i) != step {
			return canonical.Value{}, nil
		}
		return v.Elem(i), d.spend(1 + i)
	}
	if index, ok := d.indexes[at]; ok {
		return index[step], nil
	}
	n := v.Len()
	if n < indexFrom {
		found, _ := v.Get(step)
		return found, d.spend(n)
	}
	index := make(map[string]canonical.Value, n)
	for key, m := range v.Members() {
		index[key] = m
	}
	d.indexes[at] = index
	return index[step], d.spend(n)
}

// object follows the references of a parameter, request body or path item to the object they stand for, and tells the
// pointer of that object; "" when v itself is the object.
func (d *document) object(v canonical.Value) (target canonical.Value, at string, f *fault) {
	seen := map[string]bool{}
	for {
		ref, ok := refOf(v)
		if !ok {
			return v, at, d.spendBytes(v.Size())
		}
		next, canon, f := d.lookup(ref)
		switch {
		case f != nil:
		case seen[canon]:
			f = cycleFault(ref)
		case len(seen) >= MaxSchemaDepth:
			f = limitFault("a chain of references is too long")
		}
		if f != nil {
			if f.in("$ref"); at != "" {
				f.under(at)
			}
			return v, at, f
		}
		seen[canon] = true
		v, at = next, canon
	}
}

func cycleFault(ref string) *fault {
	return faultf(codeRefCycle, "Write the levels that tools need, or use an object with additionalProperties: true where the recursion starts.",
		"the reference %q leads back to itself", textlimit.Cut(ref, 200))
}
