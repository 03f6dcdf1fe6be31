package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/signature"
	"bailing/shared/topology"
)

// ticket is what a business was shown of a call that waits for a person.
type ticket struct {
	id        int64
	job       string
	request   string
	hash      string // of the arguments, as the notification says
	shown     string // hash of the arguments as they were shown
	decisions []*decision
}

// decision is what somebody decides about a ticket, and how the product answered.
type decision struct {
	id       string // "" for one of the console
	approve  bool
	accepted string // the state of the first answer that accepted it; "" for none
}

// asked notes a ticket that a business heard of, and plans what its people do about it.
func (w *world) asked(body []byte) {
	var v struct {
		ApprovalID int64  `json:"approval_id"`
		JobID      string `json:"job_id"`
		RequestID  string `json:"request_id"`
		Intent     struct {
			Args json.RawMessage `json:"args"`
			Hash string          `json:"args_hash"`
		} `json:"intent"`
	}
	if err := json.Unmarshal(body, &v); err != nil || v.ApprovalID == 0 {
		w.fail("I3", "a notification of a ticket that cannot be read: %.200s", body)
		return
	}
	args, err := canonical.Parse(v.Intent.Args, canonical.Limits{})
	if err != nil || args.Hash() != v.Intent.Hash {
		w.fail("I3", "ticket %d shows arguments whose hash is not %s: %s", v.ApprovalID, v.Intent.Hash, v.Intent.Args)
		return
	}
	if t := w.tickets[v.ApprovalID]; t != nil {
		if t.hash != v.Intent.Hash || t.job != v.JobID {
			w.fail("I3", "ticket %d was shown in two ways", t.id)
		}
		return
	}
	t := &ticket{id: v.ApprovalID, job: v.JobID, request: v.RequestID, hash: v.Intent.Hash, shown: args.Hash()}
	w.tickets[t.id] = t
	w.decideLater(t)
}

// decideLater draws who decides a ticket, when, how often, and with whom they disagree.
func (w *world) decideLater(t *ticket) {
	if w.flip(0.15) {
		return // nobody does
	}
	first := &decision{id: fmt.Sprintf("d-%d-1", t.id), approve: w.flip(0.75)}
	t.decisions = append(t.decisions, first)
	soon := pick(w.schedule, 5*time.Second, time.Minute, 4*time.Minute, 20*time.Minute)
	when := w.between(0, soon)
	w.in(when, func() { w.decide(t, first, false) })
	if w.flip(0.3) { // once more, perhaps in the same moment
		w.in(when+w.between(0, time.Second)*time.Duration(w.rng.IntN(20)), func() { w.decide(t, first, false) })
	}
	if w.flip(0.2) { // somebody else, who may think otherwise
		other := &decision{id: fmt.Sprintf("d-%d-2", t.id), approve: w.flip(0.5)}
		t.decisions = append(t.decisions, other)
		w.in(w.between(0, soon), func() { w.decide(t, other, false) })
	}
	if w.flip(0.2) { // an administrator
		other := &decision{approve: w.flip(0.5)}
		t.decisions = append(t.decisions, other)
		w.in(w.between(0, soon), func() { w.decide(t, other, false) })
	}
	if w.flip(0.05) { // a client to whom the ticket does not belong
		w.in(w.between(0, soon), func() { w.decide(t, &decision{id: fmt.Sprintf("d-%d-x", t.id), approve: true}, true) })
	}
}

