package toolcall_test

import (
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
	"bailing/shared/signature"
	"bailing/shared/toolcall"
)

func TestReadIsSentSigned(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u-1"}`)
	c.Clock.Advance(90 * time.Second)
	if o := c.invoke("order_get", `{"note":"a b~","id":"SO/1"}`); !o.OK {
		t.Fatalf("%+v", o)
	}
	r := c.Business.Sent()[0]
	const pathQuery = "/orders/SO%2F1?note=a+b%7E"
	if r.Method != "GET" || r.URL != jobtest.BaseURL+pathQuery || len(r.Body) != 0 {
		t.Errorf("%s %s with a body of %d bytes", r.Method, r.URL, len(r.Body))
	}
	want := map[string]string{
		"X-Bailing-Timestamp":    "4086590490", // seconds (D6)
		"X-Bailing-Job-Id":       c.job.ID,
		"X-Bailing-Client":       jobtest.Client,
		"X-Bailing-Tool-Scope":   "orders.read",
		"X-Bailing-On-Behalf-Of": "u-1",
	}
	for name, value := range want {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if len(r.Header) != len(want)+1 || !strings.HasPrefix(r.Header.Get("X-Bailing-Signature"), "sha256=") {
		t.Errorf("headers %v: nothing but those of core §3.2", r.Header)
	}
	// The path prefix of the base URL is not signed (core §3.1).
	verify(t, c, r, pathQuery)
	if !r.OneSend || r.MaxResponse != 1<<20 || r.Timeout != 10*time.Second {
		t.Errorf("one send %v, at most %d bytes, timeout %v", r.OneSend, r.MaxResponse, r.Timeout)
	}
}

func TestBodyIsSentInTheOrderOfItsArguments(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	if o := c.invoke("price_check", "{ \"sku\" : \"<ü>\",\n\"count\":1.0 }"); !o.OK {
		t.Fatalf("%+v", o)
	}
	r := c.Business.Sent()[0]
	if r.Method != "PUT" || string(r.Body) != `{"sku":"<ü>","count":1}` || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %s", r.Method, r.Body, r.Header.Get("Content-Type"))
	}
	for _, absent := range []string{"X-Bailing-On-Behalf-Of", "X-Bailing-Idempotency-Key", "X-Bailing-Conversation", "X-Bailing-Tool"} {
		if _, present := r.Header[absent]; present {
			t.Errorf("%s is sent", absent)
		}
	}
	verify(t, c, r, "/prices")
}

func TestDeclaredHeadersAndTimeout(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	ops := jobtest.ShopTools()
	ops[0].Params = strings.Replace(ops[0].Params, `"in":"query"`, `"in":"header"`, 1)
	ops[0].Capability = `"execution":{"timeout_ms":2500}`
	c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	if o := c.invoke("order_get", `{"id":"1","note":"x y"}`); !o.OK {
		t.Fatalf("%+v", o)
	}
	r := c.Business.Sent()[0]
	if r.Header.Get("note") != "x y" || r.Timeout != 2500*time.Millisecond {
		t.Errorf("note %q, timeout %v", r.Header.Get("note"), r.Timeout)
	}
	verify(t, c, r, "/orders/1")
}

// An administrator's job has no client; the header is there and empty (core §3.2).
func TestAdministratorsJobNamesNoClient(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.start(jobtest.ServerToken, `{}`)
	if o := c.invoke("order_get", `{"id":"1"}`); !o.OK {
		t.Fatalf("%+v", o)
	}
	r := c.Business.Sent()[0]
	if got, present := r.Header["X-Bailing-Client"]; !present || len(got) != 1 || got[0] != "" {
		t.Errorf("X-Bailing-Client %q", got)
	}
	verify(t, c, r, "/orders/1")
}

func TestSignatureBindsTheCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u-1"}`)
	c.invoke("price_check", `{"sku":"a"}`)
	r := c.Business.Sent()[0]
	h := signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}
	good := signature.ToolCall{Method: "PUT", Path: "/prices", Body: r.Body, OnBehalfOf: "u-1", JobID: c.job.ID}
	for rule, change := range map[string]func(*signature.ToolCall){
		"method":  func(s *signature.ToolCall) { s.Method = "POST" },
		"path":    func(s *signature.ToolCall) { s.Path = "/api/prices" },
		"body":    func(s *signature.ToolCall) { s.Body = []byte(`{"sku":"b"}`) },
		"subject": func(s *signature.ToolCall) { s.OnBehalfOf = "u-2" },
		"job":     func(s *signature.ToolCall) { s.JobID = "other" },
	} {
		changed := good
		change(&changed)
		if signature.VerifyTool(jobtest.ProviderSecret, changed, h, c.Clock.Now()) == nil {
			t.Errorf("another %s verifies", rule)
		}
	}
}

