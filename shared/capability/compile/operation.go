package compile

import (
	"fmt"
	"slices"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// operation is one enabled operation on its way to a tool.
type operation struct {
	doc         *document
	path        string
	method      string // upper case
	item        string // pointer to the path item
	pointer     string // to the operation
	value       canonical.Value
	extension   canonical.Value // x-agent-capability
	shared      canonical.Value // parameters of the path item
	diagnostics []capability.Diagnostic
	failed      bool
}

func (o *operation) place() string {
	return quote(o.method) + " " + textlimit.Cut(o.path, maxDiagnosticPath)
}

// fail records an error: the operation becomes no tool.
func (o *operation) fail(f *fault) {
	o.failed = true
	if o.full() {
		return
	}
	o.diagnostics = append(o.diagnostics, diagnostic(f.under(o.pointer), capability.SeverityError, o.place()))
}

// warn records a warning.
func (o *operation) warn(f *fault) {
	if !o.silent() {
		o.diagnostics = append(o.diagnostics, diagnostic(f.under(o.pointer), capability.SeverityWarning, o.place()))
	}
}

// full reports whether further errors of this operation are left out.
func (o *operation) full() bool { return len(o.diagnostics) >= 2*maxDiagnosticsEach }

// silent reports whether further warnings of this operation are left out.
func (o *operation) silent() bool { return len(o.diagnostics) >= maxDiagnosticsEach }

// compile is the tool, or nil with at least one error; nil without one when the operation is not enabled. Its schema and
// extensions may take room bytes.
func (o *operation) compile(room int) *capability.Tool {
	if !o.gate() {
		return nil
	}
	if f := o.doc.spendBytes(o.value.Size() + len(o.path)); f != nil {
		o.fail(f)
		return nil
	}
	in, ok := o.inputs()
	if !ok {
		return nil
	}
	tool := &capability.Tool{
		SchemaVersion: capability.SchemaVersion, Source: capability.SourceOpenAPI, Method: o.method, Path: o.path,
		ParamIn: in.paramIn, BodyType: in.bodyType,
	}
	o.name(tool)
	o.describe(tool)
	o.flags(tool)
	o.execution(tool)
	o.notes(tool)
	o.extensions(tool)
	o.checkInputs(in)
	o.approvalRules(tool, in)
	o.checkRequest()
	schema := in.schema(o.doc.objectType)
	if schema.size > MaxSchemaBytes {
		o.fail(limitFault(fmt.Sprintf("the input schema takes more than %d bytes", MaxSchemaBytes)))
	}
	if schema.size+storedSize(tool) > room {
		o.fail(limitFault("the tools of this document are too large together"))
	}
	if o.failed {
		return nil
	}
	tool.InputSchema = schema.appendTo(make([]byte, 0, schema.size))
	tool.Prepare()
	return tool
}

// storedSize is what a tool adds to its catalogue, in bytes.
func storedSize(t *capability.Tool) int {
	n := len(t.InputSchema) + len(t.Extensions) + len(t.Name) + len(t.Path) + len(t.Description) + len(t.ConfirmPrompt)
	for _, c := range t.Context {
		n += len(c)
	}
	for _, r := range t.ConfirmWhen {
		n += len(r.Param) + len(r.Value) + len(r.Label)
	}
	if t.Guidance != nil {
		n += len(t.Guidance.Text)
	}
	return n
}

// extensionName is the member that makes an operation a tool.
const extensionName = "x-agent-capability"

// gate applies the filters of core §4.4 that need no resolving; the first that matches ends the operation.
func (o *operation) gate() bool {
	if o.extension.Kind() != canonical.Object {
		o.fail(faultf(codeInvalidCapability, "Write x-agent-capability as an object with version, enabled and scope.",
			"x-agent-capability is not an object").under(o.capability()))
		return false
	}
	if enabled, _ := o.extension.Get("enabled"); !enabled.Bool() {
		return false
	}
	version, _ := o.extension.Get("version")
	deprecated, _ := o.value.Get("deprecated")
	scope, _ := o.extension.Get("scope")
	timeout, hasTimeout := o.section("execution").Get("timeout_ms")
	switch {
	case deprecated.Bool():
		o.fail(faultf(codeDeprecated, "Remove x-agent-capability, or enable the operation's successor.",
			"the operation is deprecated").under(o.at("deprecated")))
	case !isOne(version):
		o.fail(faultf(codeUnsupportedVersion, "Write version: 1 as a number.",
			"the version of x-agent-capability is not 1").under(o.capability("version")))
	case scope.Kind() == canonical.Invalid, scope.Kind() == canonical.Null,
		scope.Kind() == canonical.String && textlimit.Blank(scope.Text()):
		o.fail(faultf(codeMissingScope, "Name what the operation touches, such as orders.read.",
			"x-agent-capability has no scope").under(o.capability("scope")))
	case hasTimeout && timeout.Kind() != canonical.Number:
		o.fail(faultf(codeInvalidTimeoutType, "Write timeout_ms as a number of milliseconds.",
			"execution.timeout_ms is not a number").under(o.capability("execution", "timeout_ms")))
	}
	return !o.failed
}

func isOne(v canonical.Value) bool {
	n, ok := v.Int64()
	return ok && n == 1
}

// sections are the objects inside x-agent-capability. Each governs something, so one of another type is refused, not ignored.
var sections = [...]string{"risk", "approval", "subject", "execution", "audit", "guidance", "outcome"}

// section is an object inside x-agent-capability; Invalid when it is absent or something else.
func (o *operation) section(name string) canonical.Value {
	v, _ := o.extension.Get(name)
	if v.Kind() != canonical.Object {
		return canonical.Value{}
	}
	return v
}

// name settles the tool's name (core §4.6). Names are never cut or repaired: two tools could become one.
func (o *operation) name(t *capability.Tool) {
	id, _ := o.value.Get("operationId")
	t.Name = id.Text()
	if textlimit.Blank(t.Name) {
		t.Name = generatedName(o.method, o.path)
		o.warn(faultf(codeMissingOperationID, "Add an operationId; a name made from the path changes with it.",
			"the operation has no operationId and is named %q", quote(t.Name)))
	}
	switch {
	case !textlimit.Fits(t.Name, 64):
		o.fail(faultf(codeNameTooLong, "Choose an operationId of at most 64 characters.",
			"the name %q is too long", quote(t.Name)).under(o.at("operationId")))
	case !textlimit.ToolName(t.Name):
		o.fail(faultf(codeInvalidName,
			"Use letters, digits and underscores, and begin with a letter or an underscore: orders_list instead of orders.list.",
			"the name %q is not a tool name", quote(t.Name)).under(o.at("operationId")))
	case slices.Contains(capability.BuiltinNames(), t.Name):
		o.warn(faultf(codeReservedName, "Choose another operationId.",
			"%q is the name of one of the hub's own tools: jobs leave this one out", t.Name).under(o.at("operationId")))
	}
}

// generatedName is the method and the path with every run of other characters than ASCII letters and digits turned into one
// underscore, none at either end.
func generatedName(method, path string) string {
	lower := []byte(method + "_" + path)
	for i := range method {
		if c := lower[i]; 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	name := make([]byte, 0, len(lower))
	for _, c := range lower {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			name = append(name, c)
		} else if len(name) > 0 && name[len(name)-1] != '_' {
			name = append(name, '_')
		}
	}
	if n := len(name); n > 0 && name[n-1] == '_' {
		name = name[:n-1]
	}
	return string(name)
}

var methods = [...]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// checkRequest makes sure that a call can be sent and that what is signed is what arrives.
func (o *operation) checkRequest() {
	if !slices.Contains(methods[:], o.method) {
		o.fail(faultf(codeInvalidMethod, "Enable operations of GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS only.",
			"%q is not a method of a tool", quote(o.method)))
	}
	var f *fault
	switch {
	case o.path == "" || o.path[0] != '/':
		f = faultf(codeInvalidPath, "Begin the path with a slash.", "the path does not begin with /")
	case capability.DotSegment(o.path):
		f = faultf(codeInvalidPath, "Remove the segments . and .. from the path.", "the path has a dot segment")
	case hasAny(o.path, "?#\\"), hasControl(o.path):
		f = faultf(codeInvalidPath, "Declare query parameters as parameters; fragments and control characters cannot be sent.",
			"the path has a character that ends or breaks it")
	}
	if f != nil {
		o.fail(f.under(stepsOf([]string{"paths", o.path})))
	}
}
