package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"bailing/shared/approval/notify"
	"bailing/shared/delivery"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

// Core §2.3, for a message that a task repeats: which answers end it, and which ask for another try.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule   string
		status int
		err    error
		again  bool
		ok     bool
	}{
		{"2xx ends it", 204, nil, false, true},
		{"500 is tried again", 500, nil, true, false},
		{"503 is tried again", 503, nil, true, false},
		{"408 is tried again", 408, nil, true, false},
		{"425 is tried again", 425, nil, true, false},
		{"429 is tried again", 429, nil, true, false},
		{"a redirect is final (D14)", 302, nil, false, false},
		{"400 is final", 400, nil, false, false},
		{"404 is final", 404, nil, false, false},
		{"410 is final", 410, nil, false, false},
		{"a timeout is tried again", 0, &outbound.Error{Phase: outbound.PhaseHeaders, Timeout: true}, true, false},
		{"a refused connection is tried again", 0, &outbound.Error{Phase: outbound.PhaseDial}, true, false},
		{"a blocked address is final (I7)", 0, &outbound.Error{Phase: outbound.PhaseBlocked}, false, false},
		{"an answer whose body does not end counts by its status", 0, &outbound.Error{Phase: outbound.PhaseBody, Status: 200}, false, true},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			w := setup(t, webhook("business_webhook"))
			asked := w.refund()
			w.receiver.Answer(func(outbound.Request) (*outbound.Response, error) {
				if tc.err != nil {
					return nil, tc.err
				}
				return jobtest.Response(tc.status, "canary"), nil
			})
			err := w.teller.Tell(t.Context(), asked)
			if (err != nil) != tc.again {
				t.Errorf("%v", err)
			}
			e := w.Events(asked.JobID, "approval_intent_webhook")
			if len(e) != 1 || e[0].Detail["ok"] != tc.ok || e[0].Detail["final"] != !tc.again || (e[0].Detail["reason"] == nil) != tc.ok {
				t.Errorf("audit %+v", e)
			}
			if b, _ := json.Marshal(e); strings.Contains(string(b)+w.Logs.String(), "canary") {
				t.Error("the answer's body is on record")
			}
		})
	}
}

// Every attempt has the same bytes and id, is signed anew and is on record.
func TestARepeatedMessage(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	asked := w.refund()
	w.receiver.Respond(500, "")
	if w.teller.Tell(t.Context(), asked) == nil {
		t.Error("no error")
	}
	first := w.receiver.Sent()[0]
	w.verify(first, w.token, asked.ID)
	w.Clock.Advance(30e9)
	w.receiver.Respond(200, "")
	second := w.tell(asked)
	w.verify(second, w.token, asked.ID)
	if string(first.Body) != string(second.Body) || first.Header.Get("webhook-id") != second.Header.Get("webhook-id") {
		t.Error("the second attempt has other bytes or another id")
	}
	third := w.tell(asked) // the task died before its record, and runs again
	if string(third.Body) != string(first.Body) || len(w.Events(asked.JobID, "approval_intent_webhook")) < 2 {
		t.Errorf("%d records", len(w.Events(asked.JobID, "approval_intent_webhook")))
	}
}

// Core §2.2 and §11.9: whose token signs.
func TestWhichSecretSigns(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	mine := w.refund()
	rotated := w.SaveClient(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, Enabled: true})
	w.verify(w.tell(mine), rotated, mine.ID)
	admins := w.ask(jobtest.ServerToken, "refund", `{"order":"SO-2"}`)
	w.verify(w.tell(admins), jobtest.ServerToken, admins.ID)
	other := w.ask(w.saveClient("other"), "refund", `{"order":"SO-3"}`)
	w.configure("")
	w.teller.Alerts = notify.Target{Type: "webhook", URL: "https://ops.example/secret-path"}
	r := w.tell(other)
	w.verify(r, jobtest.ServerToken, other.ID)
	if r.URL != "https://ops.example/secret-path" {
		t.Errorf("to %s", r.URL)
	}
	if e := w.Events(other.JobID, "approval_notify"); len(e) != 1 || e[0].Detail["recipient"] != "alerts" {
		t.Errorf("audit %+v", e)
	}
	if strings.Contains(w.Logs.String(), "secret-path") {
		t.Error("the operator's address is logged")
	}
	w.poster.ServerToken = ""
	if err := w.teller.Tell(t.Context(), admins); err != nil {
		t.Errorf("%v", err)
	}
	if e := w.Events(admins.JobID, "approval_notify"); len(e) != 1 || e[0].Detail["ok"] != false || e[0].Detail["final"] != true {
		t.Errorf("audit %+v", e)
	}
}