// The first source of core §5.4 that is not empty.
func TestSubject(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	token := c.Seed()
	for _, tc := range []struct{ rule, metadata, want string }{
		{"nobody", `{"other":"x"}`, ""},
		{"the source's field", `{"user":"u","visitor_uid":"v","wecom_userid":"w"}`, "u"},
		{"a number", `{"user":42}`, "42"},
		{"white space around is dropped", `{"user":" u "}`, "u"},
		{"an empty field, and a visitor that a client asserts", `{"user":"","visitor_uid":"v","wecom_userid":"w"}`, ""},
		{"objects name nobody", `{"user":{"id":"u"}}`, ""},
		{"booleans name nobody", `{"user":true}`, ""},
		{"names in other scripts", `{"user":"李"}`, "李"},
	} {
		c.start(token, tc.metadata)
		before := len(c.Business.Sent())
		o := c.invoke("whoami", `{}`)
		if tc.want == "" {
			if o.Reason != "subject_required" || len(c.Business.Sent()) != before {
				t.Errorf("%s: %+v", tc.rule, o)
			}
			continue
		}
		sent := c.Business.Sent()
		if len(sent) != before+1 || sent[before].Header.Get("X-Bailing-On-Behalf-Of") != tc.want {
			t.Errorf("%s: outcome %+v, want the subject %q", tc.rule, o, tc.want)
			continue
		}
		verify(t, c, sent[before], "/me")
	}
}

func TestSubjectWithoutAField(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u"}`)
	source := jobtest.SupportRoute().Tools.Sources[0]
	if got, err := toolcall.SubjectOf(c.job, source); got != "u" || err != nil {
		t.Errorf("subject %q, %v", got, err)
	}
	source.SubjectField = ""
	if got, err := toolcall.SubjectOf(c.job, source); got != "" || err != nil {
		t.Errorf("subject %q, %v: a member named user means nothing by itself", got, err)
	}
}

// A subject that no header can carry stops the call: sent for nobody it could have more rights.
func TestASubjectThatCannotBeSentStopsTheCall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ rule, metadata, want string }{
		{"191 characters", `{"user":"` + strings.Repeat("u", 191) + `"}`, ""},
		{"192 characters", `{"user":"` + strings.Repeat("u", 192) + `"}`, "subject_invalid"},
		{"a line break", `{"user":"u\r\nX-Bailing-Job-Id: 1"}`, "subject_invalid"},
		{"a lone surrogate", `{"user":"\ud800"}`, "subject_invalid"},
	} {
		c := open(t, tc.metadata)
		if o := c.invoke("order_get", `{"id":"1"}`); o.Reason != tc.want {
			t.Errorf("%s: reason %q, want %q", tc.rule, o.Reason, tc.want)
		}
		if n := len(c.Business.Sent()); (tc.want == "") != (n == 1) {
			t.Errorf("%s: %d requests", tc.rule, n)
		}
	}
}

// What the hub itself notes about chat visitors and channel users is not believed when a client says it.
func TestAClientCannotAssertAVisitor(t *testing.T) {
	t.Parallel()
	source := registry.ToolSource{Provider: "shop"}
	for _, tc := range []struct {
		rule string
		job  job.Job
		want string
	}{
		{"a client's job", job.Job{Owner: "acme", Source: "acme", Metadata: []byte(`{"visitor_uid":"v","wecom_userid":"w"}`)}, ""},
		{"a chat job", job.Job{Source: "chat:pub_1", Metadata: []byte(`{"visitor_uid":"v"}`)}, "v"},
		{"a channel's job", job.Job{Source: "wecom:main", Metadata: []byte(`{"wecom_userid":"w"}`)}, "wecom:w"},
	} {
		if got, err := toolcall.SubjectOf(&tc.job, source); got != tc.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", tc.rule, got, err, tc.want)
		}
	}
}
