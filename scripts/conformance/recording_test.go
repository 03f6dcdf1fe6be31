package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recording is one line of the transcripts: an exchange, a request as the business received it, or a remark.
type recording struct {
	ID       string `json:"id"`
	Request  *recordedRequest
	Response *recordedAnswer
	// Responses are the answers to one request sent several times at once.
	Responses []recordedAnswer
	Received  *struct {
		At           time.Time
		Method, Path string
		Headers      map[string]string
		BodyRaw      string `json:"body_raw"`
		Body         json.RawMessage
	}
	Signed *bool `json:"tool_signature_matches_received_path"`
}

type recordedRequest struct {
	Method, Path string
	Headers      map[string]string
	Body         json.RawMessage
}

type recordedAnswer struct {
	Status  int
	Headers map[string]any
	Body    json.RawMessage
}

// recordings reads the transcripts of the reference hub; their first line describes them.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "conformance", "transcripts.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the folder shared is not beside the repository: no recordings to replay")
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		var r recording
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if i > 0 {
			all = append(all, r)
		}
	}
	return all
}

// later is what this version does not do: prefixes of recordings, and why they are not replayed. A feature that arrives takes its line
// away. The longest prefix wins; "" brings recordings back that a shorter one leaves out.
var later = map[string]string{
	"exec-":           "executors (D35)",
	"setup-exec":      "executors (D35)",
	"admin-exec":      "executors (D35)",
	"paused-claim":    "executors (D35)",
	"job-dispatch":    "executors (D35)",
	"job-done-exec":   "executors (D35)",
	"chat-":           "chat entries",
	"form-":           "chat entries",
	"setup-entry":     "chat entries",
	"admin-entries":   "chat entries",
	"paused-chat":     "chat entries",
	"branding":        "instance branding",
	"metrics-":        "metrics are CloudWatch's (D27)",
	"root":            "the console",
	"crash-":          "killed processes are tested where the processes are: scripts/local",
	"graceful-":       "killed processes are tested where the processes are: scripts/local",
	"admin-runs":      "what ran in the recorder's hub; the recorded shape is compared in functions/admin",
	"admin-run-trace": "chat entries",
	"admin-status":    "executors (D35)",
	"admin-dispatch":  "executors (D35); the recorded shape is compared in functions/admin",
	"admin-cost":      "what ran in the recorder's hub; the recorded shape is compared in functions/admin",
}

func replayed(id string) bool {
	longest, reason := -1, ""
	for prefix, why := range later {
		if strings.HasPrefix(id, prefix) && len(prefix) > longest {
			longest, reason = len(prefix), why
		}
	}
	return reason == ""
}

// written are the members of bodies that the recordings only describe.
var written = map[string]struct {
	name  string
	value func() any
}{
	"run-request-id-129": {"request_id", repeated("r", 129)},
	"run-input-100k":     {"input", repeated("a", 100_000)},
	"run-input-100001":   {"input", repeated("a", 100_001)},
	"run-oversize":       {"metadata", padded(1 << 20)},
	"run-metadata-900k":  {"metadata", padded(900 << 10)},
	"run-cb-2049":        {"callback_url", urlOf(2077)},
	"run-cb-600":         {"callback_url", urlOf(600)},
	"run-cb-512":         {"callback_url", urlOf(512)},
}

func repeated(s string, n int) func() any {
	return func() any { return strings.Repeat(s, n) }
}

func padded(n int) func() any {
	return func() any { return object{"pad": strings.Repeat("p", n)} }
}

func urlOf(length int) func() any {
	const base = "https://business.example.com/"
	return func() any { return base + strings.Repeat("c", length-len(base)) }
}
