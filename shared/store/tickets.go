package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/toolcall"
)

var (
	_ approval.KeeperStore = (*Store)(nil)
	_ approval.ClerkStore  = (*Store)(nil)
)

// A ticket is the item ticket#<id> / ticket. The item job#<id> / ticket#<tool>#<args hash> leads from a call to its latest ticket and
// repeats its state, so that the governed call's one read decides: whoever changes a ticket's state changes both in one transaction.
// The item job#<id> / asked#<time>.<id> leads from a job to each ticket that it ever asked for. The item decision#<owner>#<id> / decision keeps a decision id to one ticket of its owner.
//
// The index "dead" lists tickets by state, the index "time" lists all, both by the time at which they were asked. A ticket is in
// shards of its own of the index "due" while the sweeper may have to look at it.

const (
	skTicket   = "ticket"
	skDecision = "decision"

	askedPrefix = "asked#"

	// ticketPartition of the index "time" holds all tickets; ticketStates, with a state, those of the index "dead".
	ticketPartition = "ticket"
	ticketStates    = "ticket-"
)

func ticketPK(id int64) string { return fmt.Sprintf("ticket#%d", id) }

func ticketKey(id int64) item { return key(ticketPK(id), skTicket) }

func lookupSK(tool, argsHash string) string { return "ticket#" + tool + "#" + argsHash }

// askedSK sorts the tickets of a job by the time at which they were asked.
func askedSK(t approval.Ticket) string {
	return askedPrefix + timeKey(t.CreatedAt, strconv.FormatInt(t.ID, 10))
}

func ticketDue(id int64) string { return "ticket-" + dueShard(strconv.FormatInt(id, 10)) }

func (s *Store) ticketRef(id int64) ref { return ref{s.jobs(), ticketPK(id), skTicket} }

func (s *Store) lookupRef(jobID, tool, argsHash string) ref {
	return ref{s.jobs(), jobPK(jobID), lookupSK(tool, argsHash)}
}

func (s *Store) decisionRef(owner, id string) ref {
	return ref{s.jobs(), "decision#" + owner + "#" + id, skDecision}
}

func (s *Store) encodeTicket(ctx context.Context, t approval.Ticket) (item, error) {
	it := newItem(ticketPK(t.ID), skTicket)
	it["id"], it["state"], it["job"], it["owner"] = num(t.ID), str(string(t.State)), str(t.JobID), str(t.Owner)
	it["request"], it["route"], it["provider"], it["tool"] = str(t.RequestID), str(t.RouteKey), str(t.Provider), str(t.Tool)
	it["scope"], it["method"], it["path"], it["risk"] = str(t.Scope), str(t.Method), str(t.Path), str(string(t.Risk))
	it["policy"], it["reason"], it["hash"], it["bind"] = str(t.Policy), str(t.Reason), str(t.ArgsHash), str(t.Binding)
	it["bytes"], it["claim"] = num(int64(t.ArgsBytes)), num(t.Claim)
	it["round"], it["index"] = num(int64(t.Round)), num(int64(t.Index))
	it["created"], it["expires"] = millis(t.CreatedAt), millis(t.ExpiresAt)
	if t.Subject != "" {
		it["subject"] = str(t.Subject)
	}
	if t.Summary != "" {
		it["summary"] = str(t.Summary)
	}
	asked := timeKey(t.CreatedAt, strconv.FormatInt(t.ID, 10))
	it["tpk"], it["tsk"] = str(ticketPartition), str(asked)
	it["xpk"], it["xsk"] = str(ticketStates+string(t.State)), str(asked)
	it["dpk"], it["dsk"] = str(ticketDue(t.ID)), str(dueKey(t.CreatedAt.Add(approval.StartAfter)))
	if t.Sealed != "" {
		return it, s.setLarge(ctx, it, "sealed", []byte(t.Sealed))
	}
	return it, s.setLarge(ctx, it, "intent", t.Intent)
}

