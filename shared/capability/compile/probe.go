package compile

import (
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// probeExtension dedicates an endpoint to the authorization probe (core §3.7): an object at the top of the document, or true
// at an operation, which need not be enabled for agents.
const probeExtension = "x-bailing-authz-probe"

const probeHint = "Give a method and a path of up to 512 characters without placeholders, query or dot segments, percent-encoded " +
	"where URLs need it; or write true at one operation."

func probeFault(why string) *fault {
	return faultf(codeInvalidAuthzProbe, probeHint, "%s; it is not used", why)
}

// declaredProbe reads the declaration at the top of the document. A wrong one costs the document nothing but its probe.
func (c *compiler) declaredProbe(root canonical.Value) {
	v, ok := root.Get(probeExtension)
	if !ok || v.Kind() == canonical.Null {
		return
	}
	probe, f := readProbe(v)
	if f != nil {
		c.out.Diagnostics = append(c.out.Diagnostics,
			diagnostic(f.in(probeExtension).under(""), capability.SeverityWarning, capability.DocumentPath))
		return
	}
	c.out.AuthzProbe = probe
}

func readProbe(v canonical.Value) (*capability.AuthzProbe, *fault) {
	if v.Kind() != canonical.Object {
		return nil, probeFault("the authorization probe is not an object")
	}
	path, _ := v.Get("path")
	method, hasMethod := v.Get("method")
	id, hasID := v.Get("operationId")
	probe := &capability.AuthzProbe{Path: path.Text(), Method: strings.ToUpper(method.Text()), OperationID: whole(id.Text())}
	if !hasMethod || method.Kind() == canonical.Null {
		probe.Method = "POST"
	}
	switch {
	case !capability.ProbePath(probe.Path):
		return nil, probeFault("the path of the authorization probe cannot be sent as it stands").in(present(v, "path")...)
	case !slices.Contains(methods[:], probe.Method):
		return nil, probeFault("the method of the authorization probe is none that tools have").in("method")
	case hasID && id.Kind() != canonical.Null && (id.Kind() != canonical.String || !probeName(probe.OperationID)):
		return nil, probeFault("the operationId of the authorization probe is not a short text").in("operationId")
	}
	return probe, nil
}

func probeName(id string) bool { return textlimit.Strict(id, 128) == nil }

// flaggedProbe reads the flag of an operation. What the document declares at its top comes first, then the first flag.
func (c *compiler) flaggedProbe(flag, op canonical.Value, method, path, item string) {
	var f *fault
	upper := strings.ToUpper(method)
	id, _ := op.Get("operationId")
	switch {
	case flag.Kind() == canonical.Null || flag.Kind() == canonical.Bool && !flag.Bool():
		return
	case !flag.Bool():
		f = probeFault("the flag of the authorization probe is not a boolean")
	case !slices.Contains(methods[:], upper):
		f = probeFault("the flag of the authorization probe stands at no method that tools have")
	case !capability.ProbePath(path):
		f = probeFault("the path of the authorization probe cannot be sent as it stands")
	case c.out.AuthzProbe != nil:
		f = probeFault("another authorization probe is declared before this one")
	default:
		probe := &capability.AuthzProbe{Path: path, Method: upper}
		if probeName(id.Text()) {
			probe.OperationID = whole(id.Text())
		}
		c.out.AuthzProbe = probe
		return
	}
	c.report(diagnostic(f.in(method, probeExtension).under(item), capability.SeverityWarning, upper+" "+path))
}
