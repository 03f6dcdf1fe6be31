package approvals_test

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
)

// rounds is how often each race is run: BAILING_DECISION_ROUNDS, or a few.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BAILING_DECISION_ROUNDS")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_DECISION_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// together sends all requests at once.
func (a *api) together(requests ...request) []answer {
	a.t.Helper()
	answers := make([]answer, len(requests))
	var ready, done sync.WaitGroup
	ready.Add(len(requests))
	for i, r := range requests {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			answers[i] = a.send(r)
		})
	}
	done.Wait()
	return answers
}

func (a *api) deciding(t *approval.Ticket, decision, id string) request {
	return request{method: "POST", path: decisionPath(t.ID), token: a.token, body: envelope(t, decision, id)}
}

// settle runs the job again if an approval queued it, and checks that its call was made as often as it should be.
func (a *api) settle(round int, t *approval.Ticket, calls int) {
	a.t.Helper()
	before := len(a.Business.Sent())
	if j := a.Job(t.JobID); j.Status == job.Queued {
		a.Model.Then(jobtest.Say("Done."))
		a.Run(a.t.Context(), t.JobID)
	}
	if n := len(a.Business.Sent()) - before; n != calls {
		a.t.Errorf("round %d: %d calls, want %d", round, n, calls)
	}
	if j := a.Job(t.JobID); !j.Status.Terminal() || len(j.Due) != 0 {
		a.t.Errorf("round %d: job %+v", round, j)
	}
}

// The same decision three times at once is one decision (I9), and the call is made once (I1).
func TestTheSameDecisionAtOnce(t *testing.T) {
	t.Parallel()
	a := open(t)
	for round := range rounds(t) {
		asked, id := a.refund(a.token), fmt.Sprintf("d-%d", round)
		r := a.deciding(asked, "approved", id)
		first := 0
		for _, got := range a.together(r, r, r) {
			switch got.Body {
			case approved(asked.ID, id, `"idempotent":false,"rerun":true`):
				first++
			case approved(asked.ID, id, `"idempotent":true,"rerun":false`):
			default:
				t.Errorf("round %d: %d %s", round, got.Status, got.Body)
			}
		}
		if e := a.Events(asked.JobID, "tool_approved_external"); first != 1 || len(e) != 1 {
			t.Errorf("round %d: %d first, %d records", round, first, len(e))
		}
		a.settle(round, asked, 1)
	}
}

// Of an approval and a denial at once one wins, and the other learns which.
func TestApproveAgainstDeny(t *testing.T) {
	t.Parallel()
	a := open(t)
	for round := range rounds(t) {
		asked := a.refund(a.token)
		yes, no := fmt.Sprintf("yes-%d", round), fmt.Sprintf("no-%d", round)
		got := a.together(a.deciding(asked, "approved", yes), a.deciding(asked, "denied", no))
		winner, loser, id := got[0], got[1], yes
		state := a.ticket(asked.ID).State
		if state == approval.Denied {
			winner, loser, id = got[1], got[0], no
		}
		if winner.Status != 200 {
			t.Errorf("round %d: %s, but %d %s", round, state, winner.Status, winner.Body)
		}
		loser.want(t, 409, fmt.Sprintf(`{"decision_id":%q,"error":"the approval is %s already","status":%q}`, id, state, state))
		a.settle(round, asked, map[approval.State]int{approval.Approved: 1}[state])
	}
}

// A decision at the deadline is recorded before it or refused after it; what it answered is what holds.
func TestADecisionAtTheDeadline(t *testing.T) {
	t.Parallel()
	a := open(t)
	for round := range rounds(t) {
		asked := a.refund(a.token)
		a.Clock.Advance(asked.ExpiresAt.Add(-time.Millisecond).Sub(a.Clock.Now()))
		var got answer
		var expired error
		var both sync.WaitGroup
		both.Go(func() { got = a.send(a.deciding(asked, "denied", fmt.Sprintf("d-%d", round))) })
		both.Go(func() {
			a.Clock.Advance(time.Millisecond)
			keeper := &approval.Keeper{Store: a.Store, Clock: a.Clock, Logger: a.Platform.Logger}
			expired = keeper.Expire(t.Context(), asked.ID)
		})
		both.Wait()
		switch state := a.ticket(asked.ID).State; {
		case expired != nil:
			t.Errorf("round %d: %v", round, expired)
		case state == approval.Denied && got.Status == 200:
		case state == approval.Expired && got.Status == 409:
			got.want(t, 409, `{"decision_id":null,"error":"the approval is expired already","status":"expired"}`)
		default:
			t.Errorf("round %d: %s, but %d %s", round, state, got.Status, got.Body)
		}
		a.settle(round, asked, 0)
	}
}

// One decision id decides one of two tickets.
func TestOneDecisionIDForTwoTickets(t *testing.T) {
	t.Parallel()
	a := open(t)
	for round := range rounds(t) {
		one, two, id := a.refund(a.token), a.refund(a.token), fmt.Sprintf("d-%d", round)
		got := a.together(a.deciding(one, "approved", id), a.deciding(two, "approved", id))
		winner, loser, taken := one, two, got[1]
		if got[1].Status == 200 {
			winner, loser, taken = two, one, got[0]
		}
		taken.want(t, 409, fmt.Sprintf(`{"approval_id":%d,"decision_id":%q,"error":"the decision_id belongs to another approval"}`, winner.ID, id))
		if got := a.ticket(loser.ID); got.State != approval.Pending {
			t.Errorf("round %d: %+v", round, got)
		}
		a.settle(round, winner, 1)
		a.settle(round, loser, 0)
	}
}