// decide sends a decision, and sends it again until it has an answer that counts.
func (w *world) decide(t *ticket, d *decision, stranger bool) {
	said := map[bool]string{true: "approved", false: "denied"}[d.approve]
	then := func(status int, answer []byte) {
		var v struct {
			Status     string `json:"status"`
			Idempotent bool   `json:"idempotent"`
		}
		_ = json.Unmarshal(answer, &v)
		switch {
		case stranger && status < 300:
			w.fail("I3", "ticket %d was decided by somebody to whom it does not belong", t.id)
		case stranger:
		case status == http.StatusOK:
			w.ruled(t, d, v.Status)
		case status >= 500, status == http.StatusTooManyRequests, status == http.StatusUnauthorized: // disabled for a while
			if d.accepted == "" {
				w.in(w.between(time.Second, time.Minute), func() { w.decide(t, d, stranger) })
			}
		case status == http.StatusConflict && v.Status != "":
			w.seen["decisions that came too late"]++
		case status == http.StatusConflict, status == http.StatusNotFound, v.Status != "": // it is decided, or has expired
		default:
			w.fail("", "decision about ticket %d: %d %s", t.id, status, answer)
		}
	}
	if d.id == "" {
		verb := map[bool]string{true: "approve", false: "deny"}[d.approve]
		w.api(http.MethodPost, fmt.Sprintf("/admin/api/tool-approvals/%d/%s", t.id, verb), w.config.ServerToken, map[string]any{}, then)
		return
	}
	body, err := json.Marshal(map[string]any{
		"kind": "tool_approval_decision", "schema_version": "bailing.approval-decision.v1", "approval_id": strconv.FormatInt(t.id, 10), "job_id": t.job,
		"request_id": t.request, "args_hash": t.hash, "decision_id": d.id, "decision": said, "approver": "somebody", "comment": "as agreed",
	})
	if err != nil {
		panic(err)
	}
	token := "nobody's"
	if j := w.byID[t.job]; j != nil && !stranger {
		token = j.client.token
	}
	header := http.Header{}
	if !stranger && w.flip(0.5) { // signed, as a business does that was never given the token as such
		h := signature.SignCallback(token, body, time.Now())
		header.Set("X-Bailing-Timestamp", h.Timestamp)
		header.Set("X-Bailing-Signature", h.Signature)
		token = ""
	}
	w.apiWith(header, http.MethodPost, fmt.Sprintf("/approvals/%d/decision", t.id), token, string(body), then)
}

// ruled checks the answer to a decision: of all that are accepted about a ticket, none contradicts another (I9).
func (w *world) ruled(t *ticket, d *decision, state string) {
	if want := map[bool]string{true: "approved", false: "denied"}[d.approve]; state != want {
		w.fail("I9", "ticket %d: the decision %q (%s) was answered with %s", t.id, d.id, want, state)
	}
	d.accepted = state
	w.seen["decisions"]++
	for _, other := range t.decisions {
		if other.accepted != "" && other.approve != d.approve {
			w.fail("I9", "ticket %d was both approved and denied", t.id)
		}
	}
}

// authorised checks a call that has just reached its business and needed approval: it was approved with exactly these arguments, and
// its ticket is used up (I3).
func (w *world) authorised(a *arrival) {
	what := fmt.Sprintf("job %s: %s(%s)", a.job, a.tool, a.args)
	lookup := w.get(topology.TableJobs, jobPK(a.job), "ticket#"+a.tool+"#"+a.hash)
	if lookup == nil {
		w.fail("I3", "%s reached the business without a ticket", what)
		return
	}
	t := w.get(topology.TableJobs, fmt.Sprintf("ticket#%d", lookup.num("id")), "ticket")
	switch {
	case t == nil || t.str("state") != "approved":
		w.fail("I3", "%s reached the business, and its ticket is %s", what, t.str("state"))
	case t["used"].N == nil:
		w.fail("I3", "%s reached the business, and its ticket is not used up", what)
	case t.str("hash") != a.hash:
		w.fail("I3", "%s reached the business, and its ticket is about %s", what, t.str("hash"))
	case !t["ruling"].M["approved"].is():
		w.fail("I3", "%s reached the business, and nobody approved it", what)
	}
	if shown := w.tickets[lookup.num("id")]; shown != nil && shown.shown != a.hash {
		w.fail("I3", "%s reached the business, and a person was shown other arguments", what)
	}
	if at := row(t["ruling"].M).time("at"); !at.Before(t.time("expires")) {
		w.fail("I3", "%s reached the business, and was approved at %s, after its deadline %s", what, at, t.time("expires"))
	}
	if used := t.time("used"); !used.Before(t.time("expires")) {
		w.fail("I3", "%s reached the business at %s, after its deadline %s", what, used, t.time("expires"))
	}
}

