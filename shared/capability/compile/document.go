package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bailing/shared/canonical"
)

// fault is why a document or an operation cannot be compiled: a diagnostic whose place is put together on the way back
// from it, so that documents without faults pay nothing for places.
type fault struct {
	code       string
	message    string
	suggestion string
	at         string // JSON pointer to the offending value, from as far out as the fault has come
	rooted     bool   // at begins at the top of the document
}

func (f *fault) Error() string { return f.code + ": " + f.message }

// in is f seen from one or more steps further out. A fault that knows its place in the document keeps it.
func (f *fault) in(steps ...string) *fault {
	if f != nil && !f.rooted {
		f.at = stepsOf(steps) + f.at
	}
	return f
}

// under gives f its place: it was found in the value at a pointer from the top.
func (f *fault) under(pointer string) *fault {
	if f != nil && !f.rooted {
		f.at, f.rooted = clip(pointer)+f.at, true
	}
	return f
}

// clip keeps the cost of a place small where names are long: what is past the limit of a diagnostic's pointer is cut off there
// anyway, see shortPointer.
func clip(s string) string { return s[:min(len(s), maxPointer+1)] }

// stepsOf writes member names as the end of a JSON pointer.
func stepsOf(names []string) string {
	var b strings.Builder
	for _, s := range names {
		b.WriteString("/" + escapeStep(clip(s)))
	}
	return b.String()
}

func faultf(code, suggestion, format string, args ...any) *fault {
	return &fault{code: code, message: fmt.Sprintf(format, args...), suggestion: suggestion}
}

// ToJSON reads a specification as JSON or, failing that, as YAML, and returns it as compact JSON with the order of its
// members: the form in which specifications are stored (core §4.1). It refuses duplicate keys, several YAML documents, and
// what exceeds the limits of this package. The error's text is fit for the author of the document.
func ToJSON(src []byte) ([]byte, error) {
	doc, f := load(src)
	if f != nil {
		return nil, f
	}
	return doc.AppendCompact(nil), nil
}

// load parses a document whose top is an object.
func load(src []byte) (canonical.Value, *fault) {
	if len(src) > MaxDocumentBytes {
		return canonical.Value{}, limitFault(fmt.Sprintf("the document has more than %d bytes", MaxDocumentBytes))
	}
	src = bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))
	doc, err := parseJSON(src)
	if err != nil {
		switch {
		case errors.Is(err, canonical.ErrTooDeep), errors.Is(err, canonical.ErrTooLarge):
			return doc, limitFault(err.Error())
		case errors.Is(err, canonical.ErrDuplicateKey):
			return doc, faultf(codeInvalidSpec, "Keep one of the members with the same name.", "JSON: %v", err)
		}
		if json.Valid(src) { // YAML would read what is refused here as something else
			return doc, faultf(codeInvalidSpec, "Correct the document at this place.", "JSON: %v", err)
		}
		beyond := checkYAML(src)
		f := beyond
		if f == nil {
			doc, f = parseYAML(src)
		}
		if f != nil && looksLikeJSON(src) && (f == beyond || f.code == codeInvalidSpec) {
			// Even beyond the limits for YAML it is JSON with a mistake.
			f = faultf(codeInvalidSpec, "Validate the document with a JSON linter.", "neither JSON nor YAML; JSON: %v", err)
		}
		if f != nil {
			return doc, f
		}
	}
	if doc.Kind() != canonical.Object {
		return doc, faultf(codeInvalidSpec, "An OpenAPI document is an object with openapi, info and paths.",
			"the document's top is not an object but %s", doc.Kind())
	}
	return doc, nil
}

func parseJSON(src []byte) (canonical.Value, error) {
	return canonical.Parse(src, canonical.Limits{
		MaxBytes: MaxDocumentBytes, MaxDepth: MaxDocumentDepth, MaxNodes: MaxDocumentNodes,
	})
}

func looksLikeJSON(src []byte) bool {
	src = bytes.TrimLeft(src, " \t\r\n")
	return len(src) > 0 && (src[0] == '{' || src[0] == '[')
}

func limitFault(what string) *fault {
	return faultf(codeDocumentLimits, "Split the specification, or leave out what no tool needs.", "%s", what)
}