func encodeLookup(t approval.Ticket) item {
	it := newItem(jobPK(t.JobID), lookupSK(t.Tool, t.ArgsHash))
	it["id"], it["state"], it["hash"], it["expires"] = num(t.ID), str(string(t.State)), str(t.ArgsHash), millis(t.ExpiresAt)
	it["bind"], it["claim"] = str(t.Binding), num(t.Claim)
	return it
}

func decodeLookup(it item) *approval.Lookup {
	if it == nil {
		return nil
	}
	return &approval.Lookup{
		ID: getNum(it, "id"), State: approval.State(getStr(it, "state")), ArgsHash: getStr(it, "hash"), ExpiresAt: getTime(it, "expires"),
		Binding: getStr(it, "bind"), Claim: getNum(it, "claim"), Used: it["used"] != nil,
		UsedClaim: getNum(it, "used_claim"), UsedRound: int(getNum(it, "used_round")), UsedIndex: int(getNum(it, "used_index")),
	}
}

// decodeTicket is a ticket without what it froze.
func decodeTicket(it item) approval.Ticket {
	t := approval.Ticket{
		ID: getNum(it, "id"), State: approval.State(getStr(it, "state")), JobID: getStr(it, "job"), RequestID: getStr(it, "request"),
		RouteKey: getStr(it, "route"), Owner: getStr(it, "owner"), Provider: getStr(it, "provider"), Tool: getStr(it, "tool"),
		Scope: getStr(it, "scope"), Method: getStr(it, "method"), Path: getStr(it, "path"), Risk: capability.Risk(getStr(it, "risk")),
		Policy: getStr(it, "policy"), Reason: getStr(it, "reason"), Summary: getStr(it, "summary"), Subject: getStr(it, "subject"),
		ArgsHash: getStr(it, "hash"), ArgsBytes: int(getNum(it, "bytes")), Binding: getStr(it, "bind"), Claim: getNum(it, "claim"),
		Round: int(getNum(it, "round")), Index: int(getNum(it, "index")), CreatedAt: getTime(it, "created"), ExpiresAt: getTime(it, "expires"),
		UsedAt: getTime(it, "used"), EndAt: getTime(it, "ended"), Token: getStr(it, "token"),
	}
	if m, ok := it["ruling"].(*types.AttributeValueMemberM); ok {
		t.Ruling = &approval.Ruling{
			Approved: getBool(m.Value, "approved"), DecisionID: getStr(m.Value, "id"), By: getStr(m.Value, "by"), Comment: getStr(m.Value, "comment"),
			SaidAt: getStr(m.Value, "said"), Auth: getStr(m.Value, "auth"), At: getTime(m.Value, "at"),
		}
	}
	return t
}

// OpenTicket is one transaction: {fence, ticket, its lookup, its place among the job's tickets, outcome of the call, audit record}.
func (s *Store) OpenTicket(ctx context.Context, f job.Fence, o toolcall.Opening, rec toolcall.Record, ev job.Event) error {
	t := o.Ticket
	ticket, err := s.encodeTicket(ctx, t)
	if err != nil {
		return err
	}
	doc, err := plainjson.Marshal(rec)
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
	lookup := putNew(s.jobs(), encodeLookup(t))
	if o.Replaces != 0 {
		lookup = put(s.jobs(), encodeLookup(t), "id = :old AND (#state IN (:denied, :expired) OR attribute_exists(used))", stateName, item{
			":old": num(o.Replaces), ":denied": str(string(approval.Denied)), ":expired": str(string(approval.Expired)),
		})
	}
	held := s.fenceCheck(f)
	if !o.BesideDue {
		c := held.ConditionCheck
		c.ConditionExpression = aws.String(*c.ConditionExpression + " AND attribute_not_exists(#due)")
		c.ExpressionAttributeNames = map[string]string{"#state": "state", "#due": "due"}
	}
	err = s.transact(ctx, held, putNew(s.jobs(), ticket), lookup, put(s.jobs(), round, "", nil, nil), audit,
		put(s.jobs(), newItem(jobPK(t.JobID), askedSK(t)), "", nil, nil))
	var failed *ConditionFailed
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Failed[0]:
		return notHeld(err, f, &toolcall.DueError{Due: job.ParseDue(getSet(failed.Items[0], "due"))})
	case failed.Failed[2]: // before the number: the call has a ticket, whatever its number
		return approval.ErrExists
	}
	return approval.ErrIDTaken
}

