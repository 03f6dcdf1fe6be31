package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"bailing/shared/textlimit"
)

// maxPublicBody is how much of an endpoint's error text is shown, in UTF-16 units.
const maxPublicBody = 500

// Error is a failed model call.
type Error struct {
	// Transient failures are worth a retry of the job: HTTP 500 and above, 429, timeout, network, unparsable
	// response (core §11.2). All others are permanent.
	Transient bool
	Status    int    // HTTP status; 0 when no answer came
	Public    string // fit for the job's error field; never contains the API key
	Cause     error  // for errors.Is and errors.As
}

// Error is the public text.
func (e *Error) Error() string { return e.Public }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// TransientStatus reports whether an answer with this HTTP status may be different the next time.
func TransientStatus(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// HTTPError is the failure that an endpoint reported with status and body: "LLM 503: " and the first 500 characters
// of the body as safe text, apiKey and everything that looks like a key removed before the cut.
func HTTPError(status int, body, apiKey string) *Error {
	public := fmt.Sprintf("LLM %d", status)
	if text := textlimit.Safe(redact(body, apiKey), maxPublicBody); text != "" {
		public += ": " + text
	}
	return &Error{Transient: TransientStatus(status), Status: status, Public: public}
}

const redacted = "[redacted]"

// keyLike finds credentials other than the one we sent, in texts such as "Incorrect API key provided: sk-…".
var keyLike = regexp.MustCompile(`(?i)\bbearer\s+[^\s"',;}<]+|\b(?:sk|pk|rk)-[A-Za-z0-9_*.\-]{6,}`)

// redact removes apiKey as it is and as JSON may write it.
func redact(text, apiKey string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if apiKey != "" {
		forms := []string{apiKey, strings.ReplaceAll(apiKey, "/", `\/`)}
		if quoted, err := json.Marshal(apiKey); err == nil {
			forms = append(forms, strings.Trim(string(quoted), `"`))
		}
		for _, form := range forms {
			if form != "" {
				text = strings.ReplaceAll(text, form, redacted)
			}
		}
	}
	return keyLike.ReplaceAllString(text, redacted)
}
