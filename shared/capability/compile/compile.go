package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// Compile reads a specification (JSON or YAML, OpenAPI 3.0 or 3.1) and compiles every operation that is enabled for agents.
// A document that cannot be read yields no tools and one error at the path "-"; see [capability.Catalog.Failed].
func Compile(src []byte) *capability.Catalog {
	sum := sha256.Sum256(src)
	out := &capability.Catalog{
		Tools: []capability.Tool{}, Diagnostics: []capability.Diagnostic{}, Hash: hex.EncodeToString(sum[:]),
	}
	root, f := load(src)
	if f == nil {
		f = checkTop(root)
	}
	if f != nil {
		out.Diagnostics = append(out.Diagnostics, diagnostic(f, capability.SeverityError, capability.DocumentPath))
		return out
	}
	c := &compiler{doc: newDocument(root), out: out}
	c.declaredProbe(root)
	paths, _ := root.Get("paths")
	for path, item := range paths.Members() {
		c.pathItem(path, item)
	}
	c.refuseDuplicates()
	c.boundDiagnostics()
	if c.cut {
		f := limitFault("there are more diagnostics than are listed")
		out.Diagnostics = append(out.Diagnostics, diagnostic(f, capability.SeverityWarning, capability.DocumentPath))
	}
	return out
}

// compiler collects the tools and diagnostics of one document.
type compiler struct {
	doc      *document
	out      *capability.Catalog
	pointers []string // to where each tool's name comes from
	written  int      // bytes of the tools so far, see storedSize
	cut      bool     // diagnostics were left out
}

func checkTop(root canonical.Value) *fault {
	paths, ok := root.Get("paths")
	if ok && paths.Kind() != canonical.Object && paths.Kind() != canonical.Null {
		return faultf(codeInvalidSpec, "Write paths as an object of path items.", "paths is not an object").in("paths")
	}
	return nil
}

func diagnostic(f *fault, severity capability.Severity, path string) capability.Diagnostic {
	return capability.Diagnostic{
		Severity: severity, Path: textlimit.Cut(path, maxDiagnosticPath), Code: f.code, Message: f.message, Suggestion: f.suggestion,
		Pointer: shortPointer(f.at),
	}
}

// shortPointer is the pointer, or the longest part of it that fits and leads to what encloses the value.
func shortPointer(at string) string {
	if len(at) <= maxPointer {
		return at
	}
	return at[:strings.LastIndexByte(at[:maxPointer+1], '/')]
}

// pathItem compiles the operations of a path. How a reference and what stands beside it combine is left open by OpenAPI, so
// nothing that both could change becomes a tool.
func (c *compiler) pathItem(path string, item canonical.Value) {
	at := "/paths/" + escapeStep(path)
	if _, isRef := refOf(item); !isRef {
		c.operations(path, item, at, nil)
		return
	}
	c.operations(path, item, at, faultf(codeRefUnresolved, "Move the operation to where the path's reference leads.",
		"the operation stands beside the path's reference"))
	target, canon, f := c.doc.object(item)
	if f != nil {
		// Whether operations are enabled behind the reference cannot be known.
		c.report(diagnostic(f.under(at), capability.SeverityWarning, "* "+path))
		return
	}
	var undecided *fault
	if list, _ := item.Get("parameters"); list.Len() > 0 {
		undecided = faultf(codeRefUnresolved, "Move the parameters to where the path's reference leads.",
			"parameters stand beside the path's reference").in("parameters").under(at)
	}
	c.operations(path, target, canon, undecided)
}

// operations compiles every member of a path item that is an object with x-agent-capability, whatever its name (core §4.4); a
// name that is no method is found out later. With undecided, those that are enabled fail for it.
func (c *compiler) operations(path string, item canonical.Value, at string, undecided *fault) {
	shared, _ := item.Get("parameters")
	for method, op := range item.Members() {
		if op.Kind() != canonical.Object {
			continue
		}
		if flag, ok := op.Get(probeExtension); ok {
			c.flaggedProbe(flag, op, method, path, at)
		}
		extension, ok := op.Get(extensionName)
		if !ok {
			continue
		}
		o := &operation{
			doc: c.doc, path: path, method: strings.ToUpper(method), value: op, extension: extension, shared: shared,
			item: clip(at), pointer: clip(at) + stepsOf([]string{method}),
		}
		if undecided == nil {
			c.operation(o)
			continue
		}
		if o.gate() {
			f := *undecided
			o.fail(&f)
		}
		c.report(o.diagnostics...)
	}
}

func (c *compiler) operation(op *operation) {
	if len(c.out.Tools) >= MaxTools {
		if op.gate() {
			op.fail(limitFault(fmt.Sprintf("the document has more than %d tools", MaxTools)))
		}
		c.report(op.diagnostics...)
		return
	}
	tool := op.compile(MaxCatalogSize - c.written)
	c.report(op.diagnostics...)
	if tool != nil {
		c.written += storedSize(tool)
		c.out.Tools = append(c.out.Tools, *tool)
		c.pointers = append(c.pointers, op.at("operationId"))
	}
}

func (c *compiler) report(found ...capability.Diagnostic) {
	c.out.Diagnostics = append(c.out.Diagnostics, found...)
	if len(c.out.Diagnostics) > 4*MaxDiagnostics {
		c.boundDiagnostics()
	}
}

// refuseDuplicates takes out every tool whose name another one has too (D15): which one a call means would depend on the order
// of the document.
func (c *compiler) refuseDuplicates() {
	count := make(map[string]int)
	for i := range c.out.Tools {
		count[c.out.Tools[i].Name]++
	}
	kept := c.out.Tools[:0]
	for i, t := range c.out.Tools {
		if count[t.Name] == 1 {
			kept = append(kept, t)
			continue
		}
		f := faultf(codeDuplicateName, "Give each operation its own operationId.", "%d operations are named %q", count[t.Name], t.Name)
		c.out.Diagnostics = append(c.out.Diagnostics, diagnostic(f.under(c.pointers[i]), capability.SeverityError, t.Method+" "+t.Path))
	}
	c.out.Tools = slices.Clip(kept)
}

// boundDiagnostics keeps the answer for a hopeless document readable, errors before warnings.
func (c *compiler) boundDiagnostics() {
	if len(c.out.Diagnostics) <= MaxDiagnostics {
		return
	}
	slices.SortStableFunc(c.out.Diagnostics, func(a, b capability.Diagnostic) int {
		return strings.Compare(string(a.Severity), string(b.Severity)) // errors first
	})
	c.out.Diagnostics, c.cut = c.out.Diagnostics[:MaxDiagnostics], true
}

// quote cuts a name from the document to a length fit for a message.
func quote(s string) string { return textlimit.Cut(s, 120) }