// ReadTicketRow reads one ticket without what it froze: one trip. It is nil when there is none.
func (s *Store) ReadTicketRow(ctx context.Context, id int64) (*approval.Ticket, error) {
	items, err := s.batchGet(ctx, s.ticketRef(id))
	if err != nil || items[0] == nil {
		return nil, err
	}
	t := decodeTicket(items[0])
	return &t, nil
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

// ToolTickets reads the latest ticket of every call of one tool in a job: one trip.
func (s *Store) ToolTickets(ctx context.Context, jobID, tool string) ([]approval.Lookup, error) {
	var found []approval.Lookup
	err := s.query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID)), ":sk": str(lookupSK(tool, ""))},
	}, func(it item) error {
		found = append(found, *decodeLookup(it))
		return nil
	})
	return found, err
}

// useTicket are the actions that consume an approved ticket.
func (s *Store) useTicket(u approval.Use) []types.TransactWriteItem {
	values := item{":approved": str(string(approval.Approved)), ":now": millis(u.Now), ":sv": num(schemaVersion)}
	ticket := update(s.jobs(), ticketKey(u.ID), "SET used = :now",
		"#state = :approved AND attribute_not_exists(used) AND expires > :now AND sv <= :sv", values)
	ticket.Update.ExpressionAttributeNames = stateName
	lookup := update(s.jobs(), key(jobPK(u.JobID), lookupSK(u.Tool, u.ArgsHash)),
		"SET used = :now, used_claim = :claim, used_round = :round, used_index = :index",
		"id = :id AND #state = :approved AND attribute_not_exists(used) AND sv <= :sv", item{
			":approved": values[":approved"], ":now": values[":now"], ":sv": values[":sv"], ":id": num(u.ID),
			":claim": num(u.Claim), ":round": num(int64(u.Round)), ":index": num(int64(u.Index)),
		})
	lookup.Update.ExpressionAttributeNames = stateName
	return []types.TransactWriteItem{ticket, lookup}
}

// ReadDecision reads ticket and decision id, then the job, its thread, and the jobs that are in the thread: four trips, three when there
// are none.
func (s *Store) ReadDecision(ctx context.Context, id int64, owner, decisionID string) (approval.DecisionView, error) {
	refs := []ref{s.ticketRef(id)}
	if decisionID != "" {
		refs = append(refs, s.decisionRef(owner, decisionID))
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return approval.DecisionView{}, err
	}
	if items[0] == nil {
		return approval.DecisionView{}, approval.ErrNotFound
	}
	t := decodeTicket(items[0])
	v := approval.DecisionView{Ticket: &t, Peers: map[string]job.Peer{}}
	if len(items) > 1 {
		v.Taken = getNum(items[1], "ticket")
	}
	run, err := s.ReadRerun(ctx, t.JobID)
	if err != nil {
		return v, err
	}
	v.Job, v.Ends, v.Thread = run.Job, run.Ends, run.Thread
	refs = nil
	for _, peer := range append([]string{v.Thread.Head}, v.Thread.Waiting...) {
		if peer != "" {
			refs = append(refs, s.jobRef(peer))
		}
	}
	rows, err := s.batchGet(ctx, refs...)
	if err != nil {
		return v, err
	}
	for _, row := range rows {
		if row != nil {
			j := decodeState(row)
			v.Peers[j.ID] = job.Peer{Status: j.Status, CreatedAt: j.CreatedAt}
		}
	}
	return v, nil
}

