package approvals

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/envelope"
	"bailing/shared/lambdahttp"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

// Tickets reads tickets; nil for one that does not exist.
type Tickets interface {
	ReadTicketRow(ctx context.Context, id int64) (*approval.Ticket, error)
	ReadTicket(ctx context.Context, id int64) (*approval.Ticket, error)
}

// Opener opens sealed values.
type Opener interface {
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

// Handler serves the routes of the function "approvals".
type Handler struct {
	tickets Tickets
	clerk   *approval.Clerk
	secrets Opener
	checker checker
	metrics *platform.Metrics
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	s := p.Store()
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	h := &Handler{
		tickets: s, clerk: p.Clerk(s), secrets: sealer, metrics: p.Metrics,
		checker: newChecker(s, s.Clients(), sealer, p.Config.ServerToken, p.Clock),
	}
	f, _ := topology.System().FunctionNamed("approvals")
	mux, err := lambdahttp.Mux(f, map[string]http.HandlerFunc{"Decide": h.Decide, "Arguments": h.Arguments})
	if err != nil {
		return nil, err
	}
	return lambdahttp.Handler(mux, p.HTTP()), nil
}

// Decide serves POST /approvals/{id}/decision (core §6.5).
func (h *Handler) Decide(w http.ResponseWriter, r *http.Request) {
	t, p, err := h.authorize(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	body, err := p.json(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	decision, err := approval.ParseDecision(t, body)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	decided, err := h.clerk.Decide(r.Context(), t, decision.Ruling(p.auth))
	if err != nil {
		h.metrics.Count("approval_decisions", 1, "outcome", "refused")
		lambdahttp.WriteError(w, r, refusal(err))
		return
	}
	outcome := string(decided.State)
	if decided.Idempotent {
		outcome = "repeated"
	}
	h.metrics.Count("approval_decisions", 1, "outcome", outcome)
	lambdahttp.Logger(r.Context()).InfoContext(r.Context(), "approval decided", "approval_id", t.ID, "job_id", t.JobID, "auth", p.auth, "outcome", outcome,
		"rerun", decided.Rerun)
	apierr.WriteJSON(w, http.StatusOK, struct {
		OK         bool           `json:"ok"`
		ID         int64          `json:"id"`
		Status     approval.State `json:"status"`
		DecisionID string         `json:"decision_id"`
		Idempotent bool           `json:"idempotent"`
		Rerun      bool           `json:"rerun"`
	}{true, decided.ID, decided.State, decided.DecisionID, decided.Idempotent, decided.Rerun})
}

// refusal is the answer to a decision that was not recorded.
func refusal(err error) error {
	var conflict *approval.Conflict
	switch {
	case errors.As(err, &conflict) && conflict.TicketID != 0:
		return apierr.New(apierr.Conflict, "the decision_id belongs to another approval").
			With("decision_id", conflict.DecisionID).With("approval_id", conflict.TicketID)
	case errors.As(err, &conflict):
		e := apierr.Newf(apierr.Conflict, "the approval is %s already", conflict.State).With("status", conflict.State).With("decision_id", nil)
		if conflict.DecisionID != "" { // none when nobody decided, or somebody did in the console
			e = e.With("decision_id", conflict.DecisionID)
		}
		return e
	case errors.Is(err, approval.ErrMoved):
		return apierr.New(apierr.Conflict, "the approval changed meanwhile; send the decision again")
	case errors.Is(err, approval.ErrNotFound):
		return notFound
	}
	return err
}

// authorize reads the ticket of the path and what proves that the caller may decide about it.
func (h *Handler) authorize(r *http.Request) (*approval.Ticket, *proof, error) {
	p := readProof(r)
	t, err := h.tickets.ReadTicketRow(r.Context(), ticketID(r.PathValue("id")))
	if err != nil {
		return nil, nil, err
	}
	return t, p, h.checker.check(r.Context(), p, t)
}

// ticketID is the number of a path; 0, which no ticket has, for anything else.
func ticketID(s string) int64 {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 || id > approval.MaxID || strconv.FormatInt(id, 10) != s {
		return 0
	}
	return id
}
