package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/lambdahttp"
)

// errFrozen says that what is stored is not what was frozen: nobody may be shown something else than what would be done (I3).
var errFrozen = errors.New("approvals: the stored arguments are not the frozen ones")

// Arguments serves GET /approvals/{id}/arguments: the complete frozen arguments, byte for byte, whatever became of the ticket (D31).
func (h *Handler) Arguments(w http.ResponseWriter, r *http.Request) {
	t, p, err := h.authorize(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	args, err := h.frozen(r.Context(), t.ID)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	lambdahttp.Logger(r.Context()).InfoContext(r.Context(), "approval arguments read", "approval_id", t.ID, "job_id", t.JobID, "auth", p.auth)
	apierr.WriteJSON(w, http.StatusOK, struct {
		ApprovalID int64           `json:"approval_id"`
		JobID      string          `json:"job_id"`
		RequestID  string          `json:"request_id"`
		Tool       string          `json:"tool"`
		ArgsHash   string          `json:"args_hash"`
		ArgsBytes  int             `json:"args_bytes"`
		Args       json.RawMessage `json:"args"`
	}{t.ID, t.JobID, t.RequestID, t.Tool, t.ArgsHash, len(args), args})
}

// frozen reads the arguments that a ticket froze, and opens those that are sealed. They are what their hash says, or an error.
func (h *Handler) frozen(ctx context.Context, id int64) (json.RawMessage, error) {
	t, err := h.tickets.ReadTicket(ctx, id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, notFound
	}
	frozen := t.Intent
	if t.Sealed != "" {
		if frozen, err = h.secrets.Open(ctx, t.Sealed, approval.SealedPlace(id)); err != nil {
			return nil, err
		}
	}
	var intent struct {
		Args json.RawMessage `json:"args"`
	}
	if json.Unmarshal(frozen, &intent) != nil {
		return nil, errFrozen
	}
	v, err := canonical.Parse(intent.Args, canonical.Limits{MaxBytes: len(intent.Args)})
	if err != nil || v.Hash() != t.ArgsHash {
		return nil, errFrozen
	}
	return intent.Args, nil
}
