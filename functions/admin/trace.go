package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/textlimit"
)

// ticketsMax is how many tickets a trace shows.
const ticketsMax = 100

// trace is everything that is known about one job (core §10.3; the members are those of the reference).
type trace struct {
	Job       runView      `json:"job"`
	Trace     timeline     `json:"trace"`
	Approvals []ticketView `json:"approvals"` // the oldest ticketsMax
	Lookup    lookup       `json:"lookup"`
}

type timeline struct {
	Summary traceSummary      `json:"summary"`
	Events  []json.RawMessage `json:"events"` // oldest first
}

type ticketView struct {
	ID       int64          `json:"id"`
	JobID    string         `json:"job_id"`
	Provider string         `json:"provider"`
	Tool     string         `json:"tool"`
	ArgsHash string         `json:"args_hash"`
	Status   approval.State `json:"status"`
	rulingView
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
}

// lookup is what the job can be found by.
type lookup struct {
	JobID       string          `json:"job_id"`
	RequestID   string          `json:"request_id"`
	ClientAppID *string         `json:"client_app_id"`
	ThreadID    int64           `json:"thread_id"`
	RouteKey    string          `json:"route_key"`
	Principal   json.RawMessage `json:"principal"` // null when nobody was named
}

// RunTrace serves GET /admin/api/runs/{job}/trace, with ?format=jsonl as JSON lines.
func (h *Handler) RunTrace(w http.ResponseWriter, r *http.Request) {
	id, err := jobID(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	h.writeTrace(w, r, id)
}

// FindTrace serves GET /admin/api/runs/trace: the trace of the job that a job id or a request id names, or with list=1 the
// list of such jobs.
func (h *Handler) FindTrace(w http.ResponseWriter, r *http.Request) {
	id, err := h.find(r)
	switch {
	case err != nil:
		lambdahttp.WriteError(w, r, err)
	case r.URL.Query().Get("list") == "1":
		b, err := h.d.Runs.ReadBrief(r.Context(), id)
		items := []runItem{}
		if b != nil {
			items = append(items, itemOf(*b))
		}
		answer(w, r, items, err)
	default:
		h.writeTrace(w, r, id)
	}
}

// findable are the keys by which jobs can be found; later ones need an index of their own.
var (
	findable = []string{"job_id", "request_id"}
	later    = []string{"client_id", "principal_id", "thread_id"}
)

// find is the id of the job that the query names; "" when no job has its request id.
func (h *Handler) find(r *http.Request) (string, error) {
	q := r.URL.Query()
	for _, key := range later {
		if q.Has(key) {
			return "", apierr.Newf(apierr.Invalid, "jobs cannot be found by %s yet, only by %s", key,
				strings.Join(findable, " or "))
		}
	}
	if q.Has(findable[0]) == q.Has(findable[1]) {
		return "", apierr.Newf(apierr.Invalid, "exactly one of %s is required; %s cannot be searched yet",
			strings.Join(findable, " and "), strings.Join(later, ", "))
	}
	if q.Has("job_id") {
		id, ok := textlimit.NormalizeUUID(q.Get("job_id"))
		if !ok {
			return "", apierr.New(apierr.Invalid, "job_id must be a UUID")
		}
		return id, nil
	}
	requestID := q.Get("request_id")
	if requestID == "" || len(requestID) > maxRequestID {
		return "", apierr.New(apierr.Invalid, "request_id must be the id of a request")
	}
	return h.d.Runs.RequestJob(r.Context(), requestID)
}

func (h *Handler) writeTrace(w http.ResponseWriter, r *http.Request, id string) {
	lines := false
	switch r.URL.Query().Get("format") {
	case "", "json":
	case "jsonl":
		lines = true
	default:
		lambdahttp.WriteError(w, r, apierr.New(apierr.Invalid, "format must be json or jsonl"))
		return
	}
	t, err := h.traceOf(r.Context(), id)
	if err != nil {
		lambdahttp.WriteError(w, r, notFound(err))
		return
	}
	if lines {
		writeLines(w, r, t)
		return
	}
	apierr.WriteJSON(w, http.StatusOK, t)
}

func (h *Handler) traceOf(ctx context.Context, id string) (*trace, error) {
	if id == "" {
		return nil, job.ErrNotFound
	}
	j, err := h.d.Runs.ReadJob(ctx, id)
	if err != nil {
		return nil, err
	}
	records, err := h.d.Audit.JobAudit(ctx, id)
	if err != nil {
		return nil, err
	}
	tickets, err := h.d.Runs.JobTickets(ctx, id, ticketsMax)
	if err != nil {
		return nil, err
	}
	t := &trace{Approvals: make([]ticketView, 0, len(tickets))}
	if t.Job, err = runViewOf(j, traceRunMax); err != nil {
		return nil, err
	}
	if t.Trace.Summary, err = summarize(j, records, len(tickets)); err != nil {
		return nil, err
	}
	if t.Trace.Events, err = display(records, traceMax); err != nil {
		return nil, err
	}
	seen := showing{now: h.d.Clock.Now()}
	for _, a := range tickets {
		t.Approvals = append(t.Approvals, ticketView{
			ID: a.ID, JobID: a.JobID, Provider: a.Provider, Tool: a.Tool, ArgsHash: a.ArgsHash, Status: a.StateAt(seen.now),
			rulingView: seen.ruling(a), CreatedAt: job.Timestamp(a.CreatedAt), ExpiresAt: job.Timestamp(a.ExpiresAt),
		})
	}
	t.Lookup = lookup{
		JobID: j.ID, RequestID: j.RequestID, ClientAppID: orNull(j.Owner), ThreadID: j.ThreadID, RouteKey: j.Snapshot.RouteKey,
	}
	t.Lookup.Principal, err = principalOf(j)
	return t, err
}

// principalOf is the principal that the job's metadata names, after the display rules.
func principalOf(j *job.Job) (json.RawMessage, error) {
	var m struct {
		Principal json.RawMessage `json:"principal"`
	}
	if len(j.Metadata) > 0 {
		if err := json.Unmarshal(j.Metadata, &m); err != nil {
			return nil, fmt.Errorf("admin: metadata of a job: %w", err)
		}
	}
	room := principalMax
	return shown(m.Principal, &room)
}

// principalMax bounds what is shown of a principal, in bytes.
const principalMax = 64 << 10
