package notify_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/textlimit"
)

// golden is the approval request of core §6.4 about a payment, its members in the recorded order; the names in braces are the ticket's number, job, hash and deadline, and addresses.
const golden = `{"kind":"tool_approval_request","approval_id":{id},"job_id":"{job}","request_id":"request-1","route":"Support","subject":"u_42",` +
	`"provider":"shop","tool":"pay","scope":"payments.write","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/payments",` +
	`"args":{"amount":50,"to":"bob"},"args_hash":"{hash}","summary":"Pay 50 to bob?",` +
	`"intent":{"approval_id":{id},"kind":"tool_approval_intent","schema_version":"bailing.approval-intent.v1","job_id":"{job}","request_id":"request-1",` +
	`"route_key":"support","route_name":"Support","source":"acme","subject":"u_42","subject_field":"user","provider":"shop","tool":"pay",` +
	`"scope":"payments.write","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/payments",` +
	`"args":{"amount":50,"to":"bob"},"args_hash":"{hash}","summary":"Pay 50 to bob?","metadata":{"user":"u_42"}},"expires_at":"{until}",` +
	`"decision_path":"/approvals/{id}/decision",{decision_url}"decision_contract":{"kind":"tool_approval_decision",` +
	`"schema_version":"bailing.approval-decision.v1","required_fields":["approval_id","job_id","request_id","args_hash","decision_id","decision","approver"],` +
	`"decision_values":["approved","denied"],"idempotency":"decision_id",` +
	`"match":{"approval_id":{id},"job_id":"{job}","request_id":"request-1","args_hash":"{hash}"},` +
	`"example":{"kind":"tool_approval_decision","schema_version":"bailing.approval-decision.v1","approval_id":{id},"job_id":"{job}",` +
	`"request_id":"request-1","args_hash":"{hash}","decision_id":"biz-{id}-<your-approval-record-id>","decision":"approved","approver":"<business-user-id>",` +
	`"comment":""}},"metadata":{"user":"u_42"}}`

// fill puts what differs from ticket to ticket into a golden body.
func fill(text string, t *approval.Ticket, more ...string) string {
	return strings.NewReplacer(append([]string{
		"{id}", fmt.Sprint(t.ID), "{job}", t.JobID, "{hash}", t.ArgsHash, "{until}", job.Timestamp(t.ExpiresAt),
	}, more...)...).Replace(text)
}

func TestApprovalRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"business_webhook", "approval_webhook"} {
		w := setup(t, webhook(kind))
		w.charge()
		asked := w.ask(w.token, "pay", `{"amount":50,"to":"bob"}`)
		r := w.tell(asked)
		if want := fill(golden, asked, "{decision_url}", ""); string(r.Body) != want || r.URL != receiverURL {
			t.Errorf("%s\nwant %s", r.Body, want)
		}
		w.verify(r, w.token, asked.ID)
		e := w.Events(asked.JobID, "approval_intent_webhook")
		if len(e) != 1 || e[0].Stage != "approval" || e[0].Severity != "info" || e[0].Detail["ok"] != true || e[0].Detail["status"] != 200.0 ||
			e[0].Detail["recipient"] != receiverURL || e[0].Detail["final"] != true || e[0].Detail["type"] != kind {
			t.Errorf("audit %+v", e)
		}
	}
}

// A hub that knows its address gives absolute ones beside the paths, with its path prefix (architecture §4).
func TestAbsoluteAddresses(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	w.charge()
	for _, base := range []string{"https://hub.example/v1", "https://hub.example/v1/"} {
		w.teller.BaseURL = base
		asked := w.ask(w.token, "pay", `{"amount":50,"to":"bob"}`)
		want := fill(golden, asked, "{decision_url}", fill(`"decision_url":"https://hub.example/v1/approvals/{id}/decision",`, asked), "request-1", asked.RequestID)
		if r := w.tell(asked); string(r.Body) != want {
			t.Errorf("%s\nwant %s", r.Body, want)
		}
	}
	asked := w.ask(w.token, "note_write", `{"text":"`+strings.Repeat("x", 9000)+`"}`)
	var got map[string]any
	if err := json.Unmarshal(w.tell(asked).Body, &got); err != nil || got["arguments_url"] != fill("https://hub.example/v1/approvals/{id}/arguments", asked) {
		t.Errorf("%v, %v", got["arguments_url"], err)
	}
}

