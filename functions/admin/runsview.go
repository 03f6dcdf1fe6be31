package admin

import (
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/job"
	"bailing/shared/redact"
	"bailing/shared/registry"
)

// Bounds of what an answer holds of one job, in bytes of JSON: a Lambda's answer ends at 6 MB.
const (
	runMax      = 4 << 20
	traceRunMax = 2 << 20
	traceMax    = 2 << 20 // of the details of the records beside it
)

// runView is a job as administrators see it (the members are those of the reference): what its owner sees (D5), and how it is
// executed. It never holds a prompt or a secret; who worked on it is in its audit records.
type runView struct {
	runItem
	CallbackURL string          `json:"callback_url,omitempty"`
	Input       json.RawMessage `json:"input"`
	Result      json.RawMessage `json:"result"`
	Usage       json.RawMessage `json:"usage"`
	Error       *string         `json:"error"`
	Metadata    json.RawMessage `json:"metadata"`
	Dispatch    dispatchView    `json:"dispatch"`
	Attempts    int             `json:"attempts"`
	Recoveries  int             `json:"recoveries"` // lost workers
	RunAfter    *string         `json:"run_after"`
	ClaimedAt   *string         `json:"claimed_at"`
	LeaseUntil  *string         `json:"lease_until"`
	OpenCall    *openView       `json:"open_call"` // the side effect with which every run of the job ends
}

// dispatchView is what was frozen when the job was launched.
type dispatchView struct {
	TargetConfig targetConfigView   `json:"target_config"`
	IsContinue   bool               `json:"is_continue"`
	RouteKey     string             `json:"route_key"`
	RouteName    string             `json:"route_name"`
	Retry        *registry.Retry    `json:"retry"`
	Delivery     *registry.Delivery `json:"delivery"`
}

// targetConfigView is the members of a target's configuration that say which model answers, and no others: the rest is open, and
// one of them is the prompt.
type targetConfigView struct {
	Credential string `json:"credential,omitempty"` // its name
	Model      string `json:"model,omitempty"`
	TimeoutMS  int    `json:"timeout_ms,omitempty"`
}

type openView struct {
	Tool           string `json:"tool"`
	Scope          string `json:"scope"`
	State          string `json:"state"`
	IdempotencyKey string `json:"idempotency_key"`
	Reason         string `json:"reason,omitempty"`
	Since          string `json:"since"`
}

// runViewOf shows j within room bytes: a large member past it is replaced by its size.
func runViewOf(j *job.Job, room int) (runView, error) {
	v := runView{
		runItem: itemOf(job.BriefOf(j)), CallbackURL: j.CallbackURL, Error: orNull(redact.Text(j.Error)),
		Attempts: j.Attempts, Recoveries: j.Recoveries,
		RunAfter: timestamp(j.RunAfter), ClaimedAt: timestamp(j.ClaimedAt), LeaseUntil: timestamp(j.LeaseUntil),
		Dispatch: dispatchView{
			IsContinue: j.Continue, RouteKey: j.Snapshot.RouteKey, RouteName: j.Snapshot.RouteName,
			Retry: j.Snapshot.Retry, Delivery: j.Snapshot.Delivery,
		},
	}
	// A target of another kind may hold something else under these names.
	_ = json.Unmarshal(j.Snapshot.TargetConfig, &v.Dispatch.TargetConfig)
	if c := j.Open; c != nil {
		v.OpenCall = &openView{Tool: c.Tool, Scope: c.Scope, State: c.State, IdempotencyKey: c.IdempotencyKey,
			Reason: c.Reason, Since: since(c.Since)}
	}
	input, err := json.Marshal(j.Input)
	if err != nil {
		return v, fmt.Errorf("admin: input of a job: %w", err)
	}
	for _, m := range []struct {
		to   *json.RawMessage
		from json.RawMessage
	}{{&v.Usage, j.Usage}, {&v.Result, j.Result}, {&v.Input, input}, {&v.Metadata, j.Metadata}} {
		if *m.to, err = shown(m.from, &room); err != nil {
			return v, err
		}
	}
	return v, nil
}

// since is a time that an unreadable row does not have.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return job.Timestamp(t)
}

// shown is a JSON value after the display rules of core §11.7, null when there is none. One that is larger than the room is
// replaced by its size; what is shown takes its room.
func shown(text json.RawMessage, room *int) (json.RawMessage, error) {
	if len(text) == 0 {
		return json.RawMessage("null"), nil
	}
	omitted := fmt.Appendf(nil, `{"omitted_bytes":%d}`, len(text))
	if len(text) > *room {
		return omitted, nil // to look through megabytes that are not shown would take seconds
	}
	out, err := redact.JSON(text)
	if err != nil {
		return nil, fmt.Errorf("admin: a value of a job: %w", err)
	}
	if len(out) > *room {
		return omitted, nil
	}
	*room -= len(out)
	return out, nil
}
