package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"bailing/shared/approval"
	"bailing/shared/approval/notify"
	"bailing/shared/delivery"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

const receiverURL = "https://acme.example/approvals"

// world is a hub whose route tells about approvals.
type world struct {
	*jobtest.World
	t        *testing.T
	token    string
	receiver *jobtest.Business
	poster   *delivery.Poster
	teller   *notify.Teller
	jobs     int
}

// setup makes the route's tools.approval this JSON; "" leaves it out.
func setup(t *testing.T, config string) *world {
	t.Helper()
	w := &world{World: jobtest.New(t), t: t, receiver: &jobtest.Business{}}
	w.token = w.Seed()
	w.poster = &delivery.Poster{Clients: w.Store.Clients(), Secrets: w.Secrets, HTTP: w.receiver, ServerToken: jobtest.ServerToken, Clock: w.Clock}
	w.teller = &notify.Teller{Routes: w.Store.Routes(), Log: w.Store, Secrets: w.Secrets, Post: w.poster, Clock: w.Clock, Logger: w.Platform.Logger}
	w.configure(config)
	return w
}

func (w *world) configure(config string) {
	w.t.Helper()
	r := jobtest.SupportRoute()
	r.Tools.Approval = json.RawMessage(config)
	w.SaveRoute(r)
}

func webhook(kind string) string { return fmt.Sprintf(`{"type":%q,"url":%q}`, kind, receiverURL) }

// ask runs a job of the caller in which the model wishes the call, and answers with its ticket.
func (w *world) ask(token, tool, args string) *approval.Ticket {
	w.t.Helper()
	w.jobs++
	w.Model.Then(jobtest.Call(jobtest.Wish{Tool: tool, Args: args}), jobtest.Say("It waits."))
	id := w.MustLaunch(token, jobtest.Submission(fmt.Sprintf("request-%d", w.jobs), `"metadata":{"user":"u_42"}`)).JobID
	w.Deliver()
	tickets, err := w.Store.JobTickets(w.t.Context(), id, 10)
	if err != nil || len(tickets) != 1 {
		w.t.Fatalf("tickets %+v, %v; refused: %+v", tickets, err, w.Events(id, "tool_blocked"))
	}
	t, err := w.Store.ReadTicket(w.t.Context(), tickets[0].ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func (w *world) refund() *approval.Ticket {
	w.t.Helper()
	return w.ask(w.token, "refund", `{"order":"SO-1"}`)
}

// tell notifies about t and answers with the one request that was sent.
func (w *world) tell(t *approval.Ticket) outbound.Request {
	w.t.Helper()
	before := len(w.receiver.Sent())
	if err := w.teller.Tell(w.t.Context(), t); err != nil {
		w.t.Fatal(err)
	}
	sent := w.receiver.Sent()[before:]
	if len(sent) != 1 {
		w.t.Fatalf("%d requests", len(sent))
	}
	return sent[0]
}

// verify checks both signatures by the published rules, written out (D6, D7).
func (w *world) verify(r outbound.Request, secret string, ticket int64) {
	w.t.Helper()
	mac := func(text string) []byte {
		m := hmac.New(sha256.New, []byte(secret))
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	ms, s, id := strconv.FormatInt(w.Clock.Now().UnixMilli(), 10), strconv.FormatInt(w.Clock.Now().Unix(), 10), fmt.Sprintf("approval-%d", ticket)
	for name, want := range map[string]string{
		"X-Bailing-Timestamp": ms, "X-Bailing-Signature": "sha256=" + hex.EncodeToString(mac(ms+"."+string(r.Body))),
		"Webhook-Id": id, "Webhook-Timestamp": s, "Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac(id+"."+s+"."+string(r.Body))),
		"Content-Type": "application/json",
	} {
		if got := r.Header.Get(name); got != want {
			w.t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != "POST" {
		w.t.Errorf("method %s", r.Method)
	}
}

// charge adds a tool that needs approval and is declared sensitive, with a rule that compares an argument.
func (w *world) charge() {
	w.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ShopTools(), jobtest.Op{
		Name: "card_charge", Method: "POST", Path: "/charges", Scope: "cards.charge",
		Capability: `"audit":{"sensitive":true},"approval":{"prompt":"Charge {number}?","when":[{"param":"number","op":"contains","value":"4"}]}`,
		Body:       `{"type":"object","properties":{"number":{"type":"string"}}}`,
	}, jobtest.Op{
		Name: "note_write", Method: "POST", Path: "/notes", Scope: "notes.write",
		Capability: `"approval":{"when":[{"param":"text","op":"exists"}]}`,
		Body:       `{"type":"object","properties":{"text":{"type":"string"}}}`,
	}, jobtest.Op{
		Name: "pay", Method: "POST", Path: "/payments", Scope: "payments.write", Capability: `"risk":{"level":"high"},"approval":{"prompt":"Pay {amount} to {to}?"}`,
		Body: `{"type":"object","properties":{"amount":{"type":"integer"},"to":{"type":"string"},"note":{"type":"string"}}}`,
	})...))
}

func (w *world) saveClient(id string) string {
	return w.SaveClient(registry.Client{AppID: id, AllowedRoutes: []string{"*"}, Enabled: true})
}