// D31: up to 8 KiB of arguments are in the request; from one byte more on it says how large they are and where they can be read.
func TestLimitOfTheArguments(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	w.charge()
	args := func(n int) string {
		return `{"text":"` + strings.Repeat("é", (n-len(`{"text":""}`))/2) + strings.Repeat("x", (n-len(`{"text":""}`))%2) + `"}`
	}
	var got struct {
		Args, Metadata json.RawMessage
		Truncated      *bool           `json:"args_truncated"`
		Bytes          *int            `json:"args_bytes"`
		Path           *string         `json:"arguments_path"`
		Hash           string          `json:"args_hash"`
		Summary        string          `json:"summary"`
		Intent         json.RawMessage `json:"intent"`
	}
	whole := w.ask(w.token, "note_write", args(8192))
	if err := json.Unmarshal(w.tell(whole).Body, &got); err != nil {
		t.Fatal(err)
	}
	if string(got.Args) != args(8192) || got.Truncated != nil || got.Bytes != nil || got.Path != nil || got.Summary != "" || !strings.Contains(string(got.Intent), `"actual"`) {
		t.Errorf("%d bytes, %v %v %v %q", len(got.Args), got.Truncated, got.Bytes, got.Path, got.Summary)
	}
	got.Args = nil
	large := w.ask(w.token, "note_write", args(8193))
	body := w.tell(large).Body
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Args != nil || got.Truncated == nil || !*got.Truncated || *got.Bytes != 8193 || *got.Path != fill("/approvals/{id}/arguments", large) || got.Hash != large.ArgsHash {
		t.Errorf("%s", body)
	}
	if got.Summary != textlimit.Cut(args(8193), 1000) || textlimit.Len(got.Summary) != 1000 {
		t.Errorf("summary of %d units", textlimit.Len(got.Summary))
	}
	var intent map[string]any
	if err := json.Unmarshal(got.Intent, &intent); err != nil {
		t.Fatal(err)
	}
	if _, there := intent["args"]; there || !reflect.DeepEqual(intent["confirm_when"], map[string]any{"param": "text", "op": "exists", "reason": "confirm_when: text exists"}) {
		t.Errorf("intent %s", got.Intent)
	}
	if len(body) > 6000 {
		t.Errorf("%d bytes", len(body))
	}
}

// The prompt's text is the summary of large arguments, when there is one.
func TestSummaryOfLargeArguments(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("webhook"))
	w.charge()
	asked := w.ask(w.token, "pay", `{"amount":50,"to":"bob","note":"`+strings.Repeat("x", 9000)+`"}`)
	var got map[string]any
	if err := json.Unmarshal(w.tell(asked).Body, &got); err != nil || got["summary"] != "Pay 50 to bob?" || got["args_truncated"] != true || got["args"] != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// The arguments of a sensitive tool stay in the hub, whatever their size; so do the texts that are made of them (I10).
func TestSensitiveArgumentsStayHere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"business_webhook", "webhook"} {
		w := setup(t, webhook(kind))
		w.charge()
		asked := w.ask(w.token, "card_charge", `{"number":"4111-canary"}`)
		body := string(w.tell(asked).Body)
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, "canary") || got["args_truncated"] != true || got["args_bytes"] != 24.0 || got["args_hash"] != asked.ArgsHash ||
			got["arguments_path"] != fill("/approvals/{id}/arguments", asked) || got["args"] != nil || got["summary"] != nil || got["tool"] != "card_charge" {
			t.Errorf("%s", body)
		}
		if strings.Contains(w.Logs.String(), "canary") {
			t.Error("an argument is logged")
		}
		for _, e := range w.Events(asked.JobID, "") {
			if b, _ := json.Marshal(e); strings.Contains(string(b), "canary") {
				t.Errorf("an argument is in %s", b)
			}
		}
	}
}

// Core §6.4, the type for people: the arguments are a text, and a message says what waits.
func TestMessageForPeople(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("webhook"))
	w.charge()
	asked := w.ask(w.token, "pay", `{"amount":50,"to":"bob"}`)
	r := w.tell(asked)
	want := fill(`{"kind":"tool_approval","approval_id":{id},"job_id":"{job}","request_id":"request-1","tool":"pay","scope":"payments.write","risk":"high",`+
		`"policy":"risk_high","reason":"risk=high","args":"{\"amount\":50,\"to\":\"bob\"}","args_hash":"{hash}","summary":"Pay 50 to bob?",`+
		`"intent":{"approval_id":{id},"kind":"tool_approval_intent","schema_version":"bailing.approval-intent.v1","job_id":"{job}","request_id":"request-1",`+
		`"route_key":"support","route_name":"Support","source":"acme","subject":"u_42","subject_field":"user","provider":"shop","tool":"pay",`+
		`"scope":"payments.write","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/payments",`+
		`"args":{"amount":50,"to":"bob"},"args_hash":"{hash}","summary":"Pay 50 to bob?","metadata":{"user":"u_42"}},"expires_at":"{until}",`+
		`"message":"Support: pay waits for approval {id} until {until} (risk=high)\nPay 50 to bob?"}`, asked)
	if string(r.Body) != want {
		t.Errorf("%s\nwant %s", r.Body, want)
	}
	w.verify(r, w.token, asked.ID)
	if e := w.Events(asked.JobID, "approval_notify"); len(e) != 1 || e[0].Detail["ok"] != true {
		t.Errorf("audit %+v", e)
	}
}

// Frozen bytes are told as they are: no escape, order or digit changes.
func TestArgumentsAreToldByteForByte(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	w.charge()
	args := `{"to":"<&> \u2028 ü \ud800","amount":12345678901234567890}`
	asked := w.ask(w.token, "pay", args)
	var intent approval.Intent
	if err := json.Unmarshal(asked.Intent, &intent); err != nil {
		t.Fatal(err)
	}
	body := string(w.tell(asked).Body)
	if strings.Count(body, `"args":`+string(intent.Args)) != 2 {
		t.Errorf("%s\ndoes not hold %s twice", body, intent.Args)
	}
}
