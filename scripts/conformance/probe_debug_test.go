package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// inline stores the business as "shop" with the specification sent along.
func (s *shop) inline(more object) {
	s.t.Helper()
	o := object{"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec}
	for k, v := range more {
		o[k] = v
	}
	s.saved(o)
}

// asked are the debug calls that the business got: those of no job.
func (s *shop) asked() []call { return s.b.of("") }

// What a person would have to approve is shown and not sent (core §10.3).
func TestDebugCallsThatNeedAnApprovalAreOnlyShown(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.inline(nil)
	for _, body := range []string{
		`{"tool":"pay","args":{"to":"x"}}`, `{"tool":"pay"}`, `{"tool":"ask_first","allow_risky":false}`, `{"tool":"ask_first","allow_risky":null}`,
		`{"tool":"transfer","args":{"amount":1001}}`, `{"tool":"transfer","args":{"amount":1000.0000001}}`, `{"tool":"transfer","args":{"amount":1e300}}`,
	} {
		a := s.call("debug-invoke", body)
		o := a.object(t)
		if a.status != http.StatusOK || o["ok"] != false || o["blocked"] != true || o["reason"] == "" || o["response"] != nil {
			t.Errorf("%s: %d %s", body, a.status, cut(a.body))
		}
		if request, ok := o["request"].(map[string]any); !ok || request["method"] != "POST" {
			t.Errorf("%s: the request is not shown: %s", body, cut(a.body))
		}
	}
	if calls := s.asked(); len(calls) > 0 {
		t.Fatalf("%d of them were sent", len(calls))
	}
	for i, body := range []string{
		`{"tool":"transfer","args":{"amount":1000}}`, `{"tool":"transfer","args":{"amount":1001},"allow_risky":true}`, `{"tool":"pay","allow_risky":true}`,
		`{"tool":"ask_first","allow_risky":true}`, `{"tool":"note","args":{}}`,
	} {
		a := s.call("debug-invoke", body)
		if o := a.object(t); a.status != http.StatusOK || o["ok"] != true || o["blocked"] != nil || len(s.asked()) != i+1 {
			t.Errorf("%s: %d %s, %d calls", body, a.status, cut(a.body), len(s.asked()))
		}
	}
	keys := map[string]bool{}
	for _, c := range s.asked() {
		keys[c.header.Get("X-Bailing-Idempotency-Key")] = true
		if !c.signed || c.header.Get("X-Bailing-Client") != "admin-debug" {
			t.Errorf("signed %v: %v", c.signed, c.header)
		}
	}
	if len(keys) != 5 || keys[""] {
		t.Errorf("calls with side effects share keys: %v", keys)
	}
}

func TestDebugCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.inline(nil)
	long := strings.Repeat("u", 191)
	for _, tc := range []struct {
		body   string
		status int
	}{
		{"", 400}, {"null", 400}, {"[]", 400}, {`"read_thing"`, 400}, {"{", 400}, {"{}", 400},
		{`{"tool":null}`, 400}, {`{"tool":""}`, 400}, {`{"tool":["read_thing"]}`, 400},
		{`{"tool":"nope"}`, 404}, {`{"tool":"READ_THING"}`, 404}, {`{"tool":"read_thing "}`, 404},

		{`{"tool":"read_thing"}`, 400}, {`{"tool":"read_thing","args":null}`, 400}, {`{"tool":"read_thing","args":[]}`, 400},
		{`{"tool":"read_thing","args":"{}"}`, 400}, {`{"tool":"read_thing","args":{"id":7}}`, 400}, {`{"tool":"read_thing","args":{"id":""}}`, 400},
		{`{"tool":"read_thing","args":{"id":"1","more":1}}`, 400}, {`{"tool":"read_thing","args":{"id":".."}}`, 400},
		{`{"tool":"read_thing","args":{"id":"1","id":"2"}}`, 400}, {`{"tool":"read_thing","args":{"id":"1"},"subject":"u"}`, 400},

		{`{"tool":"pay","allow_risky":"true"}`, 400}, {`{"tool":"pay","allow_risky":1}`, 400}, {`{"tool":"pay","Allow_Risky":true}`, 400},

		{`{"tool":"whoami"}`, 400}, {`{"tool":"whoami","on_behalf_of":""}`, 400}, {`{"tool":"whoami","on_behalf_of":" "}`, 400},
		{`{"tool":"whoami","on_behalf_of":5}`, 400}, {`{"tool":"whoami","on_behalf_of":"u\r\nX-Evil: 1"}`, 400},
		{`{"tool":"whoami","on_behalf_of":"u\u0000"}`, 400}, {`{"tool":"whoami","on_behalf_of":"\u007f"}`, 400},
		{`{"tool":"whoami","on_behalf_of":"` + long + `u"}`, 400}, {`{"tool":"whoami","on_behalf_of":"` + strings.Repeat("😀", 96) + `"}`, 400},
		{`{"tool":"whoami","on_behalf_of":"\ud800"}`, 400}, {`{"tool":"whoami","on_behalf_of":"u","job_id":"\ud800"}`, 400},
		{`{"tool":"whoami","on_behalf_of":"u","job_id":"a\nb"}`, 400}, {`{"tool":"whoami","on_behalf_of":"u","job_id":"` + long + `j"}`, 400},

		{`{"tool":"note","job_id":"j"}`, 400}, {`{"tool":"pay","job_id":"j","allow_risky":true}`, 400},
	} {
		a := s.call("debug-invoke", tc.body)
		if a.status != tc.status {
			t.Errorf("%.80s: %d, want %d: %s", tc.body, a.status, tc.status, cut(a.body))
			continue
		}
		wantError(t, a, tc.status, "")
	}
	wantError(t, s.call("debug-invoke", `{"tool":"read_thing","args":{"id":"`+strings.Repeat("x", 1<<20)+`"}}`), 413, "payload too large")
	refused := len(s.asked())
	if refused > 0 {
		t.Errorf("%d of them were sent", refused)
	}
	for _, subject := range []string{long, strings.Repeat("😀", 95), "日本", "u 42"} {
		a := s.call("debug-invoke", asJSON(t, object{"tool": "whoami", "on_behalf_of": subject, "job_id": long}))
		var sent call
		if calls := s.b.of(long); len(calls) > 0 {
			sent = calls[len(calls)-1]
		}
		if a.status != http.StatusOK || sent.header.Get("X-Bailing-On-Behalf-Of") != subject || !sent.signed {
			t.Errorf("%.20s: %d %s", subject, a.status, cut(a.body))
		}
	}
	s.inline(object{"enabled": false})
	wantError(t, s.call("debug-invoke", `{"tool":"read_thing","args":{"id":"1"}}`), 400, "")
	s.post("/admin/api/tool-providers", s.admin, asJSON(t, object{"name": "bare", "base_url": s.b.url, "secret": secret}))
	wantError(t, s.post("/admin/api/tool-providers/bare/debug-invoke", s.admin, `{"tool":"read_thing"}`), 400, "")
	if n := len(s.asked()) - refused; n > 0 {
		t.Errorf("%d calls of providers that cannot be called", n)
	}
}

