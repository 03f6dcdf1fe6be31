package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/provider"
)

func (w *world) debug(tool, args string, adjust ...func(*provider.Debug)) (provider.Debugged, error) {
	w.t.Helper()
	d := provider.Debug{Tool: tool, Args: value(w.t, args)}
	for _, f := range adjust {
		f(&d)
	}
	return w.Debug(w.t.Context(), "shop", d, byAdmin)
}

func risky(d *provider.Debug) { d.AllowRisky = true }

func subject(s string) func(*provider.Debug) { return func(d *provider.Debug) { d.OnBehalfOf = s } }
func inJob(id string) func(*provider.Debug)  { return func(d *provider.Debug) { d.JobID = id } }

func debugWorld(t *testing.T) *world {
	w := setup(t)
	w.inline(spec(read(), pay("high"),
		operation("note_add", "post", "/notes", `,"scope":"note.write"`, `"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"text":{"type":"string","description":"t"}}}}}}`),
		operation("move", "post", "/move", `,"scope":"x.move","audit":{"sensitive":true},"approval":{"when":[{"param":"n","op":">","value":10}]}`, `"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"n":{"type":"integer","description":"n"}}}}}}`),
		operation("item", "get", "/items/{id}", `,"scope":"item.read"`, `"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","description":"id"}},{"name":"q","in":"query","schema":{"type":"string","description":"q"}}]`),
	), "")
	w.business.handler = func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte(`{"path":"` + r.URL.Path + `"}`))
	}
	return w
}

func TestADebugCallShowsWhatIsSentAndAnswered(t *testing.T) {
	t.Parallel()
	w := debugWorld(t)
	got, err := w.debug("item", `{"id":"A 1","q":"x"}`, subject("u_1"), inJob("job-7"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(got)
	want := `{"ok":true,"request":{"method":"GET","url":"` + w.business.URL + `/items/A%201?q=x","path_with_query":"/items/A%201?q=x","body":"",
		"on_behalf_of":"u_1","job_id":"job-7","headers":{"x-bailing-timestamp":"1796053968","x-bailing-signature":"sha256=[REDACTED]",
		"x-bailing-job-id":"job-7","x-bailing-client":"admin-debug","x-bailing-on-behalf-of":"u_1","x-bailing-tool-scope":"item.read"},
		"signature_material":{"timestamp":"1796053968","method":"GET","path_with_query":"/items/A%201?q=x",
		"body_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","on_behalf_of":"u_1","job_id":"job-7"}},
		"response":{"status":200,"duration_ms":0,"text":"{\"path\":\"/items/A 1\"}","truncated":false}}`
	var x, y any
	if err := errors.Join(json.Unmarshal(b, &x), json.Unmarshal([]byte(want), &y)); err != nil || !reflect.DeepEqual(x, y) {
		t.Fatalf("%v\n%s\nwant\n%s", err, b, want)
	}
	if names := w.events(); !reflect.DeepEqual(names, []string{"tool_debug_invoke", "tool_debug_invoke"}) {
		t.Fatalf("audit records %v", names)
	}
	if changes := w.store.Changes(); changes[len(changes)-1].Path != "tool-providers/shop" {
		t.Fatalf("%+v", changes)
	}
}

func TestADebugCallThatNeedsApprovalIsBlocked(t *testing.T) {
	t.Parallel()
	for args, tool := range map[string]string{`{"amount":1}`: "order_pay", `{"n":11}`: "move"} {
		w := debugWorld(t)
		got, err := w.debug(tool, args)
		if err != nil || got.OK || !got.Blocked || got.Reason == "" || got.Response != nil || got.Request.Body != args || len(w.business.seen()) != 0 {
			t.Fatalf("%s: %+v %v", tool, got, err)
		}
		if got, err = w.debug(tool, args, risky); err != nil || !got.OK || len(w.business.seen()) != 1 {
			t.Fatalf("%s allowed: %+v %v", tool, got, err)
		}
		key := w.business.seen()[0].header.Get("X-Bailing-Idempotency-Key")
		if _, err = w.debug(tool, args, risky); err != nil || key == "" || w.business.seen()[1].header.Get("X-Bailing-Idempotency-Key") == key {
			t.Fatalf("%s: two debug calls are two calls: key %q %v", tool, key, err)
		}
	}
	w := debugWorld(t)
	if got, err := w.debug("move", `{"n":10}`); err != nil || !got.OK {
		t.Fatalf("below the rule: %+v %v", got, err)
	}
}

func TestDebugCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := debugWorld(t)
	for name, c := range map[string]struct {
		tool, args string
		adjust     func(*provider.Debug)
		code       apierr.Code
		says       string
	}{
		"unknown tool":                {"nothing", `{}`, risky, apierr.NotFound, "no such tool"},
		"undeclared argument":         {"item", `{"id":"a","z":1}`, risky, apierr.Invalid, "unknown_arguments:z"},
		"missing argument":            {"item", `{}`, risky, apierr.Invalid, "missing_required:id"},
		"a path that would escape":    {"item", `{"id":".."}`, risky, apierr.Invalid, "do not fit"},
		"a rule that cannot decide":   {"move", `{"n":"11"}`, risky, apierr.Invalid, "argument_type"},
		"no subject":                  {"order_list", `{}`, risky, apierr.Invalid, "needs on_behalf_of"},
		"a subject with a line break": {"order_list", `{}`, subject("a\nb"), apierr.Invalid, "control characters"},
		"a subject that is no text":   {"order_list", `{}`, subject("\xed\xa0\x80"), apierr.Invalid, "valid text"},
		"a subject with spaces":       {"order_list", `{}`, subject(" a"), apierr.Invalid, "spaces"},
		"a subject of 192":            {"order_list", `{}`, subject(strings.Repeat("s", 192)), apierr.Invalid, "at most 191"},
		"a write in a job's name":     {"note_add", `{"text":"x"}`, inJob("job-7"), apierr.Invalid, "in the name of a job"},
		"a job id of 192":             {"item", `{"id":"a"}`, inJob(strings.Repeat("j", 192)), apierr.Invalid, "at most 191"},
	} {
		_, err := w.debug(c.tool, c.args, c.adjust)
		if apierr.CodeOf(err) != c.code || !strings.Contains(apierr.Of(err).Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.debug("order_list", `{}`, subject(strings.Repeat("s", 191))); err != nil {
		t.Errorf("a subject of 191: %v", err)
	}
	sent := len(w.business.seen())
	w.inline(spec(), `,"enabled":false`)
	if _, err := w.debug("order_list", `{}`, subject("u")); apierr.CodeOf(err) != apierr.Invalid {
		t.Errorf("disabled: %v", err)
	}
	if _, err := w.Debug(t.Context(), "nobody", provider.Debug{}, byAdmin); apierr.CodeOf(err) != apierr.NotFound {
		t.Errorf("unknown provider: %v", err)
	}
	if sent != 1 || len(w.business.seen()) != 1 {
		t.Errorf("%d requests", len(w.business.seen()))
	}
}

// No record, no request (I2).
func TestADebugCallIsRecordedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	w := debugWorld(t)
	w.store.BeforeNote = func(string) error { return errors.New("the ledger is down") }
	if _, err := w.debug("note_add", `{"text":"x"}`); err == nil || len(w.business.seen()) != 0 {
		t.Fatalf("%v, %d requests", err, len(w.business.seen()))
	}
	// The record of the result comes too late to stop anything.
	n := 0
	w.store.BeforeNote = func(string) error {
		if n++; n == 2 {
			return errors.New("the ledger is down")
		}
		return nil
	}
	if got, err := w.debug("note_add", `{"text":"x"}`); err != nil || !got.OK {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestADebugCallWithoutAnAnswerSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, args string
		handler    func(w *world) http.HandlerFunc
		response   bool
	}{
		"a write that hangs": {"note_add", `{}`, func(w *world) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { <-w.business.release }
		}, false},
		"a read that breaks off": {"item", `{"id":"a"}`, func(*world) http.HandlerFunc {
			return func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Length", "10")
				_, _ = rw.Write([]byte("x"))
			}
		}, false},
		"a write that a proxy lost": {"note_add", `{}`, func(*world) http.HandlerFunc {
			return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGatewayTimeout) }
		}, true},
	} {
		w := debugWorld(t)
		w.business.handler = c.handler(w)
		before := w.clock.Now()
		w.passing(func(ctx context.Context) {
			got, err := w.debug(c.tool, c.args)
			if err != nil || got.OK || got.State != "reconciliation_required" || (got.Response != nil) != c.response {
				t.Errorf("%s: %+v %v", name, got, err)
			}
		})
		if w.clock.Now().Sub(before) > provider.Budget+time.Second {
			t.Errorf("%s: it took longer than its budget", name)
		}
		if n := len(w.business.seen()); n != 1 {
			t.Errorf("%s: sent %d times", name, n)
		}
	}
}