// DecideTicket is one transaction: {ticket, lookup, decision id, job, thread, old head, audit records}.
func (s *Store) DecideTicket(ctx context.Context, v approval.DecisionView, c approval.Change, events ...job.Event) error {
	t, r := v.Ticket, c.Ruling
	actions := s.rule(t, r)
	if r.DecisionID != "" {
		ref := s.decisionRef(t.Owner, r.DecisionID)
		it := newItem(ref.pk, ref.sk)
		it["ticket"] = num(t.ID)
		actions = append(actions, putNew(s.jobs(), it))
	}
	if c.Due != nil {
		actions = append(actions, s.markDue(v, c))
	}
	if seat := c.Seat; seat != nil {
		actions = append(actions, s.putThread(seat.Thread))
		if seat.Demoted != "" {
			down := update(s.jobs(), key(jobPK(seat.Demoted), skJob), "SET head = :false, updated = :now REMOVE dpk, dsk",
				"#state = :queued AND head = :true AND sv <= :sv", item{
					":true": boolean(true), ":false": boolean(false), ":now": millis(r.At), ":queued": str(string(job.Queued)), ":sv": num(schemaVersion),
				})
			down.Update.ExpressionAttributeNames = stateName
			actions = append(actions, down)
		}
	}
	for _, ev := range events {
		audit, err := s.putEvent(ctx, t.JobID, ev)
		if err != nil {
			return err
		}
		actions = append(actions, audit)
	}
	err := s.transact(ctx, actions...)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return approval.ErrMoved
	}
	return err
}

// rule are the actions on a pending ticket and its lookup. The sweeper looks at the ticket at once, in case its wait is not told.
func (s *Store) rule(t *approval.Ticket, r approval.Ruling) []types.TransactWriteItem {
	ruling := item{"approved": boolean(r.Approved), "id": str(r.DecisionID), "by": str(r.By), "auth": str(r.Auth), "at": millis(r.At)}
	if r.Comment != "" {
		ruling["comment"] = str(r.Comment)
	}
	if r.SaidAt != "" {
		ruling["said"] = str(r.SaidAt)
	}
	values := item{
		":pending": str(string(approval.Pending)), ":new": str(string(r.State())), ":now": millis(r.At), ":sv": num(schemaVersion),
		":ruling": &types.AttributeValueMemberM{Value: ruling}, ":xpk": str(ticketStates + string(r.State())),
		":dpk": str(ticketDue(t.ID)), ":dsk": str(dueKey(r.At)),
	}
	token := "attribute_not_exists(#token)"
	if t.Token != "" {
		token = "#token = :token"
		values[":token"] = str(t.Token)
	}
	ticket := update(s.jobs(), ticketKey(t.ID), "SET #state = :new, ruling = :ruling, xpk = :xpk, dpk = :dpk, dsk = :dsk",
		"#state = :pending AND expires > :now AND sv <= :sv AND "+token, values)
	ticket.Update.ExpressionAttributeNames = map[string]string{"#state": "state", "#token": "token"}
	lookup := update(s.jobs(), key(jobPK(t.JobID), lookupSK(t.Tool, t.ArgsHash)), "SET #state = :new",
		"id = :id AND #state = :pending AND sv <= :sv", item{":id": num(t.ID), ":pending": values[":pending"], ":new": values[":new"], ":sv": values[":sv"]})
	lookup.Update.ExpressionAttributeNames = stateName
	return []types.TransactWriteItem{ticket, lookup}
}

