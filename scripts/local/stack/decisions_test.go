package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/crashtest"
	"bailing/shared/job"
)

// decisionRounds is how many random stories are played: BAILING_DECISION_ROUNDS, or a few.
func decisionRounds(t *testing.T) int {
	text := os.Getenv("BAILING_DECISION_ROUNDS")
	if text == "" {
		return 15
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_DECISION_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// story is a ticket, and what has to be true of it.
type story struct {
	*crashWorld
	dir     string
	foreign string // token of another client
	earlier int    // refunds that businesses of earlier starts were asked for

	ticket approval.Ticket
	state  approval.State
	id     string // of the decision that won
	late   bool   // the deadline has passed
	log    []string
}

func (s *story) start() {
	var err error
	s.s, err = Start(s.t.Context(), Options{Addr: "127.0.0.1:0", Dir: s.dir, Demo: true, Manual: true, Clock: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
}

// restart ends the hub and starts it again with what it kept.
func (s *story) restart() {
	s.t.Helper()
	s.note("restart")
	s.earlier += s.refunds()
	http.DefaultClient.CloseIdleConnections()
	if err := s.s.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

func (s *story) note(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

func (s *story) refunds() (n int) {
	for _, c := range s.s.Demo.Business.Verified() {
		if c.Operation == "refund_create" {
			n++
		}
	}
	return n
}

// say sends a decision, and requires the answer that the ticket's state demands (core §6.5).
func (s *story) say(who, token, decision, id string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"kind":"tool_approval_decision","schema_version":"bailing.approval-decision.v1","approval_id":%d,"job_id":%q,"request_id":%q,`+
		`"args_hash":%q,"decision_id":%q,"decision":%q,"approver":"ann"}`, s.ticket.ID, s.ticket.JobID, s.ticket.RequestID, s.ticket.ArgsHash, id, decision)
	req, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/approvals/%d/decision", s.s.URL, s.ticket.ID), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.note("%s says %s as %s: %d %s", who, decision, id, res.StatusCode, text)
	var got struct {
		Status     approval.State `json:"status"`
		Idempotent bool           `json:"idempotent"`
	}
	_ = json.Unmarshal(text, &got)
	want, idempotent := http.StatusOK, false
	switch {
	case who == "nobody", who == "another client":
		if res.StatusCode != http.StatusUnauthorized {
			s.t.Errorf("%d, want 401", res.StatusCode)
		}
		return
	case s.id != "" && s.id == id && approval.State(decision) == s.state:
		idempotent = true
	case s.id != "":
		want = http.StatusConflict
	case s.late:
		want, s.state = http.StatusConflict, approval.Expired
	default:
		s.id, s.state = id, approval.State(decision)
	}
	if res.StatusCode != want || got.Idempotent != idempotent {
		s.t.Errorf("%d %s, want %d, idempotent %v", res.StatusCode, text, want, idempotent)
	}
}

// decide plays a few decisions with whatever may come between them.
func (s *story) decideSomehow(r *rand.Rand) {
	who := []struct{ name, token string }{
		{"the client", s.s.Demo.ClientToken}, {"the client", s.s.Demo.ClientToken}, {"an administrator", s.s.ServerToken}, {"another client", s.foreign}, {"nobody", ""},
	}
	for range 1 + r.IntN(4) {
		switch r.IntN(8) {
		case 0:
			s.s.AWS.StepFunctions().Step(s.t.Context())
		case 1:
			s.sweep()
		case 2:
			if s.id == "" && !s.late {
				s.note("the deadline passes")
				s.clock.Advance(7*24*time.Hour + time.Second)
				s.late = true
			}
		case 3:
			if r.IntN(3) == 0 {
				s.restart()
				who[0].token, who[1].token = s.s.Demo.ClientToken, s.s.Demo.ClientToken
			}
		}
		w := who[r.IntN(len(who))]
		s.say(w.name, w.token, []string{"approved", "approved", "denied"}[r.IntN(3)], fmt.Sprintf("%s-%d", []string{"d1", "d2"}[r.IntN(2)], s.ticket.ID))
	}
}

// A decision before the wait has a token, after the deadline, twice, in conflict, by the wrong client, and around restarts: the first valid one
// counts, every answer is the one of the ticket's state, and an approved call is made once.
func TestDecisionsInEveryOrder(t *testing.T) {
	t.Parallel()
	rounds, seed := decisionRounds(t), uint64(time.Now().UnixNano())
	if text := os.Getenv("BAILING_DECISION_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds, BAILING_DECISION_SEED=%d", rounds, seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := &story{crashWorld: &crashWorld{t: t, clock: &crashtest.Clock{}}, dir: t.TempDir()}
	s.start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.s.Close(); err != nil {
			t.Error(err)
		}
	})
	var other struct {
		Token string `json:"token"`
	}
	s.request(http.MethodPost, "/admin/api/clients", `{"app_id":"other","name":"Other","allowed_routes":["`+DemoRoute+`"]}`, http.StatusOK, &other)
	s.foreign = other.Token
	ends := map[approval.State]int{}
	for n := range rounds {
		s.jobs, s.again = []string{s.ask(fmt.Sprint("decisions-", n), askRefund, fmt.Sprint("s", n))}, r.IntN(2) == 0
		s.recover()
		s.ticket, s.state, s.id, s.late, s.log = s.checkFrozen(), approval.Pending, "", false, nil
		before := s.earlier + s.refunds()
		for range r.IntN(6) {
			s.s.AWS.StepFunctions().Step(t.Context())
		}
		s.decideSomehow(r)
		if s.state == approval.Pending {
			s.say("the client", s.s.Demo.ClientToken, "approved", fmt.Sprintf("d3-%d", s.ticket.ID))
		}
		if s.state == approval.Approved && r.IntN(5) == 0 {
			s.note("nothing is made of the approval in time")
			s.clock.Advance(7*24*time.Hour + time.Second)
			s.state = approval.Expired
		}
		s.recover()
		s.s.settle(t.Context())
		s.sweep()
		got, made := s.look(), s.earlier+s.refunds()-before
		want := 0
		if s.state == approval.Approved {
			want = 1
		}
		if made != want || got.status != job.Done || len(got.tickets) != 1 || got.tickets[0].State != s.state || got.tickets[0].UsedAt.IsZero() == (want == 1) || len(got.job.Due) != 0 {
			t.Errorf("%d calls, want %d; the job is %s (%s); ticket %+v, want %s", made, want, got.status, got.error, got.tickets, s.state)
		}
		ends[s.state]++
		if t.Failed() {
			t.Fatalf("in round %d:\n%s", n, strings.Join(s.log, "\n"))
		}
	}
	t.Logf("%v", ends)
}
