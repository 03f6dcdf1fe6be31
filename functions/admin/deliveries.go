package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/redact"
	"bailing/shared/textlimit"
)

// Deliveries operates on callbacks, deliveries and their dead letters; see [delivery.Service].
type Deliveries interface {
	Letters(ctx context.Context, resolved bool, limit int) ([]*delivery.Row, error)
	Log(ctx context.Context, jobID string) ([]*delivery.Row, error)
	Resend(ctx context.Context, k job.OutboxKey, by string) error
	Resolve(ctx context.Context, k job.OutboxKey, by string) error
	Replay(ctx context.Context, keys []job.OutboxKey, by string) (delivery.Replayed, error)
	ReplaySince(ctx context.Context, since time.Time, by string) (delivery.Replayed, error)
}

// letter is a dead letter as lists show it (core §2.6). Its preview passes through the display rules of core §11.7.
type letter struct {
	ID             string  `json:"id"`
	ParentJobID    string  `json:"parent_job_id"`
	Channel        string  `json:"channel"`
	Recipient      string  `json:"recipient"`
	ContentPreview string  `json:"content_preview"`
	Error          string  `json:"error"`
	Resolved       int     `json:"resolved"` // 0 or 1
	CreatedAt      string  `json:"created_at"`
	ResolvedAt     *string `json:"resolved_at"`
}

// sent is one callback or delivery of a job.
type sent struct {
	ID            string         `json:"id"`
	TerminalSeq   int            `json:"terminal_seq"`
	Channel       string         `json:"channel"`
	Recipient     string         `json:"recipient"`
	State         delivery.State `json:"state"`
	Attempts      int            `json:"attempts"`
	Error         *string        `json:"error"`
	NextAttemptAt *string        `json:"next_attempt_at"`
	CreatedAt     string         `json:"created_at"`
	UpdatedAt     string         `json:"updated_at"`
	ResolvedAt    *string        `json:"resolved_at"`
}

// previewMax is how much of a message a list shows, in UTF-16 units (core §2.6).
const previewMax = 500

type items[T any] struct {
	Items []T `json:"items"`
}

func channel(t job.OutboxTarget) string {
	if t == job.ToDelivery {
		return "webhook"
	}
	return "callback"
}

// timestamp is t, or null for a time that did not come.
func timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := job.Timestamp(t)
	return &s
}

// ListDeadLetters serves GET /admin/api/delivery-dlq.
func (h *Handler) ListDeadLetters(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := 0
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			lambdahttp.WriteError(w, r, apierr.New(apierr.Invalid, "limit must be a positive integer"))
			return
		}
	}
	rows, err := h.d.Deliveries.Letters(r.Context(), q.Get("all") == "1", limit)
	out := items[letter]{Items: make([]letter, 0, len(rows))}
	for _, row := range rows {
		l := letter{
			ID: row.Key.ID(), ParentJobID: row.Key.JobID, Channel: channel(row.Key.Target), Recipient: row.URL,
			ContentPreview: textlimit.Cut(redact.Text(row.Preview), previewMax), Error: row.Reason, CreatedAt: job.Timestamp(row.DiedAt), ResolvedAt: timestamp(row.ResolvedAt),
		}
		if l.ResolvedAt != nil {
			l.Resolved = 1
		}
		out.Items = append(out.Items, l)
	}
	answer(w, r, out, err)
}

// JobDeliveries serves GET /admin/api/runs/{job}/deliveries. What each attempt learned is in the job's audit records.
func (h *Handler) JobDeliveries(w http.ResponseWriter, r *http.Request) {
	id, ok := textlimit.NormalizeUUID(r.PathValue("job"))
	if !ok {
		lambdahttp.WriteError(w, r, apierr.New(apierr.NotFound, "not found"))
		return
	}
	rows, err := h.d.Deliveries.Log(r.Context(), id)
	out := items[sent]{Items: make([]sent, 0, len(rows))}
	for _, row := range rows {
		s := sent{
			ID: row.Key.ID(), TerminalSeq: row.Key.Terminal, Channel: channel(row.Key.Target), Recipient: row.URL, State: row.State,
			Attempts: row.Attempts, CreatedAt: job.Timestamp(row.CreatedAt), UpdatedAt: job.Timestamp(row.UpdatedAt),
			ResolvedAt: timestamp(row.ResolvedAt),
		}
		if row.Reason != "" {
			s.Error = &row.Reason
		}
		if row.State == delivery.Pending {
			s.NextAttemptAt = timestamp(row.NextAt)
		}
		out.Items = append(out.Items, s)
	}
	answer(w, r, out, err)
}

