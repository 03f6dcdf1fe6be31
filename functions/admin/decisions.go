package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"bailing/shared/account"
	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/textlimit"
)

// Decisions records what administrators decide; see [approval.Clerk].
type Decisions interface {
	Decide(ctx context.Context, t *approval.Ticket, r approval.Ruling) (approval.Decided, error)
}

// Bounds of what a person writes beside a decision, in UTF-16 units (core §6.5).
const (
	commentMax = 1000
	byMax      = 64
)

// ApproveCall serves POST /admin/api/tool-approvals/{id}/approve.
func (h *Handler) ApproveCall(w http.ResponseWriter, r *http.Request) { h.decide(w, r, true) }

// DenyCall serves POST /admin/api/tool-approvals/{id}/deny.
func (h *Handler) DenyCall(w http.ResponseWriter, r *http.Request) { h.decide(w, r, false) }

// decided is the answer to a decision (core §6.6).
type decided struct {
	OK     bool           `json:"ok"`
	ID     int64          `json:"id"`
	Status approval.State `json:"status"`
	Rerun  bool           `json:"rerun"`
}

// decide records a decision. It has no decision id, so that the same one again is refused as a later one is: the answer says what
// was decided, and by whom.
func (h *Handler) decide(w http.ResponseWriter, r *http.Request, approved bool) {
	t, err := h.ticketOf(r, h.d.Approvals.ReadTicketRow)
	var body canonical.Value
	if err == nil {
		body, err = lambdahttp.ReadJSON(r, h.d.BodyMax)
	}
	var ruling approval.Ruling
	if err == nil {
		ruling, err = parseRuling(body, who(r))
	}
	var done approval.Decided
	if err == nil {
		ruling.Approved = approved
		wasOpen := t.Open(h.d.Clock.Now())
		done, err = h.d.Decisions.Decide(r.Context(), t, ruling)
		err = h.decisionError(r, t, wasOpen, err)
	}
	answer(w, r, decided{OK: true, ID: done.ID, Status: done.State, Rerun: done.Rerun}, err)
}

// decisionError maps why t was not decided: 400 when it could not be, 409 when it could until somebody else came first.
func (h *Handler) decisionError(r *http.Request, t *approval.Ticket, wasOpen bool, err error) error {
	var conflict *approval.Conflict
	switch {
	case errors.Is(err, approval.ErrNotFound):
		return apierr.New(apierr.NotFound, "not found")
	case errors.Is(err, approval.ErrMoved):
		return apierr.New(apierr.Conflict, "the job is moving; try again")
	case !errors.As(err, &conflict):
		return err
	}
	code, reason := apierr.Invalid, "the ticket is "+string(conflict.State)+" already; a decision is final"
	if wasOpen {
		code, reason = apierr.Conflict, "another decision came first: the ticket is "+string(conflict.State)
	}
	if conflict.State == approval.Expired {
		reason = "the ticket has expired; nobody can decide it any more"
	}
	refused := apierr.New(code, reason).With("status", conflict.State).With("expires_at", job.Timestamp(t.ExpiresAt))
	if now, err := h.d.Approvals.ReadTicketRow(r.Context(), t.ID); err == nil && now != nil && now.Ruling != nil {
		by := h.showing(r).ruling(*now)
		refused = refused.With("decided_by", by.DecidedBy).With("decided_at", by.DecidedAt)
	}
	return refused
}

// parseRuling reads {comment?, by?}.
func parseRuling(body canonical.Value, i account.Identity) (approval.Ruling, error) {
	refuse := func(message string) (approval.Ruling, error) {
		return approval.Ruling{}, apierr.New(apierr.Invalid, message)
	}
	if body.Kind() != canonical.Object {
		return refuse("the body must be a JSON object")
	}
	ruling := approval.Ruling{Auth: "admin-token"}
	if i.Via != account.ViaToken {
		ruling.Auth = "console:" + i.Username
	}
	var by *canonical.Value
	for name, v := range body.Members() {
		switch name {
		case "comment":
			ruling.Comment = textlimit.Trim(v.Text())
			if v.Kind() != canonical.String || textlimit.Strict(ruling.Comment, commentMax) != nil {
				return refuse("comment must be text of at most 1000 characters")
			}
		case "by":
			by = &v
		default:
			return refuse("the body may hold comment and by")
		}
	}
	var err error
	ruling.By, err = signer(i, by)
	return ruling, err
}

// signer is the name under which i decides something for good: that of a session is its own. The server token is nobody, and whoever
// uses it may say who they are in `by`, which nobody checks; nil when there is none.
func signer(i account.Identity, by *canonical.Value) (string, error) {
	switch {
	case by == nil:
		return i.By(), nil
	case i.Via != account.ViaToken:
		return "", apierr.New(apierr.Invalid, "by goes with the server token only; a session decides under its own name")
	}
	name := textlimit.Trim(by.Text())
	if by.Kind() != canonical.String || textlimit.StrictRequired(name, byMax) != nil || strings.ContainsAny(name, "\t\n\r") {
		return "", apierr.New(apierr.Invalid, "by must be a name of 1 to 64 characters in one line")
	}
	return i.By() + ":" + name, nil
}
