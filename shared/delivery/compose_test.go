package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/registry"
)

func ended() *job.Job {
	return &job.Job{
		ID: "fde28e3e-23c0-490e-9b51-ea880b1c3c87", RequestID: "r-1", Status: job.Done, Owner: "shop", Source: "shop", SessionID: "s", ThreadID: 7,
		CallbackURL: "https://shop.example/cb", Input: "Where?", Metadata: json.RawMessage(`{"order":12345678901234567890}`),
		Snapshot: job.Snapshot{
			RouteKey: "orders", RouteName: "Order <desk>", Target: "llm", TargetConfig: json.RawMessage(`{"system_prompt":"secret"}`),
			Delivery: &registry.Delivery{Type: registry.DeliveryWebhook, URL: "https://shop.example/hook"},
		},
		Result:    json.RawMessage(`{"text":"It is <there>."}`),
		CreatedAt: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), UpdatedAt: time.Date(2026, 7, 1, 12, 0, 1, 5_000_000, time.UTC),
	}
}

func compose(t *testing.T, j *job.Job, terminal int) []delivery.Draft {
	t.Helper()
	drafts, _, err := delivery.Compose(j, terminal)
	if err != nil {
		t.Fatal(err)
	}
	return drafts
}

func members(t *testing.T, b []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Core §2.4, D5: what GET /jobs/{id} shows, and the number of this end.
func TestCallbackIsTheJobsViewAndItsNumber(t *testing.T) {
	t.Parallel()
	j := ended()
	d := compose(t, j, 3)[0]
	if d.Key != (job.OutboxKey{JobID: j.ID, Terminal: 3, Target: job.ToCallback}) || d.URL != j.CallbackURL || d.Dead != "" {
		t.Errorf("draft %+v", d)
	}
	got := members(t, d.Body)
	view, err := json.Marshal(job.ViewOf(j))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range members(t, view) {
		var a, b any
		if json.Unmarshal(got[name], &a) != nil || json.Unmarshal(want, &b) != nil || !equal(a, b) {
			t.Errorf("%s = %s, the view has %s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) != 1 || string(got["terminal_seq"]) != "3" {
		t.Errorf("members beside the view: %s", got)
	}
	if body := string(d.Body); strings.Contains(body, "secret") || !strings.Contains(body, `{"order":12345678901234567890}`) || !strings.Contains(body, "<there>") {
		t.Errorf("body %s", body)
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// Core §2.5 lists the members.
func TestDeliveryWebhook(t *testing.T) {
	t.Parallel()
	j := ended()
	d := compose(t, j, 1)[1]
	if d.Key.Target != job.ToDelivery || d.URL != "https://shop.example/hook" {
		t.Errorf("draft %+v", d)
	}
	want := `{"kind":"delivery","job_id":"fde28e3e-23c0-490e-9b51-ea880b1c3c87","request_id":"r-1","route_name":"Order <desk>","status":"done",` +
		`"message":"Order <desk>: done\nIt is <there>.","text":"It is <there>.","attachments":[],"report":null,"error":null,` +
		`"metadata":{"order":12345678901234567890},"finished_at":"2026-07-01T12:00:01.005Z","terminal_seq":1}`
	if string(d.Body) != want {
		t.Errorf("body %s\nwant %s", d.Body, want)
	}

	j.Status, j.Error, j.Result = job.Failed, "the model said no", json.RawMessage(`{"text":"half"}`)
	got := members(t, compose(t, j, 1)[1].Body)
	for name, want := range map[string]string{
		"status": `"error"`, "text": "null", "error": `"the model said no"`, "message": `"Order \u003cdesk\u003e: error\nthe model said no"`,
	} {
		var a, b any
		if json.Unmarshal(got[name], &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !equal(a, b) {
			t.Errorf("%s = %s, want %s", name, got[name], want)
		}
	}
}

func TestTheSummaryRepeatsAtMost1800Characters(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1800, 1801} {
		j := ended()
		j.Result = json.RawMessage(`{"text":"` + strings.Repeat("x", n) + `"}`)
		var w struct{ Message, Text string }
		if err := json.Unmarshal(compose(t, j, 1)[1].Body, &w); err != nil {
			t.Fatal(err)
		}
		if got := len(w.Message) - len("Order <desk>: done\n"); got != 1800 || len(w.Text) != n {
			t.Errorf("of %d characters the summary has %d and text %d", n, got, len(w.Text))
		}
	}
}

func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, metadata string
		callback, hook bool
		skipped        bool
	}{
		{"both", `{}`, true, true, false},
		{"no_delivery leaves the delivery out", `{"no_delivery":true}`, true, false, true},
		{"any true value does", `{"no_delivery":1}`, true, false, true},
		{"a text, too", `{"no_delivery":"yes"}`, true, false, true},
		{"an object, too", `{"no_delivery":{}}`, true, false, true},
		{"false does not", `{"no_delivery":false}`, true, true, false},
		{"nor null, 0 and an empty text", `{"no_delivery":null}`, true, true, false},
		{"nor 0", `{"no_delivery":0}`, true, true, false},
		{"nor an empty text", `{"no_delivery":""}`, true, true, false},
	} {
		j := ended()
		j.Metadata = json.RawMessage(tc.metadata)
		drafts, skipped, err := delivery.Compose(j, 1)
		if err != nil {
			t.Fatal(err)
		}
		hook := len(drafts) == 2
		if hook != tc.hook || drafts[0].Key.Target != job.ToCallback || (skipped != "") != tc.skipped {
			t.Errorf("%s: %d drafts, skipped %q", tc.rule, len(drafts), skipped)
		}
	}
	j := ended()
	j.CallbackURL, j.Snapshot.Delivery = "", nil
	if drafts := compose(t, j, 1); len(drafts) != 0 {
		t.Errorf("%d drafts for nobody", len(drafts))
	}
}
