package capability

import (
	"bytes"
	"strings"

	"bailing/shared/textlimit"
)

// MaxProbePath is the length of an authorization probe's path, in UTF-16 units (core §3.7).
const MaxProbePath = 512

// AuthzProbe is the endpoint that a business dedicates to the authorization probe (core §3.7): asked on behalf of nobody, it
// must deny.
type AuthzProbe struct {
	Path        string `json:"path"`   // below the provider's base URL, sent as it stands
	Method      string `json:"method"` // upper case
	OperationID string `json:"operationId,omitempty"`
}

// ProbePath reports whether a path can be probed: it begins with a slash, has no placeholder, query or dot segment, fits
// [MaxProbePath], and every HTTP stack sends it byte for byte as it is signed.
func ProbePath(path string) bool {
	return strings.HasPrefix(path, "/") && textlimit.Fits(path, MaxProbePath) && !DotSegment(path) &&
		bytes.Equal(appendTemplate(nil, path), []byte(path))
}

// ProbeTool is the tool that stands in where no endpoint is dedicated (core §3.7): of the GET tools that need no arguments,
// the first that requires a subject, else the first; nil when there is none.
func (c *Catalog) ProbeTool() *Tool {
	var fallback *Tool
	for i := range c.Tools {
		t := &c.Tools[i]
		if t.Method != "GET" || !t.callableBare() {
			continue
		}
		if t.RequiresSubject {
			return t
		}
		if fallback == nil {
			fallback = t
		}
	}
	return fallback
}

// callableBare reports whether a call without arguments can be sent.
func (t *Tool) callableBare() bool {
	p, err := t.compiled()
	return err == nil && p.reserved == "" && len(p.root.required) == 0 && len(Placeholders(t.Path)) == 0
}