// markDue marks the job; with a seat it is queued again, with the rounds that it has.
func (s *Store) markDue(v approval.DecisionView, c approval.Change) types.TransactWriteItem {
	values := item{":due": set(c.Due.Mark()), ":sv": num(schemaVersion)}
	names := map[string]string{"#state": "state", "#due": "due"}
	j := v.Job
	if c.Seat == nil {
		condition := "#state = :seen"
		values[":seen"] = str(string(j.Status))
		switch {
		case !j.Status.Terminal():
			condition = "#state IN (:queued, :running, :dispatched)"
			delete(values, ":seen")
			values[":queued"], values[":running"], values[":dispatched"] = str(string(job.Queued)), str(string(job.Running)), str(string(job.Dispatched))
		case j.Open != nil:
			condition += " AND attribute_exists(#open)"
			names["#open"] = "open"
		}
		a := update(s.jobs(), key(jobPK(j.ID), skJob), "ADD #due :due", condition+" AND sv <= :sv", values)
		a.Update.ExpressionAttributeNames = names
		return a
	}
	now := c.Ruling.At
	maps.Copy(values, item{
		":queued": str(string(job.Queued)), ":seen": str(string(j.Status)), ":ends": num(int64(v.Ends)), ":now": millis(now),
		":head": boolean(c.Seat.Head), ":zero": num(0), ":true": boolean(true),
	})
	maps.Copy(names, map[string]string{"#usage": "usage", "#after": "after", "#open": "open"})
	expr := "SET #state = :queued, queued = :now, updated = :now, head = :head, attempts = :zero, recoveries = :zero, cont = :true"
	if c.Seat.Head {
		expr += ", dpk = :dpk, dsk = :dsk"
		values[":dpk"], values[":dsk"] = str(dueShard(j.ID)), str(dueKey(now.Add(job.ResendAfter)))
	}
	a := update(s.jobs(), key(jobPK(j.ID), skJob), expr+" REMOVE res, res_ref, err, brief_end, #usage, #after ADD #due :due",
		"#state = :seen AND term = :ends AND attribute_not_exists(#open) AND sv <= :sv", values)
	a.Update.ExpressionAttributeNames = names
	return a
}

// HoldTicket is one conditional update.
func (s *Store) HoldTicket(ctx context.Context, id int64, token string, now time.Time) (bool, error) {
	return s.updateTicket(ctx, id, "SET #token = :token", "#state = :pending AND expires > :now", item{
		":token": str(token), ":pending": str(string(approval.Pending)), ":now": millis(now),
	})
}

// ExpireTicket is one transaction: {ticket, lookup, audit record}. It ends the ticket that was read: one that was approved meanwhile is
// another one, with another record. The sweeper looks at the ticket at once, for its wait.
func (s *Store) ExpireTicket(ctx context.Context, t *approval.Ticket, now time.Time, ev job.Event) error {
	if !t.Unused() {
		return approval.ErrMoved
	}
	audit, err := s.putEvent(ctx, t.JobID, ev)
	if err != nil {
		return err
	}
	const seen = "#state = :seen AND attribute_not_exists(used) AND sv <= :sv"
	values := item{":seen": str(string(t.State)), ":expired": str(string(approval.Expired)), ":sv": num(schemaVersion)}
	ticket := update(s.jobs(), ticketKey(t.ID), "SET #state = :expired, ended = :now, xpk = :xpk, dpk = :dpk, dsk = :dsk",
		seen+" AND expires <= :now", maps.Clone(values))
	maps.Copy(ticket.Update.ExpressionAttributeValues, item{
		":now": millis(now), ":xpk": str(ticketStates + string(approval.Expired)), ":dpk": str(ticketDue(t.ID)), ":dsk": str(dueKey(now)),
	})
	ticket.Update.ExpressionAttributeNames = stateName
	values[":id"] = num(t.ID)
	lookup := update(s.jobs(), key(jobPK(t.JobID), lookupSK(t.Tool, t.ArgsHash)), "SET #state = :expired", "id = :id AND "+seen, values)
	lookup.Update.ExpressionAttributeNames = stateName
	err = s.transact(ctx, ticket, lookup, audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return approval.ErrMoved
	}
	return err
}

// SettleTicket is one conditional update.
func (s *Store) SettleTicket(ctx context.Context, id int64, token string) error {
	_, err := s.updateTicket(ctx, id, "REMOVE #token", "#token = :token", item{":token": str(token)})
	return err
}