// expired checks that a ticket which has just been ended was past its deadline, by the clock of whoever ended it.
func (w *world) expired(by *instance, id int64) {
	t := w.get(topology.TableJobs, fmt.Sprintf("ticket#%d", id), "ticket")
	expires, ahead := t.time("expires"), time.Duration(by.clock.by.Load())
	if time.Now().Add(ahead).Before(expires) {
		w.fail("I5", "ticket %d was ended before its deadline %s", id, expires)
	}
	w.early[id] = time.Now().Before(expires)
}

func (v value) is() bool { return v.BOOL != nil && *v.BOOL }

// enough is how long an approved call may take once nothing breaks any more: a lease that has to run out, and what comes after it.
const enough = 35 * time.Minute

// checkTicket judges a ticket at the end: it has ended, or a deadline is ahead (I5), and what was approved was made, or it is on
// record why not.
func (w *world) checkTicket(t row, jobs map[string]row) {
	id, state, expires := t.num("id"), t.str("state"), t.time("expires")
	unused := state == "pending" || state == "approved" && t["used"].N == nil
	if unused && !expires.After(time.Now()) {
		w.stuck++
		w.fail("I5", "ticket %d is %s and its deadline %s has passed", id, state, expires)
		return
	}
	if t["used"].N != nil && w.times[effect{t.str("job"), t.str("tool"), t.str("hash")}] == 0 {
		entry := w.get(topology.TableJobs, jobPK(t.str("job")), "call#"+t.str("tool")+"#"+t.str("hash"))
		if entry == nil {
			w.lostApprovals++
			w.fail("I3", "ticket %d is used up and its call is not in the journal", id)
		}
	}
	w.seen["tickets that are "+state]++
	if t["used"].N != nil {
		w.seen["tickets that are used up"]++
	}
	ruling := t["ruling"].M
	if !ruling["approved"].is() || t["used"].N != nil {
		return
	}
	// Approved and not used. The job says so, or had to stop, or had no time.
	job := jobs[jobPK(t.str("job"))]
	from := row(ruling).time("at")
	if w.healthy.After(from) {
		from = w.healthy
	}
	why := ""
	switch {
	case w.early[id]:
		why = "a clock was ahead"
	case job.str("open") != "", strings.HasPrefix(job.str("err"), reconciling):
		why = "the job is to be reconciled"
	case expires.Sub(from) < enough:
		why = "there was little time"
	case w.answeredFor(t):
		why = "it was refused"
	}
	w.seen["approved calls not made: "+why]++
	if why == "" {
		w.lostApprovals++
		w.fail("I3", "ticket %d of job %s (%s) was approved at %s, its deadline is %s, and its call was not made; the ticket is %s, job due %v",
			id, t.str("job"), job.str("state"), row(ruling).time("at"), expires, state, job["due"].SS)
	}
}

// answeredFor reports whether it is on record why an approved call was not made.
func (w *world) answeredFor(t row) bool {
	for _, r := range w.partition(topology.TableLedger, jobPK(t.str("job")), "0") {
		if strings.Contains(string(w.content(r, "doc")), strconv.FormatInt(t.num("id"), 10)) && strings.Contains(r.str("sk"), "tool_blocked") {
			return true
		}
	}
	return false
}

// administer lets an administrator decide a ticket that waits, whether its business was told of it or not.
func (w *world) administer() {
	for _, r := range w.scan(topology.TableJobs) {
		if r.str("sk") != "ticket" || r.str("state") != "pending" {
			continue
		}
		t := w.tickets[r.num("id")]
		if t == nil {
			t = &ticket{id: r.num("id"), job: r.str("job"), request: r.str("request"), hash: r.str("hash"), shown: r.str("hash")}
			w.tickets[t.id] = t
		}
		d := &decision{approve: w.flip(0.7)}
		t.decisions = append(t.decisions, d)
		w.decide(t, d, false)
		return
	}
}
