package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"bailing/shared/account"
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/redact"
	"bailing/shared/textlimit"
	"bailing/shared/toolcall"
)

// Reconciliations lists and closes calls of unknown outcome; see [toolcall.Reconciler].
type Reconciliations interface {
	List(ctx context.Context, limit int, after job.Cursor) (toolcall.Reconciliations, error)
	Read(ctx context.Context, jobID, key string) (*toolcall.Reconciliation, error)
	Close(ctx context.Context, jobID, key string, c toolcall.Closing) (*toolcall.Reconciliation, error)
}

// reconciliation is a call of unknown outcome as administrators see it (ours). Its arguments are in the job's audit, as far as
// tool and provider let them be kept.
type reconciliation struct {
	JobID          string              `json:"job_id"`
	JobStatus      job.Status          `json:"job_status"`
	Tool           string              `json:"tool"`
	Scope          string              `json:"scope"`
	Provider       *string             `json:"provider"` // null for a call of an early release
	State          toolcall.EntryState `json:"state"`
	UnderWay       bool                `json:"under_way"` // the job still works on it: it cannot be closed yet
	IdempotencyKey string              `json:"idempotency_key"`
	ArgsHash       string              `json:"args_hash"`
	Since          string              `json:"since"`
	Reason         string              `json:"reason"`
	Evidence       *toolcall.Evidence  `json:"evidence"`                // null when the worker was lost
	Closing        *closing            `json:"closing"`                 // null until a person closed it
	ApprovalsDue   []int64             `json:"approvals_due,omitempty"` // tickets of the job whose approved calls a rerun makes
}

type closing struct {
	Outcome toolcall.Finding `json:"outcome"`
	Status  *int             `json:"status"`
	Reason  string           `json:"reason"`
	By      string           `json:"by"`
	At      string           `json:"at"`
}

func reconciliationOf(r toolcall.Reconciliation, now time.Time) reconciliation {
	e := r.Entry
	open := e.Open()
	v := reconciliation{
		JobID: e.JobID, JobStatus: r.JobStatus, Tool: e.Tool, Scope: e.Scope, Provider: orNull(e.Provider), State: e.State,
		UnderWay: r.UnderWay, IdempotencyKey: e.IdempotencyKey, ArgsHash: e.ArgsHash, Since: job.Timestamp(e.CreatedAt),
		Reason: open.Why(), Evidence: e.Evidence,
	}
	if e.Closing != nil {
		c := closingOf(*e.Closing)
		v.Closing = &c
	}
	for _, d := range r.Due {
		if now.Before(d.ExpiresAt) {
			v.ApprovalsDue = append(v.ApprovalsDue, d.ID)
		}
	}
	return v
}

func closingOf(c toolcall.Closing) closing {
	v := closing{Outcome: c.Finding, Reason: redact.Text(c.Reason), By: c.By, At: job.Timestamp(c.At)}
	if c.Status != 0 {
		v.Status = &c.Status
	}
	return v
}

// ListReconciliations serves GET /admin/api/reconciliations: calls with which a job ended and whose outcome nobody knows, the
// one that was reserved last first. The cursor of the Link header stays where it is, whatever is closed meanwhile.
func (h *Handler) ListReconciliations(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, _, err := parsePage(q, toolcall.ReconciliationsMax, 0)
	var after job.Cursor
	if text := q.Get("cursor"); err == nil && text != "" {
		if after, err = job.ParseCursor(text); err != nil {
			err = apierr.New(apierr.Invalid, "cursor must be one that the Link header gave")
		}
	}
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	page, err := h.d.Reconciliations.List(r.Context(), limit, after)
	list := make([]reconciliation, 0, len(page.Items))
	now := h.d.Clock.Now()
	for _, found := range page.Items {
		list = append(list, reconciliationOf(found, now))
	}
	if page.Next != "" {
		q.Set("cursor", string(page.Next))
		w.Header().Set("Link", `<?`+q.Encode()+`>; rel="next"`)
	}
	answer(w, r, list, err)
}

