package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/toolcall"
)

// The journal of side-effecting calls: items job#<id> / call#<tool>#<args hash>, one for each tool and arguments of a job. They
// have no expiry and are never deleted: their keys are what keeps a call from being made twice (I1). While a call has no
// stored outcome the job's row names its key in "open" and describes it in "call", so that whoever claims the job knows. A job that
// ends so is listed for a person to reconcile; see reconcile.go.

const callPrefix = "call#"

func entrySK(tool, argsHash string) string { return callPrefix + tool + "#" + argsHash }

func (s *Store) entryRef(jobID, tool, argsHash string) ref {
	return ref{s.jobs(), jobPK(jobID), entrySK(tool, argsHash)}
}

func encodeEntry(e toolcall.Entry) item {
	it := newItem(jobPK(e.JobID), entrySK(e.Tool, e.ArgsHash))
	it["state"] = str(string(e.State))
	it["tool"], it["hash"], it["key"] = str(e.Tool), str(e.ArgsHash), str(e.IdempotencyKey)
	it["scope"], it["claim"] = str(e.Scope), num(e.Claim)
	it["round"], it["index"] = num(int64(e.Round)), num(int64(e.Index))
	it["created"], it["updated"] = millis(e.CreatedAt), millis(e.UpdatedAt)
	if e.Subject != "" {
		it["subject"] = str(e.Subject)
	}
	if e.Reason != "" {
		it["reason"] = str(e.Reason)
	}
	if e.Provider != "" {
		it["provider"] = str(e.Provider)
	}
	if v := e.Evidence; v != nil {
		it["evidence"] = &types.AttributeValueMemberM{Value: item{
			"phase": str(v.Phase), "connected": boolean(v.Connected), "sent": boolean(v.Sent), "timeout": boolean(v.Timeout),
			"status": num(int64(v.Status)),
		}}
	}
	return it
}

// decodeFindings reads what is known of a call without an answer: how far it came, and what a person found.
func decodeFindings(e *toolcall.Entry, it item) {
	if m, ok := it["evidence"].(*types.AttributeValueMemberM); ok {
		e.Evidence = &toolcall.Evidence{
			Phase: getStr(m.Value, "phase"), Connected: getBool(m.Value, "connected"), Sent: getBool(m.Value, "sent"),
			Timeout: getBool(m.Value, "timeout"), Status: int(getNum(m.Value, "status")),
		}
	}
	if m, ok := it["closing"].(*types.AttributeValueMemberM); ok {
		e.Closing = &toolcall.Closing{
			Finding: toolcall.Finding(getStr(m.Value, "finding")), Status: int(getNum(m.Value, "status")), Reason: getStr(m.Value, "reason"),
			By: getStr(m.Value, "by"), At: getTime(m.Value, "at"),
		}
	}
}

// decodeEntry reads an entry, after resolveDocs; nil when there is none.
func decodeEntry(it item) (*toolcall.Entry, error) {
	if it == nil {
		return nil, nil
	}
	e := &toolcall.Entry{
		State: toolcall.EntryState(getStr(it, "state")), JobID: getStr(it, "pk")[len("job#"):], Tool: getStr(it, "tool"),
		ArgsHash: getStr(it, "hash"), IdempotencyKey: getStr(it, "key"), Scope: getStr(it, "scope"), Subject: getStr(it, "subject"),
		Provider: getStr(it, "provider"), Claim: getNum(it, "claim"), Round: int(getNum(it, "round")), Index: int(getNum(it, "index")), Reason: getStr(it, "reason"),
		CreatedAt: getTime(it, "created"), UpdatedAt: getTime(it, "updated"),
	}
	decodeFindings(e, it)
	doc := getBytes(it, "doc")
	if doc == nil {
		doc = []byte(getStr(it, "doc")) // brought by resolveDocs
	}
	if len(doc) > 0 {
		e.Record = new(toolcall.Record)
		if err := json.Unmarshal(doc, e.Record); err != nil {
			return nil, fmt.Errorf("store: journal entry %s: %w", getStr(it, "sk"), err)
		}
	}
	return e, nil
}

// decodeOpen is the open call of a job's row. One that cannot be read is an open call all the same: to take it for none could
// repeat it.
func decodeOpen(it item) *job.OpenCall {
	if getStr(it, "open") == "" {
		return nil
	}
	open := &job.OpenCall{State: string(toolcall.Dispatching)}
	_ = json.Unmarshal(getBytes(it, "call"), open)
	return open
}