// An answer shows what was sent, but nothing that could be used again.
func TestDebugAnswersShowNoSignature(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.inline(nil)
	seen := ""
	for _, body := range []string{
		`{"tool":"read_thing","args":{"id":"a/b ü"},"on_behalf_of":"u_1"}`, `{"tool":"note","args":{"title":"n"}}`, `{"tool":"pay","args":{"to":"x"}}`,
	} {
		seen += string(s.call("debug-invoke", body).body)
	}
	seen += asJSON(t, s.entry()) + string(s.call("tools", "").body)
	for _, c := range s.asked() {
		if sent := c.header.Get("X-Bailing-Signature"); sent == "" || strings.Contains(seen, strings.TrimPrefix(sent, "sha256=")) {
			t.Errorf("the signature %q is shown", sent)
		}
	}
	if strings.Contains(seen, secret) || strings.Count(seen, "[REDACTED]") != 3 {
		t.Errorf("shown: %s", seen)
	}
	// What is shown is what was signed: whoever debugs can compute it.
	var shown struct {
		Request struct {
			Headers  map[string]string
			Body     string
			Path     string            `json:"path_with_query"`
			Material map[string]string `json:"signature_material"`
		}
	}
	a := s.call("debug-invoke", `{"tool":"read_thing","args":{"id":"a/b ü"},"on_behalf_of":"u_1"}`)
	if err := json.Unmarshal(a.body, &shown); err != nil {
		t.Fatal(err)
	}
	calls := s.asked()
	got, r := calls[len(calls)-1], shown.Request
	want := signature(secret, r.Material["timestamp"], r.Material["method"], r.Path, r.Body, r.Material["on_behalf_of"], r.Material["job_id"])
	if got.uri != r.Path || got.header.Get("X-Bailing-Signature") != want {
		t.Errorf("sent %s with %v, shown %+v", got.uri, got.header, r)
	}
	for name, value := range r.Headers {
		if name != "x-bailing-signature" && got.header.Get(name) != value {
			t.Errorf("header %s: sent %q, shown %q", name, got.header.Get(name), value)
		}
	}
}

func TestDebugAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	front := startCanned(t)
	s.inline(object{"base_url": front.url})
	for _, tc := range []struct {
		status  int
		body    string
		text    string
		ok, cut bool
	}{
		{200, "", "", true, false},
		{200, strings.Repeat("x", 8192), strings.Repeat("x", 8192), true, false},
		{200, strings.Repeat("x", 8193), strings.Repeat("x", 8192), true, true},
		{200, "x" + strings.Repeat("😀", 4096), "x" + strings.Repeat("😀", 4095), true, true},
		{200, strings.Repeat("x", 2<<20), strings.Repeat("x", 8192), true, true},
		{200, "\xff\xfe", "\ufffd", true, false},
		{302, "moved", "moved", false, false},
		{404, `{"error":"no"}`, `{"error":"no"}`, false, false},
		{500, "<html>", "<html>", false, false},
	} {
		front.say(tc.status, tc.body, s.b.url+"/items/1")
		a := s.call("debug-invoke", `{"tool":"big"}`)
		o := a.object(t)
		r, _ := o["response"].(map[string]any)
		same := r["status"] == json.Number(fmt.Sprint(tc.status)) && r["text"] == tc.text && r["truncated"] == tc.cut
		if a.status != http.StatusOK || o["ok"] != tc.ok || !same {
			t.Errorf("%d %.20q: %d %.300s", tc.status, tc.body, a.status, a.body)
		}
	}
	if calls := s.asked(); len(calls) > 0 {
		t.Error("a redirect was followed")
	}
}

// A call whose answer does not come is never sent again; whether the business acted must be looked up there.
func TestDebugCallsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.inline(object{"spec_json": strings.NewReplacer(`"/notes"`, `"/reset-note"`, `"/big"`, `"/reset-big"`).Replace(shopSpec)})
	for i, tool := range []string{"note", "big"} {
		a := s.call("debug-invoke", `{"tool":"`+tool+`"}`)
		o := a.object(t)
		if a.status != http.StatusOK || o["ok"] != false || o["response"] != nil || o["reason"] == nil || o["request"] == nil {
			t.Errorf("%s: %d %s", tool, a.status, cut(a.body))
		}
		if o["governance_state"] != "reconciliation_required" { // core §5.9: of reads, too
			t.Errorf("%s: state %v", tool, o["governance_state"])
		}
		if n := len(s.asked()); n != i+1 {
			t.Errorf("%s: sent %d times", tool, n-i)
		}
	}
}

// Arguments take up to three times their room in a URL, and an answer shows it twice; all the same it comes, or the call is refused.
func TestLargeDebugArguments(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.inline(nil)
	for _, filling := range []string{"x", "本", `\"`, `\u0001`} {
		for _, form := range []string{`{"tool":"read_thing","args":{"id":"%s"}}`, `{"tool":"note","args":{"title":"%s"}}`} {
			a := s.call("debug-invoke", fmt.Sprintf(form, strings.Repeat(filling, 1_000_000/len(filling))))
			if a.status != http.StatusOK && a.status != http.StatusBadRequest && a.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of %s: %d %s", form, filling, a.status, cut(a.body))
			}
		}
	}
}
