package operate

import (
	"strings"
	"testing"
)

const (
	callKey  = "4f3c2b1a4f3c2b1a4f3c2b1a4f3c2b1a4f3c2b1a4f3c2b1a4f3c2b1a4f3c2b1a"
	callPart = `{"job_id":"` + id + `","tool":"refund","scope":"refunds.write","provider":"shop","idempotency_key":"` + callKey + `",` +
		`"since":"2026-03-10T12:00:00.000Z","reason":"timeout","under_way":false,`
	openCall   = callPart + `"state":"uncertain","evidence":{"phase":"headers","connected":true,"sent":true,"timeout":true},"closing":null}`
	closedCall = callPart + `"state":"closed_happened","evidence":null,"closing":{"outcome":"happened","status":201,"reason":"refund 7 \u001b[2Jexists","by":"ada","at":"2026-03-10T13:00:00.000Z"}}`
)

func TestReconciling(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	call := "/admin/api/reconciliations/" + id + "/" + callKey
	h.Set("GET /admin/api/reconciliations", 200, `[`+openCall+`]`)
	h.Set("GET "+call, 200, openCall)
	s.Want(0, callKey, "reconcile list")
	s.Want(0, "the request may have left, and no answer came", "reconcile show "+id+" "+callKey)
	h.Set("GET "+call, 200, closedCall)
	s.Want(0, "happened with status 201, by ada at 2026-03-10 13:00:00Z: refund 7", "reconcile show "+id+" "+callKey)
	h.Set("GET /admin/api/reconciliations", 200, `[]`)
	s.Want(0, "No call waits for a person.", "reconcile list")

	h.Set("POST "+call+"/close", 200, closedCall)
	close := "reconcile close " + id + " " + callKey + " --outcome happened --status 201 --reason looked"
	s.Want(2, "say --yes", close)
	s.Answer("y")
	s.Want(0, "Closed: happened with status 201, by ada", close)
	if sent := h.Last(t, "POST "+call+"/close"); sent["outcome"] != "happened" || sent["status"] != float64(201) || sent["reason"] != "looked" {
		t.Errorf("sent %v", sent)
	}
	if sent := h.Last(t, "POST "+call+"/close"); sent["by"] != nil {
		t.Errorf("sent %v", sent)
	}
	due := strings.TrimSuffix(closedCall, "}") + `,"approvals_due":[4503599627370495,7]}`
	h.Set("POST "+call+"/close", 200, due)
	h.Set("GET "+call, 200, due)
	const then = "a rerun ('bailing job rerun " + id + "') makes what was approved meanwhile: 4503599627370495, 7"
	s.Want(0, "Then "+then+".", close+" --by Jo --yes")
	s.Want(0, then, "reconcile show "+id+" "+callKey)
	if sent := h.Last(t, "POST "+call+"/close"); sent["by"] != "Jo" {
		t.Errorf("sent %v", sent)
	}
	h.Set("POST "+call+"/close", 409, `{"error":"this call was closed before, as not_happened; a closing is final"}`)
	s.Want(2, "closed before, as not_happened", close+" --yes")
	s.Want(2, "the hub has no such call", "reconcile show "+id+" "+strings.Repeat("0", 64))
}

func TestReconcilingIsCheckedBeforeItTravels(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	for _, tc := range []struct{ args, want string }{
		{"reconcile list x", "takes no arguments"}, {"reconcile show " + id, "the idempotency key"}, {"reconcile show x " + callKey, "is no id of a job"},
		{"reconcile show " + id + " x", "is no idempotency key"}, {"reconcile close " + id + " " + callKey + " --reason r", "--outcome is happened or not_happened"},
		{"reconcile close " + id + " " + callKey + " --outcome happened", "--reason is needed"},
	} {
		s.Want(2, tc.want, tc.args)
	}
	if len(h.Asked()) > 0 {
		t.Errorf("%v", h.Asked())
	}
}