func TestTheAuditOfADebugCallFollowsThePayloadRules(t *testing.T) {
	t.Parallel()
	w := debugWorld(t)
	if _, err := w.debug("move", `{"n":7}`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.debug("note_add", `{"text":"hello"}`); err != nil {
		t.Fatal(err)
	}
	events := w.store.Events()
	if got := events[0].Detail["args"]; !reflect.DeepEqual(got, []string{"n"}) {
		t.Errorf("a sensitive tool: %v", got)
	}
	if got := events[2].Detail["args"]; !reflect.DeepEqual(got, json.RawMessage(`{"text":"hello"}`)) {
		t.Errorf("an ordinary tool: %s", got)
	}
	b, _ := json.Marshal(events)
	if strings.Contains(string(b), secret) || strings.Contains(string(b), "sha256=") {
		t.Error("a record holds a secret or a signature")
	}
}

func TestALongAnswerIsCutForDisplay(t *testing.T) {
	t.Parallel()
	for n, truncated := range map[int]bool{8192: false, 8193: true} {
		w := debugWorld(t)
		w.business.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(strings.Repeat("x", n))) }
		got, err := w.debug("item", `{"id":"a"}`)
		if err != nil || len(got.Response.Text) != 8192 || got.Response.Truncated != truncated {
			t.Errorf("%d: %d %v %v", n, len(got.Response.Text), got.Response.Truncated, err)
		}
	}
}

// A megabyte of arguments is sent, and not shown three times over.
func TestALongRequestIsCutForDisplay(t *testing.T) {
	t.Parallel()
	w := debugWorld(t)
	for n, truncated := range map[int]bool{100: false, 100_000: true} {
		text := strings.Repeat("x", n)
		got, err := w.debug("note_add", `{"text":"`+text+`"}`)
		if err != nil || got.Request.Truncated != truncated || len(got.Request.Body) > 65_536 {
			t.Fatalf("%d: %v %v, %d bytes", n, err, got.Request.Truncated, len(got.Request.Body))
		}
		if seen := w.business.seen(); seen[len(seen)-1].body != `{"text":"`+text+`"}` {
			t.Fatalf("%d: another body was sent", n)
		}
	}
}