// letterAnswer is the answer to a command on one dead letter (core §2.6).
type letterAnswer struct {
	OK    bool   `json:"ok"`
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`
}

// ResendDeadLetter serves POST /admin/api/delivery-dlq/{id}/resend.
func (h *Handler) ResendDeadLetter(w http.ResponseWriter, r *http.Request) {
	h.onLetter(w, r, h.d.Deliveries.Resend)
}

// ResolveDeadLetter serves POST /admin/api/delivery-dlq/{id}/resolve.
func (h *Handler) ResolveDeadLetter(w http.ResponseWriter, r *http.Request) {
	h.onLetter(w, r, h.d.Deliveries.Resolve)
}

func (h *Handler) onLetter(w http.ResponseWriter, r *http.Request, command func(context.Context, job.OutboxKey, string) error) {
	k, err := job.ParseOutboxKey(r.PathValue("id"))
	if err == nil {
		err = command(r.Context(), k, who(r).By())
	}
	var refused *delivery.Refused
	switch {
	case err == nil:
		apierr.WriteJSON(w, http.StatusOK, letterAnswer{OK: true})
	case errors.Is(err, delivery.ErrResolved):
		apierr.WriteJSON(w, http.StatusOK, letterAnswer{OK: true, Note: "this dead letter was resolved already"})
	case errors.As(err, &refused):
		apierr.WriteJSON(w, http.StatusBadGateway, letterAnswer{Error: refused.Reason})
	case errors.Is(err, delivery.ErrNotFound), errors.Is(err, job.ErrOutboxKey):
		lambdahttp.WriteError(w, r, apierr.New(apierr.NotFound, "not found"))
	case errors.Is(err, delivery.ErrPending), errors.Is(err, delivery.ErrLostClaim):
		lambdahttp.WriteError(w, r, apierr.New(apierr.Conflict, "this dead letter is being delivered"))
	default:
		lambdahttp.WriteError(w, r, err)
	}
}

// replayed is the answer to a replay.
type replayed struct {
	OK     bool `json:"ok"`
	Queued int  `json:"queued"`
	More   bool `json:"more,omitempty"` // the same call again queues further ones
}

// ReplayDeadLetters serves POST /admin/api/delivery-dlq/replay (D44): the letters of ids, or all that died since a time.
func (h *Handler) ReplayDeadLetters(w http.ResponseWriter, r *http.Request) {
	body, err := lambdahttp.ReadJSON(r, h.d.BodyMax)
	var keys []job.OutboxKey
	var since time.Time
	if err == nil {
		keys, since, err = parseReplay(body)
	}
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	var n delivery.Replayed
	if keys != nil {
		n, err = h.d.Deliveries.Replay(r.Context(), keys, who(r).By())
	} else {
		n, err = h.d.Deliveries.ReplaySince(r.Context(), since, who(r).By())
	}
	answer(w, r, replayed{OK: true, Queued: n.Queued, More: n.More}, err)
}

func parseReplay(body canonical.Value) (keys []job.OutboxKey, since time.Time, err error) {
	refuse := func(message string) ([]job.OutboxKey, time.Time, error) {
		return nil, time.Time{}, apierr.New(apierr.Invalid, message)
	}
	if body.Kind() != canonical.Object {
		return refuse("the body must be a JSON object")
	}
	for name := range body.Members() {
		if name != "ids" && name != "since" {
			return refuse("the body may hold ids or since")
		}
	}
	ids, some := body.Get("ids")
	from, all := body.Get("since")
	if some == all {
		return refuse("exactly one of ids and since is required")
	}
	if all {
		if from.Kind() != canonical.String {
			return refuse("since must be a time in ISO 8601")
		}
		if since, err = time.Parse(time.RFC3339, from.Text()); err != nil {
			return refuse("since must be a time in ISO 8601")
		}
		return nil, since, nil
	}
	if ids.Kind() != canonical.Array || ids.Len() == 0 || ids.Len() > delivery.ReplayMax {
		return refuse("ids must be an array of 1 to " + strconv.Itoa(delivery.ReplayMax) + " ids")
	}
	for _, id := range ids.Elems() {
		if id.Kind() != canonical.String {
			return refuse("ids must hold texts")
		}
		k, err := job.ParseOutboxKey(id.Text())
		if err != nil {
			return refuse("ids holds what is no id of a dead letter")
		}
		keys = append(keys, k)
	}
	return keys, time.Time{}, nil
}