// Reserve is one transaction: {job under the fence, without an open call: this one is open, and no mark of it is left; entry that must
// not exist; use of the ticket; audit record}.
func (s *Store) Reserve(ctx context.Context, f job.Fence, e toolcall.Entry, use *approval.Use, ev job.Event) error {
	call, err := plainjson.Marshal(e.Open())
	if err != nil {
		return fmt.Errorf("store: open call: %w", err)
	}
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	expr, values := "SET #open = :sk, #call = :call", item{":sk": str(entrySK(e.Tool, e.ArgsHash)), ":call": binary(call)}
	var ticket []types.TransactWriteItem
	if use != nil {
		expr += " DELETE #due :due"
		values[":due"] = set(use.Due)
		ticket = s.useTicket(*use)
	}
	open := s.updateOpen(f, expr, "attribute_not_exists(#open)", values)
	if use != nil {
		open.Update.ExpressionAttributeNames["#due"] = "due"
	}
	err = s.transact(ctx, append([]types.TransactWriteItem{open, putNew(s.jobs(), encodeEntry(e)), audit}, ticket...)...)
	var failed *ConditionFailed
	if errors.As(err, &failed) && !failed.Failed[0] && !failed.Failed[1] {
		return toolcall.ErrTicketMoved
	}
	return notHeld(err, f, toolcall.ErrReserved)
}

// CompleteReserved is one transaction: {job under the fence, with this open call: none is open; entry completed; outcome;
// audit record}.
func (s *Store) CompleteReserved(ctx context.Context, f job.Fence, e toolcall.Entry, rec toolcall.Record, ev job.Event) error {
	closed := s.updateOpen(f, "REMOVE #open, #call", "#open = :sk", item{":sk": str(entrySK(e.Tool, e.ArgsHash))})
	doc, err := plainjson.Marshal(rec)
	if err != nil {
		return fmt.Errorf("store: call: %w", err)
	}
	it := encodeEntry(e)
	it["status"], it["ok"] = num(int64(rec.Outcome.Status)), boolean(rec.Outcome.OK)
	if err := s.setLarge(ctx, it, "doc", doc); err != nil {
		return err
	}
	return s.endCall(ctx, f, closed, it, doc, rec, ev)
}

// MarkUncertain is one transaction: {job under the fence, with this open call: it stays open, and says why; entry uncertain;
// outcome; audit record}. Doing it twice is harmless.
func (s *Store) MarkUncertain(ctx context.Context, f job.Fence, e toolcall.Entry, rec toolcall.Record, ev job.Event) error {
	call, err := plainjson.Marshal(e.Open())
	if err != nil {
		return fmt.Errorf("store: open call: %w", err)
	}
	doc, err := plainjson.Marshal(rec)
	if err != nil {
		return fmt.Errorf("store: call: %w", err)
	}
	stays := s.updateOpen(f, "SET #call = :call", "#open = :sk", item{":sk": str(entrySK(e.Tool, e.ArgsHash)), ":call": binary(call)})
	it := encodeEntry(e)
	it["status"], it["ok"] = num(int64(rec.Outcome.Status)), boolean(false)
	return s.endCall(ctx, f, stays, it, doc, rec, ev)
}

// endCall stores what came of a reserved call: the job's row as open says, the entry, and the outcome in its round.
func (s *Store) endCall(ctx context.Context, f job.Fence, open types.TransactWriteItem, entry item, doc []byte, rec toolcall.Record, ev job.Event) error {
	round := stepItem(f, callSK(rec.Round, rec.Index))
	if err := s.setLarge(ctx, round, "doc", doc); err != nil {
		return err
	}
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	// The condition on the job's row holds only after Reserve, which made the entry.
	err = s.transact(ctx, open, put(s.jobs(), entry, "", nil, nil), put(s.jobs(), round, "", nil, nil), audit)
	return notHeld(err, f, toolcall.ErrNotOpen)
}

// updateOpen changes what a running job has open, under the fence and a further condition.
func (s *Store) updateOpen(f job.Fence, expr, condition string, values item) types.TransactWriteItem {
	a := update(s.jobs(), key(jobPK(f.JobID), skJob), expr, fenced+" AND "+condition, fenceValues(f, values))
	a.Update.ExpressionAttributeNames = map[string]string{"#state": "state", "#open": "open", "#call": "call"}
	return a
}

// notHeld tells a lost claim from any other failed condition of a transaction whose first action is on the job's row.
func notHeld(err error, f job.Fence, other error) error {
	var failed *ConditionFailed
	if !errors.As(err, &failed) {
		return err
	}
	if it := failed.Items[0]; failed.Failed[0] && (getNum(it, "claim") != f.Claim || getStr(it, "state") != string(job.Running)) {
		return job.ErrLostClaim
	}
	return other
}
