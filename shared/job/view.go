package job

import (
	"context"
	"encoding/json"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// previewMax is how much of the input a list shows, in UTF-16 units (core §1.6).
const previewMax = 200

// A job is read through a gateway whose answers end at 6 MiB, in base64 at 4.5 MiB; whatever is accepted must come back out
// (core §1.6). What a view holds beside metadata and result is bounded by less than is left here.
const (
	viewMax = 4_600_000
	// metadataMax bounds metadata in bytes of its stored form, in which numbers and roles may be longer than in the request.
	metadataMax = 4_000_000
)

// ResultRoom is how many bytes of JSON the result of j may have.
func ResultRoom(j *Job) int { return viewMax - len(j.Metadata) }

// View is what an owner sees of a job: an allowlist of its members (D5). Claims, prompts and target configuration are
// never part of it. The contract's optional members are null until they exist.
type View struct {
	ID           string          `json:"id"`
	JobID        string          `json:"job_id"`
	RequestID    string          `json:"request_id"`
	Status       Status          `json:"status"`
	Route        string          `json:"route"`
	Target       string          `json:"target"`
	Source       string          `json:"source"`
	SessionID    string          `json:"session_id"`
	ThreadID     int64           `json:"thread_id"`
	InputPreview string          `json:"input_preview"`
	Result       json.RawMessage `json:"result"`
	Report       json.RawMessage `json:"report"`
	RawResult    *string         `json:"raw_result"`
	Usage        json.RawMessage `json:"usage"`
	Error        *string         `json:"error"`
	Metadata     json.RawMessage `json:"metadata"`
	CallbackURL  string          `json:"callback_url,omitempty"`
	Attempts     int             `json:"attempts"`
	CreatedAt    string          `json:"created_at"`
	UpdatedAt    string          `json:"updated_at"`
}

// ViewOf projects j.
func ViewOf(j *Job) View {
	v := View{
		ID: j.ID, JobID: j.ID, RequestID: j.RequestID, Status: j.Status, Route: j.Snapshot.RouteKey,
		Target: j.Snapshot.Target, Source: j.Source, SessionID: j.SessionID, ThreadID: j.ThreadID,
		InputPreview: textlimit.Cut(j.Input, previewMax), Result: orNull(j.Result), Report: json.RawMessage("null"),
		Usage: orNull(j.Usage), Metadata: orNull(j.Metadata), CallbackURL: j.CallbackURL, Attempts: j.Attempts,
		CreatedAt: Timestamp(j.CreatedAt), UpdatedAt: Timestamp(j.UpdatedAt),
	}
	if j.Error != "" {
		v.Error = &j.Error
	}
	return v
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}

// Timestamp is the contract's form of a time: ISO 8601, UTC, milliseconds (core §0.1).
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ReadStore is the storage of [Reader].
type ReadStore interface {
	// ReadOwned reads a token and a job in one trip; either is nil when it does not exist.
	ReadOwned(ctx context.Context, tokenHash, jobID string) (*registry.Token, *Job, error)
}

// Reader answers who may read which job (core §1.6).
type Reader struct{ Store ReadStore }

// Get returns the job if the caller owns it or is an administrator. An absent job and a foreign one are told apart by
// nobody: both are not found.
func (r *Reader) Get(ctx context.Context, caller Caller, jobID string) (View, error) {
	id, valid := textlimit.NormalizeUUID(jobID)
	if !valid {
		id = ""
	}
	token, j, err := r.Store.ReadOwned(ctx, caller.TokenHash, id)
	if err != nil {
		return View{}, err
	}
	client, err := identify(caller, token)
	if err != nil {
		return View{}, err
	}
	if j == nil || (client != nil && j.Owner != client.AppID) {
		return View{}, apierr.New(apierr.NotFound, "not found")
	}
	return ViewOf(j), nil
}