// Core §6.4: the route, else the hub's alerts, else nobody.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	alerts := notify.Target{Type: "webhook", URL: "https://ops.example/alerts"}
	for _, tc := range []struct {
		rule, route string
		alerts      notify.Target
		url         string // "" = nobody
		reason      string
	}{
		{"the route", webhook("business_webhook"), alerts, receiverURL, ""},
		{"the alerts, when the route says nothing", "", alerts, "https://ops.example/alerts", ""},
		{"a business, by the alerts", "", notify.Target{Type: "business_webhook", URL: "https://ops.example/b"}, "https://ops.example/b", ""},
		{"nobody", "", notify.Target{}, "", "not_configured"},
		{"an executor of the route", `{"type":"wecom","to":"boss"}`, alerts, "", "type_not_available"},
		{"an executor of the alerts", "", notify.Target{Type: "wecom"}, "", "type_not_available"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			w := setup(t, tc.route)
			asked := w.refund()
			w.teller.Alerts = tc.alerts
			if tc.url != "" {
				if r := w.tell(asked); r.URL != tc.url {
					t.Errorf("to %s", r.URL)
				}
				return
			}
			if err := w.teller.Tell(t.Context(), asked); err != nil || len(w.receiver.Sent()) != 0 {
				t.Errorf("%v, %d requests", err, len(w.receiver.Sent()))
			}
			e := w.Events(asked.JobID, "approval_notify_skipped")
			if len(e) != 1 || e[0].Detail["reason"] != tc.reason || e[0].Severity != "warning" {
				t.Errorf("audit %+v", e)
			}
		})
	}
}

// The route is read when the message is sent; one that is gone says nothing.
func TestTheRouteOfNow(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	asked := w.refund()
	w.configure(`{"type":"webhook","url":"https://acme.example/other"}`)
	if r := w.tell(asked); r.URL != "https://acme.example/other" {
		t.Errorf("to %s", r.URL)
	}
	asked.RouteKey = "gone"
	if err := w.teller.Tell(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if e := w.Events(asked.JobID, "approval_notify_skipped"); len(e) != 1 {
		t.Errorf("audit %+v", e)
	}
}

// A failure of the hub itself asks for another try, and is no answer of the receiver's.
func TestFailuresOfTheHub(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	w.charge()
	asked := w.ask(w.token, "card_charge", `{"number":"4111-canary"}`)
	failed := errors.New("out of order")
	tell := func(change func(*notify.Teller)) error {
		teller := *w.teller
		change(&teller)
		return teller.Tell(t.Context(), asked)
	}
	for rule, change := range map[string]func(*notify.Teller){
		"routes":  func(s *notify.Teller) { s.Routes = broken{failed} },
		"secrets": func(s *notify.Teller) { s.Secrets = broken{failed} },
		"token": func(s *notify.Teller) {
			s.Post = &delivery.Poster{Clients: w.Store.Clients(), Secrets: broken{failed}, Clock: w.Clock}
		},
		"log": func(s *notify.Teller) { s.Log = broken{failed} },
	} {
		if err := tell(change); !errors.Is(err, failed) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if e := w.Events(asked.JobID, "approval_intent_webhook"); len(e) != 0 {
		t.Errorf("audit %+v", e)
	}
	asked.Sealed, asked.Intent = "", []byte(`{"args":"4111-canary`)
	if err := tell(func(*notify.Teller) {}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

// An invocation that ends in the middle leaves no record of what nobody knows.
func TestAnEndedInvocation(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	asked := w.refund()
	ctx, cancel := context.WithCancel(t.Context())
	w.receiver.Answer(func(outbound.Request) (*outbound.Response, error) {
		cancel()
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders}
	})
	if err := w.teller.Tell(ctx, asked); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if e := w.Events(asked.JobID, "approval_intent_webhook"); len(e) != 0 {
		t.Errorf("audit %+v", e)
	}
}

// broken fails at everything.
type broken struct{ err error }

func (b broken) Get(context.Context, string) (*registry.Versioned[registry.Route], error) {
	return nil, b.err
}
func (b broken) Open(context.Context, string, envelope.Context) ([]byte, error) { return nil, b.err }
func (b broken) AddEvent(context.Context, string, job.Event) error              { return b.err }
