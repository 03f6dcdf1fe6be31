package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// A ticket is the item ticket#<id> / ticket. The item job#<id> / ticket#<tool>#<args hash> leads from a call to it and repeats
// its state, so that the governed call's one read decides: whoever changes a ticket's state changes both in one transaction.

const skTicket = "ticket"

func ticketPK(id int64) string { return fmt.Sprintf("ticket#%d", id) }

func lookupSK(tool, argsHash string) string { return "ticket#" + tool + "#" + argsHash }

func (s *Store) ticketRef(id int64) ref { return ref{s.jobs(), ticketPK(id), skTicket} }

func (s *Store) lookupRef(jobID, tool, argsHash string) ref {
	return ref{s.jobs(), jobPK(jobID), lookupSK(tool, argsHash)}
}

func (s *Store) encodeTicket(ctx context.Context, t approval.Ticket) (item, error) {
	it := newItem(ticketPK(t.ID), skTicket)
	it["id"], it["state"], it["job"], it["owner"] = num(t.ID), str(string(t.State)), str(t.JobID), str(t.Owner)
	it["provider"], it["tool"], it["hash"] = str(t.Provider), str(t.Tool), str(t.ArgsHash)
	it["created"], it["expires"] = millis(t.CreatedAt), millis(t.ExpiresAt)
	if t.Sealed != "" {
		return it, s.setLarge(ctx, it, "sealed", []byte(t.Sealed))
	}
	return it, s.setLarge(ctx, it, "intent", t.Intent)
}

func encodeLookup(t approval.Ticket) item {
	it := newItem(jobPK(t.JobID), lookupSK(t.Tool, t.ArgsHash))
	it["id"], it["state"], it["expires"] = num(t.ID), str(string(t.State)), millis(t.ExpiresAt)
	return it
}

func decodeLookup(it item) *approval.Lookup {
	if it == nil {
		return nil
	}
	return &approval.Lookup{ID: getNum(it, "id"), State: approval.State(getStr(it, "state")), ExpiresAt: getTime(it, "expires")}
}

// OpenTicket is one transaction: {fence, ticket, its lookup, outcome of the call, audit record}.
func (s *Store) OpenTicket(ctx context.Context, f job.Fence, t approval.Ticket, rec toolcall.Record, ev job.Event) error {
	ticket, err := s.encodeTicket(ctx, t)
	if err != nil {
		return err
	}
	doc, err := encode(rec)
	if err != nil {
		return fmt.Errorf("store: call: %w", err)
	}
	round := stepItem(f, callSK(rec.Round, rec.Index))
	if err := s.setLarge(ctx, round, "doc", doc); err != nil {
		return err
	}
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	err = s.transact(ctx, s.fenceCheck(f), putNew(s.jobs(), ticket), putNew(s.jobs(), encodeLookup(t)), put(s.jobs(), round, "", nil, nil), audit)
	var failed *ConditionFailed
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Failed[0]:
		return job.ErrLostClaim
	case failed.Failed[2]: // before the number: the call has a ticket, whatever its number
		return approval.ErrExists
	}
	return approval.ErrIDTaken
}

// decodeTicket is a ticket without what it froze.
func decodeTicket(it item) approval.Ticket {
	return approval.Ticket{
		ID: getNum(it, "id"), State: approval.State(getStr(it, "state")), JobID: getStr(it, "job"), Owner: getStr(it, "owner"),
		Provider: getStr(it, "provider"), Tool: getStr(it, "tool"), ArgsHash: getStr(it, "hash"),
		CreatedAt: getTime(it, "created"), ExpiresAt: getTime(it, "expires"),
	}
}

// ReadTicket reads one ticket: one trip. It is nil when there is none.
func (s *Store) ReadTicket(ctx context.Context, id int64) (*approval.Ticket, error) {
	items, err := s.batchGet(ctx, s.ticketRef(id))
	if err != nil || items[0] == nil {
		return nil, err
	}
	it := items[0]
	t := decodeTicket(it)
	sealed, err := s.getLarge(ctx, it, "sealed")
	if err != nil {
		return nil, err
	}
	if t.Sealed = string(sealed); t.Sealed != "" {
		return &t, nil
	}
	if t.Intent, err = s.getLarge(ctx, it, "intent"); err == nil && !json.Valid(t.Intent) {
		err = fmt.Errorf("store: ticket %d: its intent is not JSON", id)
	}
	return &t, err
}
