package approvals_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/approval"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// frozen is the answer of GET /approvals/{id}/arguments.
type frozen struct {
	ApprovalID int64           `json:"approval_id"`
	JobID      string          `json:"job_id"`
	RequestID  string          `json:"request_id"`
	Tool       string          `json:"tool"`
	ArgsHash   string          `json:"args_hash"`
	ArgsBytes  int             `json:"args_bytes"`
	Args       json.RawMessage `json:"args"`
}

// D31: the frozen arguments byte for byte, with their hash, whatever became of the ticket.
func TestArguments(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	want := fmt.Sprintf(`{"approval_id":%d,"job_id":%q,"request_id":"request-1","tool":"refund","args_hash":%q,"args_bytes":16,"args":{"order":"SO-1"}}`,
		asked.ID, asked.JobID, asked.ArgsHash)
	a.arguments(a.token, asked.ID).want(t, 200, want)
	if sum := sha256.Sum256([]byte(`{"order":"SO-1"}`)); hex.EncodeToString(sum[:]) != asked.ArgsHash {
		t.Errorf("hash %s", asked.ArgsHash)
	}
	a.decide(a.token, asked.ID, envelope(asked, "denied", "d"))
	a.arguments(jobtest.ServerToken, asked.ID).want(t, 200, want)
	a.Clock.Advance(asked.ExpiresAt.Sub(a.Clock.Now()))
	a.arguments(a.token, asked.ID).want(t, 200, want)
}

func TestArgumentsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	a := open(t)
	addTool(a, jobtest.Op{
		Name: "pay", Method: "POST", Path: "/payments", Scope: "payments.write", Capability: `"risk":{"level":"high"}`,
		Body: `{"type":"object","properties":{"text":{"type":"string"},"number":{"type":"number"},"count":{"type":"integer"},"object":{"type":"object","properties":{"c":{"type":"array","items":{}},"d":{"type":"integer"}}}}}`,
	})
	for _, args := range []string{
		`{"text":"<&> ü \u2028 \"","number":1.0,"count":12345678901234567890}`, `{"text":"\ud800"}`, `{"object":{"d":1,"c":[true,null]},"count":1e2}`,
	} {
		asked := a.ask(a.token, "pay", args)
		var got frozen
		a.arguments(a.token, asked.ID).into(t, &got)
		var intent approval.Intent
		if err := json.Unmarshal(asked.Intent, &intent); err != nil {
			t.Fatal(err)
		}
		if string(got.Args) != string(intent.Args) || got.ArgsBytes != len(got.Args) || got.ArgsHash != asked.ArgsHash {
			t.Errorf("%s: %s", args, got.Args)
		}
	}
}

// 1 MiB of arguments is frozen, shown whole, approved and sent byte for byte (D31, I3).
func TestTheLargestArguments(t *testing.T) {
	t.Parallel()
	a := open(t)
	args := `{"order":"` + strings.Repeat("x\\\"", (1<<20-len(`{"order":""}`))/3) + `"}`
	args = strings.Replace(args, "x", strings.Repeat("x", 1<<20-len(args)+1), 1)
	if len(args) != 1<<20 {
		t.Fatalf("%d bytes", len(args))
	}
	asked := a.ask(a.token, "refund", args)
	var got frozen
	r := a.arguments(a.token, asked.ID)
	r.into(t, &got)
	if r.Status != 200 || string(got.Args) != args || got.ArgsBytes != 1<<20 || got.ApprovalID != asked.ID || got.JobID != asked.JobID || got.Tool != "refund" {
		t.Fatalf("%d with %d bytes", r.Status, len(got.Args))
	}
	a.decide(a.token, asked.ID, envelope(asked, "approved", "d")).want(t, 200, approved(asked.ID, "d", `"idempotent":false,"rerun":true`))
	a.Model.Then(jobtest.Say("Refunded."))
	a.Run(t.Context(), asked.JobID)
	if sent := a.Business.Sent(); len(sent) != 1 || string(sent[0].Body) != args {
		t.Errorf("%d requests", len(sent))
	}
}

// What a sensitive tool is asked to do is stored sealed, and shown to those who decide.
func TestArgumentsOfASensitiveTool(t *testing.T) {
	t.Parallel()
	a := open(t)
	sensitiveTool(a)
	asked := a.ask(a.token, "card_charge", `{"number":"4111-canary"}`)
	if asked.Sealed == "" || asked.Intent != nil {
		t.Fatalf("ticket %+v", asked)
	}
	var got frozen
	a.arguments(a.token, asked.ID).into(t, &got)
	if string(got.Args) != `{"number":"4111-canary"}` {
		t.Errorf("%s", got.Args)
	}
}

// sensitiveTool adds a tool that needs approval and is declared sensitive.
func sensitiveTool(a *api) {
	addTool(a, jobtest.Op{
		Name: "card_charge", Method: "POST", Path: "/charges", Scope: "cards.charge", Capability: `"risk":{"level":"high"},"audit":{"sensitive":true}`,
		Body: `{"type":"object","properties":{"number":{"type":"string"}}}`,
	})
}

func addTool(a *api, op jobtest.Op) {
	a.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ShopTools(), op)...))
}

// What is stored and is not what was frozen is shown to nobody (I3).
func TestArgumentsThatAreNotTheFrozenOnes(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	a.alter(asked.ID, `{"args":{"order":"SO-2"}}`)
	a.arguments(a.token, asked.ID).want(t, 500, `{"error":"internal_error","request_id":"req-1"}`)
	a.alter(asked.ID, `{"args":"SO-2-canary"`)
	a.arguments(a.token, asked.ID).want(t, 500, `{"error":"internal_error","request_id":"req-1"}`)
	if strings.Contains(a.Logs.String(), "SO-2") {
		t.Error("arguments are logged")
	}
}

// No token, signature or argument of a sensitive tool is in a log line, an error or an audit record (I10).
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	a := open(t)
	sensitiveTool(a)
	asked := a.ask(a.token, "card_charge", `{"number":"4111-canary"}`)
	stranger := a.SaveClient(registry.Client{AppID: "stranger", AllowedRoutes: []string{"*"}, Enabled: true})
	body := envelope(asked, "approved", "d")
	proofs := []request{
		{token: a.token}, {token: stranger}, {token: jobtest.ServerToken}, {query: map[string][]string{"token": {a.token}}},
		{header: sign(a.token, "", a.Clock.Now())}, {header: sign(a.token, body, a.Clock.Now())}, {header: sign(stranger, body, a.Clock.Now())}, {},
	}
	var told strings.Builder
	for _, p := range proofs {
		p.method, p.path = "GET", argumentsPath(asked.ID)
		if got := a.send(p); got.Status != 200 { // the answer to somebody who may is what they asked for
			told.WriteString(got.Body)
		}
		p.method, p.path, p.body = "POST", decisionPath(asked.ID), body
		told.WriteString(a.send(p).Body)
		p.body = `{"canary":"4111-canary",`
		told.WriteString(a.send(p).Body)
	}
	told.WriteString(a.Logs.String())
	records, err := a.Store.JobAudit(t.Context(), asked.JobID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		told.Write(r)
	}
	for name, secret := range map[string]string{
		"the client's token": a.token, "another token": stranger, "the server token": jobtest.ServerToken, "an argument": "4111-canary",
		"a signature": sign(a.token, body, a.Clock.Now()).Get("X-Bailing-Signature")[7:],
	} {
		if strings.Contains(told.String(), secret) {
			t.Errorf("%s is told", name)
		}
	}
}