// GetReconciliation serves GET /admin/api/reconciliations/{job}/{key}.
func (h *Handler) GetReconciliation(w http.ResponseWriter, r *http.Request) {
	id, key, err := callOf(r)
	var found *toolcall.Reconciliation
	if err == nil {
		found, err = h.d.Reconciliations.Read(r.Context(), id, key)
	}
	h.writeReconciliation(w, r, found, err)
}

// CloseReconciliation serves POST /admin/api/reconciliations/{job}/{key}/close.
func (h *Handler) CloseReconciliation(w http.ResponseWriter, r *http.Request) {
	id, key, err := callOf(r)
	var body canonical.Value
	if err == nil {
		body, err = lambdahttp.ReadJSON(r, h.d.BodyMax)
	}
	var c toolcall.Closing
	if err == nil {
		c, err = parseClosing(body, who(r))
	}
	var found *toolcall.Reconciliation
	if err == nil {
		found, err = h.d.Reconciliations.Close(r.Context(), id, key, c)
	}
	h.writeReconciliation(w, r, found, err)
}

// callOf is the call that the path names.
func callOf(r *http.Request) (id, key string, err error) {
	if id, err = jobID(r); err == nil && !textlimit.Hex64(r.PathValue("key")) {
		err = apierr.New(apierr.NotFound, "not found")
	}
	return id, r.PathValue("key"), err
}

func (h *Handler) writeReconciliation(w http.ResponseWriter, r *http.Request, found *toolcall.Reconciliation, err error) {
	if err != nil {
		lambdahttp.WriteError(w, r, reconcileError(err))
		return
	}
	apierr.WriteJSON(w, http.StatusOK, reconciliationOf(*found, h.d.Clock.Now()))
}

func reconcileError(err error) error {
	var otherwise *toolcall.ClosedOtherwise
	switch {
	case errors.Is(err, toolcall.ErrNoReconciliation):
		return apierr.New(apierr.NotFound, "not found")
	case errors.As(err, &otherwise):
		return apierr.Newf(apierr.Conflict, "this call was closed before, as %s; a closing is final", otherwise.First.Finding).
			With("closing", closingOf(otherwise.First))
	case errors.Is(err, toolcall.ErrUnderWay):
		return apierr.New(apierr.Conflict, "the job still works on this call; it can be closed once the job has ended")
	case errors.Is(err, toolcall.ErrCloseMoved):
		return apierr.New(apierr.Conflict, "the job is moving; try again")
	}
	return err
}

// parseClosing reads {outcome, status?, reason, by?}; i is who closes.
func parseClosing(body canonical.Value, i account.Identity) (c toolcall.Closing, err error) {
	refuse := func(message string) (toolcall.Closing, error) {
		return toolcall.Closing{}, apierr.New(apierr.Invalid, message)
	}
	if body.Kind() != canonical.Object {
		return refuse("the body must be a JSON object")
	}
	var by *canonical.Value
	for name, v := range body.Members() {
		switch name {
		case "outcome":
			if v.Kind() == canonical.String {
				c.Finding = toolcall.Finding(v.Text())
			}
		case "status":
			n, whole := int64(0), false
			if v.Kind() == canonical.Number && v.IsInteger() {
				n, whole = v.Int64()
			}
			if !whole || n < toolcall.ClosingStatusMin || n > toolcall.ClosingStatusMax {
				return refuse("status must be an HTTP status from 100 to 599; leave it out when it is not known")
			}
			c.Status = int(n)
		case "reason":
			if v.Kind() == canonical.String {
				c.Reason = textlimit.Trim(v.Text())
			}
		case "by":
			by = &v
		default:
			return refuse("the body may hold outcome, status, reason and by")
		}
	}
	switch {
	case c.Finding != toolcall.Happened && c.Finding != toolcall.NotHappened:
		return refuse("outcome must be happened or not_happened")
	case c.Status != 0 && c.Finding != toolcall.Happened:
		return refuse("status goes with the outcome happened only")
	case c.Reason == "" || !textlimit.Fits(c.Reason, toolcall.ClosingReasonMax):
		return refuse("reason is required: how you know it, in 1 to 1000 characters")
	}
	c.By, err = signer(i, by)
	return c, err
}
