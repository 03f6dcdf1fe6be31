package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailing/scripts/bailing/clitest"
	"bailing/scripts/demo/business"
	"bailing/scripts/local/stack"
)

// submit sends the demo client's job.
func submit(t *testing.T, h *stack.Stack, requestID, input string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{
		"request_id": requestID, "route": "order_assistant", "input": input, "metadata": map[string]string{"operator_uid": "u_42"},
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/run", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.Demo.ClientToken)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("submitted: %d", res.StatusCode)
	}
}

// until runs a command until its output says what it should.
func until(t *testing.T, s *clitest.Session, args string, says func(out string) bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.Run(strings.Fields(args)...) == 0 && says(s.Stdout.String()) {
			return s.Stdout.String()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %s%s", args, &s.Stdout, &s.Stderr)
		}
	}
}

// refunds are the calls that moved money.
func refunds(calls []business.VerifiedCall) (n int) {
	for _, c := range calls {
		if c.Operation == "refund_create" {
			n++
		}
	}
	return n
}

// An operator sees a call that waits, lets it be made, and reads in the job that it was, once.
func TestAnOperatorApproves(t *testing.T) {
	t.Parallel()
	h, s := hub(t, true)
	s.Want(0, "shown this once", "admin create ada")
	lines := strings.Split(strings.TrimSpace(s.Stdout.String()), "\n")
	delete(s.Vars, "BAILING_URL")
	delete(s.Vars, "BAILING_SERVER_TOKEN")
	s.Answer("ada", strings.TrimSpace(lines[len(lines)-1]))
	s.Want(0, "logged in as ada", "login --url "+h.URL)
	s.Want(0, "No call waits for a decision.", "approvals list")

	submit(t, h, "r-1", "Refund SO-1001 25.00")
	out := until(t, s, "approvals list --json", func(out string) bool { return strings.TrimSpace(out) != "[]" })
	var list []struct {
		ID    int64  `json:"id"`
		JobID string `json:"job_id"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	ticket, job := strconv.FormatInt(list[0].ID, 10), list[0].JobID
	s.Want(0, `"amount": 25,`, "approvals show "+ticket)
	until(t, s, "job show "+job, func(out string) bool { return strings.HasPrefix(out, job+"  done") })
	if n := refunds(h.Demo.Business.Verified()); n != 0 {
		t.Fatalf("%d refunds before anybody approved", n)
	}
	s.Want(0, "Approved. The job was queued again", "approvals approve "+ticket+" --comment checked")
	s.Want(2, "was approved before, by ada", "approvals deny "+ticket)
	until(t, s, "approvals show "+ticket, func(out string) bool { return strings.Contains(out, "approved, used") })
	s.Want(0, "approved by ada (console:ada)", "approvals show "+ticket)
	until(t, s, "job show "+job, func(out string) bool { return strings.Contains(out, "is recorded") })
	if n := refunds(h.Demo.Business.Verified()); n != 1 {
		t.Errorf("%d refunds", n)
	}

	submit(t, h, "r-2", "Refund SO-1001 12.50")
	out = until(t, s, "approvals list --json", func(out string) bool { return strings.TrimSpace(out) != "[]" })
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	s.Want(0, "Denied.", "approvals deny "+strconv.FormatInt(list[0].ID, 10))
	s.Want(0, "denied", "approvals list --status denied")
	if n := refunds(h.Demo.Business.Verified()); n != 1 {
		t.Errorf("%d refunds", n)
	}
}