// PostponeTicket is one conditional update.
func (s *Store) PostponeTicket(ctx context.Context, t *approval.Ticket, lookAt time.Time) error {
	expr, condition, values := "REMOVE dpk, dsk", "#state = :seen AND attribute_not_exists(#token)", item{":seen": str(string(t.State))}
	if !lookAt.IsZero() {
		expr = "SET dpk = :dpk, dsk = :dsk"
		values[":dpk"], values[":dsk"] = str(ticketDue(t.ID)), str(dueKey(lookAt))
	}
	if t.Token != "" {
		condition = "#state = :seen AND #token = :token"
		values[":token"] = str(t.Token)
	}
	_, err := s.updateTicket(ctx, t.ID, expr, condition, values)
	return err
}

// updateTicket changes one ticket if it is of this release or an earlier one, and as condition says.
func (s *Store) updateTicket(ctx context.Context, id int64, expr, condition string, values item) (bool, error) {
	values[":sv"] = num(schemaVersion)
	condition += " AND sv <= :sv"
	names := map[string]string{}
	for name, attribute := range map[string]string{"#state": "state", "#token": "token"} {
		if strings.Contains(expr+condition, name) {
			names[name] = attribute
		}
	}
	in := &dynamodb.UpdateItemInput{
		TableName: s.jobs(), Key: ticketKey(id), UpdateExpression: aws.String(expr), ConditionExpression: aws.String(condition),
		ExpressionAttributeValues: values,
	}
	if len(names) > 0 {
		in.ExpressionAttributeNames = names
	}
	_, err := single(ctx, s, s.db.UpdateItem, in)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: ticket: %w", err)
	}
	return true, nil
}

// EachDueTicket pages through the tickets' shards of the index "due".
func (s *Store) EachDueTicket(ctx context.Context, now time.Time, visit func(id int64) error) error {
	return s.eachDue(ctx, "ticket-", now, func(it item) error {
		id, err := strconv.ParseInt(strings.TrimPrefix(getStr(it, "pk"), "ticket#"), 10, 64)
		if err != nil {
			return fmt.Errorf("store: %s is no ticket", getStr(it, "pk"))
		}
		return visit(id)
	})
}

// ListTickets reads keys from the index of a state, or of all when state is "", latest first, and then the rows strongly: one trip,
// and one per 100. What changed its state since the index saw it is left out; a page of which nothing is left is passed over.
func (s *Store) ListTickets(ctx context.Context, state approval.State, limit int, after job.Cursor) (approval.Page, error) {
	for {
		keys, err := s.ticketKeys(ctx, state, limit+1, after) // one more says whether there is a next page
		if err != nil {
			return approval.Page{}, err
		}
		page := approval.Page{Tickets: []approval.Ticket{}}
		if len(keys) > limit {
			keys = keys[:limit]
			page.Next = job.Cursor(keys[limit-1])
		}
		refs := make([]ref, len(keys))
		for i, k := range keys {
			id, err := strconv.ParseInt(idOfTimeKey(k), 10, 64)
			if err != nil {
				return approval.Page{}, fmt.Errorf("store: %s is no ticket's key", k)
			}
			refs[i] = s.ticketRef(id)
		}
		rows, err := s.listRows(ctx, refs)
		if err != nil {
			return approval.Page{}, err
		}
		for _, row := range rows {
			if t := decodeTicket(row); row != nil && (state == "" || t.State == state) {
				page.Tickets = append(page.Tickets, t)
			}
		}
		if len(page.Tickets) > 0 || page.Next == "" {
			return page, nil
		}
		after = page.Next
	}
}

// ticketKeys reads the latest n keys that are before after.
func (s *Store) ticketKeys(ctx context.Context, state approval.State, n int, after job.Cursor) ([]string, error) {
	if state == "" {
		return s.latestKeys(ctx, inTime, ticketPartition, n, after)
	}
	return s.latestKeys(ctx, inDead, ticketStates+string(state), n, after)
}
