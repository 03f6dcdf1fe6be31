package admin

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"golang.org/x/sync/errgroup"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/permission"
)

// Approvals reads tickets; see package store.
type Approvals interface {
	// ListTickets reads a page of tickets without what they froze; state "" is every state. Only the last page may be empty.
	ListTickets(ctx context.Context, state approval.State, limit int, after job.Cursor) (approval.Page, error)
	// ReadTicket and ReadTicketRow are nil for an unknown ticket; the row is without what it froze.
	ReadTicket(ctx context.Context, id int64) (*approval.Ticket, error)
	ReadTicketRow(ctx context.Context, id int64) (*approval.Ticket, error)
	// AddEvent stores one audit record of a job.
	AddEvent(ctx context.Context, jobID string, ev job.Event) error
}

// Secrets opens what was sealed; see package envelope.
type Secrets interface {
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

const (
	ticketPageMax   = 200
	ticketReaders   = 16      // tickets of a page that are read at once
	ticketArgsMax   = 8 << 10 // arguments up to here are in lists, and beside the intent as text (D31)
	ticketAnswerMax = 4 << 20 // of what was frozen in one answer: a Lambda's ends at 6 MB
)

// ticketFilter are the values of ?status= (core §6.6); "" is every state.
var ticketFilter = map[string]approval.State{
	"": approval.Pending, "pending": approval.Pending, "approved": approval.Approved, "denied": approval.Denied,
	"expired": approval.Expired, "all": "",
}

// ListApprovals serves GET /admin/api/tool-approvals, latest first. A ticket counts as expired from its deadline on: it leaves the
// lists of pending and approved ones then, and enters that of expired ones as soon as that is written down.
func (h *Handler) ListApprovals(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	state, limit, after, err := parseTickets(q)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	page, err := h.ticketPage(r.Context(), state, limit, after)
	rows := []approvalView{}
	if err == nil {
		rows, err = h.ticketRows(r, page.Tickets)
	}
	if page.Next != "" {
		q.Set("cursor", string(page.Next))
		w.Header().Set("Link", `<?`+q.Encode()+`>; rel="next"`)
	}
	answer(w, r, rows, err)
}

// cursorForm is what the Link header of a list of tickets gives: a time, and the number of a ticket.
var cursorForm = regexp.MustCompile(`^[0-9]{15}\.[1-9][0-9]{0,15}$`)

func parseTickets(q url.Values) (state approval.State, limit int, after job.Cursor, err error) {
	state, known := ticketFilter[q.Get("status")]
	if !known {
		return "", 0, "", apierr.New(apierr.Invalid, "status must be pending, approved, denied, expired or all")
	}
	if text := q.Get("cursor"); text != "" {
		if !cursorForm.MatchString(text) {
			return "", 0, "", apierr.New(apierr.Invalid, "cursor must be one that the Link header gave")
		}
		after = job.Cursor(text)
	}
	limit, _, err = parsePage(q, ticketPageMax, 0)
	return state, limit, after, err
}

// ticketPage is the next page that has a ticket in this state now.
func (h *Handler) ticketPage(ctx context.Context, state approval.State, limit int, after job.Cursor) (approval.Page, error) {
	for {
		page, err := h.d.Approvals.ListTickets(ctx, state, limit, after)
		if err != nil {
			return page, err
		}
		now, kept := h.d.Clock.Now(), []approval.Ticket{}
		for _, t := range page.Tickets {
			if state == "" || t.StateAt(now) == state {
				kept = append(kept, t)
			}
		}
		if page.Tickets = kept; len(kept) > 0 || page.Next == "" {
			return page, nil
		}
		after = page.Next
	}
}

// ticketRows shows tickets, with what they froze as far as it is short and fits into the answer.
func (h *Handler) ticketRows(r *http.Request, tickets []approval.Ticket) ([]approvalView, error) {
	full := make([]*approval.Ticket, len(tickets))
	g, ctx := errgroup.WithContext(r.Context())
	g.SetLimit(ticketReaders)
	for i := range tickets {
		if tickets[i].ArgsBytes > ticketArgsMax {
			continue
		}
		g.Go(func() (err error) {
			full[i], err = h.d.Approvals.ReadTicket(ctx, tickets[i].ID)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	shown, rows, room := h.showing(r), make([]approvalView, len(tickets)), ticketAnswerMax
	for i, t := range tickets {
		rows[i] = shown.row(t)
		size, err := bytesOf(rows[i])
		if err != nil {
			return nil, err
		}
		room -= size
	}
	for i, t := range full {
		if t == nil {
			rows[i].ArgsOmitted = omittedSize
			continue
		}
		with, err := shown.freeze(rows[i], t, room)
		if err != nil {
			return nil, err
		}
		if with.Intent != nil && with.IntentJSON == "" { // whole in the ticket itself only
			with = rows[i]
			with.ArgsOmitted = omittedSize
		}
		used, err := bytesOf(with)
		if err != nil {
			return nil, err
		}
		before, err := bytesOf(rows[i])
		if err != nil {
			return nil, err
		}
		rows[i], room = with, room-(used-before)
	}
	return rows, nil
}

// showing is how the caller of r sees tickets.
func (h *Handler) showing(r *http.Request) showing {
	return showing{exact: who(r).Perms.Has(permission.RunsWrite), now: h.d.Clock.Now()}
}

// GetApproval serves GET /admin/api/tool-approvals/{id}: one ticket with the intent that it froze, but for a sensitive tool, whose
// intent [Handler.RevealIntent] shows.
func (h *Handler) GetApproval(w http.ResponseWriter, r *http.Request) {
	t, err := h.ticketOf(r, h.d.Approvals.ReadTicket)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	shown := h.showing(r)
	view, err := shown.freeze(shown.row(*t), t, ticketAnswerMax)
	answer(w, r, view, err)
}

// revealedIntent is a frozen intent in clear text.
type revealedIntent struct {
	ID int64 `json:"id"`
	frozenView
}

// RevealIntent serves GET /admin/api/tool-approvals/{id}/intent: what a ticket froze, also that of a sensitive tool, once it is on
// record in the job's audit who looks. It needs the permission to decide.
func (h *Handler) RevealIntent(w http.ResponseWriter, r *http.Request) {
	t, err := h.ticketOf(r, h.d.Approvals.ReadTicket)
	if err == nil && t.Sealed != "" {
		t.Intent, err = h.d.Secrets.Open(r.Context(), t.Sealed, approval.SealedPlace(t.ID))
		t.Sealed = ""
	}
	if err == nil {
		err = h.d.Approvals.AddEvent(r.Context(), t.JobID, h.revealEvent(r, t))
	}
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	view, err := showing{exact: true}.freeze(approvalView{frozenView: hashOf(*t)}, t, ticketAnswerMax)
	answer(w, r, revealedIntent{ID: t.ID, frozenView: view.frozenView}, err)
}

func (h *Handler) revealEvent(r *http.Request, t *approval.Ticket) job.Event {
	by := who(r).By()
	return job.Event{
		ID: "tool_intent_revealed-" + strconv.FormatInt(t.ID, 10), At: h.d.Clock.Now(), Name: "tool_intent_revealed",
		Stage: job.StageApproval, Severity: job.Info, Title: "Arguments of a call shown to an administrator", Summary: t.Tool + " · " + by,
		Detail: map[string]any{"approval_id": t.ID, "tool": t.Tool, "args_hash": t.ArgsHash, "by": by},
	}
}

// ticketOf reads the ticket that the path names.
func (h *Handler) ticketOf(r *http.Request, read func(context.Context, int64) (*approval.Ticket, error)) (*approval.Ticket, error) {
	text := r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > approval.MaxID || strconv.FormatInt(id, 10) != text {
		return nil, apierr.New(apierr.NotFound, "not found")
	}
	t, err := read(r.Context(), id)
	if err == nil && t == nil {
		err = apierr.New(apierr.NotFound, "not found")
	}
	return t, err
}
