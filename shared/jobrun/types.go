package jobrun

import (
	"context"
	"encoding/json"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/model"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

// Round is one saved answer of the model and the outcomes of its calls that are known so far.
type Round struct {
	Number   int           `json:"number"` // from 1
	Message  model.Message `json:"message"`
	Usage    model.Usage   `json:"usage"`
	Model    string        `json:"model"`
	TookMS   int64         `json:"took_ms"`
	Withheld bool          `json:"withheld,omitempty"` // the text held internal mark-up and was not used
	Sealed   string        `json:"sealed,omitempty"`   // Message, sealed, when it calls a sensitive tool; Message is empty then

	Approved *Approved `json:"approved,omitempty"` // not the model's: the hub makes an approved call

	Calls map[int]toolcall.Record `json:"-"` // by index into Message.ToolCalls
}

// Approved says whose call a round makes that the model did not ask for: the one that a ticket froze.
type Approved struct {
	Ticket    int64     `json:"ticket"`
	Provider  string    `json:"provider"`
	Sensitive bool      `json:"sensitive,omitempty"` // when it was asked for
	ExpiresAt time.Time `json:"expires_at"`
	Since     time.Time `json:"since"` // when the round was saved
}

// Config is the configuration a run needs, as it is now; nil where a row does not exist.
type Config struct {
	Paused     bool
	Route      *registry.Route
	Credential *registry.Credential
	Providers  map[string]*registry.Provider
}

// Store is the storage of a run.
type Store interface {
	// ReadRun reads the configuration: one trip for pause, route and credential, one more for the providers of the route.
	ReadRun(ctx context.Context, routeKey, credential string) (Config, error)
	// LoadRounds returns the job's rounds in order.
	LoadRounds(ctx context.Context, jobID string) ([]Round, error)
	// ReadTicket reads an approval ticket with what it froze; nil when there is none.
	ReadTicket(ctx context.Context, id int64) (*approval.Ticket, error)
	// SaveRound stores a round without its calls; one transaction with the fence. It fails with job.ErrLostClaim.
	SaveRound(ctx context.Context, f job.Fence, r Round, ev job.Event) error
	// CompleteCall stores the outcome of a call that no business tool answered (a lookup, a refusal); one transaction with the fence.
	CompleteCall(ctx context.Context, f job.Fence, rec toolcall.Record, ev job.Event) error
	// AddEvent stores one audit record.
	AddEvent(ctx context.Context, jobID string, ev job.Event) error
}

// Model asks a chat model.
type Model interface {
	Complete(ctx context.Context, e model.Endpoint, r model.Request, timeout time.Duration) (model.Response, error)
}

// Tools assembles toolsets and makes governed calls (package toolcall).
type Tools interface {
	Assemble(ctx context.Context, r *registry.Route, providers map[string]*registry.Provider) (*toolcall.Toolset, error)
	Invoke(ctx context.Context, set *toolcall.Toolset, c toolcall.Call) (toolcall.Outcome, error)
}

// result is what a finished job shows (core §1.6).
type result struct {
	Text             string  `json:"text"`
	Model            string  `json:"model"`
	ToolCalls        int     `json:"tool_calls,omitempty"`
	ToolBudget       *budget `json:"tool_budget,omitempty"`
	ProtocolRepaired bool    `json:"output_protocol_repaired,omitempty"`
}

type budget struct {
	Used      int  `json:"used"`
	Limit     int  `json:"limit"`
	Remaining int  `json:"remaining"`
	Exhausted bool `json:"exhausted"`
}

// usage is what a job cost so far (core §1.6).
type usage struct {
	DurationMS int64 `json:"duration_ms"`
	NumTurns   int   `json:"num_turns"`
	Tokens     int   `json:"tokens,omitempty"`
}

// mustJSON is v, which always can be encoded, as JSON.
func mustJSON(v any) json.RawMessage {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}
