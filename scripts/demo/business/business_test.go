package business

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/clock"
)

type bundle struct {
	*Business
	t     *testing.T
	clock *clock.Manual
}

func setup(t *testing.T) bundle {
	t.Helper()
	t.Parallel()
	c := clock.NewManual(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	return bundle{New(Options{Secret: "tool-secret", CallbackSecret: "callback-secret", Clock: c}), t, c}
}

// request is signed by the formula of core §3.1, written out once more.
func (b bundle) request(method, path, body, subject string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	ts := strconv.FormatInt(b.clock.Now().Unix(), 10)
	digest := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte("tool-secret"))
	mac.Write([]byte(ts + "." + method + "." + path + "." + hex.EncodeToString(digest[:]) + "." + subject + ".job-1"))
	r.Header.Set("X-Bailing-Timestamp", ts)
	r.Header.Set("X-Bailing-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-Bailing-Job-Id", "job-1")
	if subject != "" {
		r.Header.Set("X-Bailing-On-Behalf-Of", subject)
	}
	return r
}

func (b bundle) send(r *http.Request) (int, map[string]any) {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		b.t.Fatalf("the answer is not JSON: %q", w.Body.String())
	}
	return w.Code, body
}

func TestOperations(t *testing.T) {
	const ticketBody = `{"subject":"Dented box","body":"It arrived dented.","order_no":"SO-1001"}`
	cases := []struct {
		name, method, path, body, subject string
		status                            int
		want                              map[string]any // members of the answer
	}{
		{"an order of one's own", "GET", "/orders/SO-1001", "", "u_42", 200,
			map[string]any{"order_no": "SO-1001", "status": "shipped", "carrier": "DHL", "eta": "2026-03-12", "total": 114.0, "currency": "EUR"}},
		{"somebody else's order", "GET", "/orders/SO-1005", "", "u_42", 403, map[string]any{"error": "forbidden"}},
		{"the other customer's view", "GET", "/orders/SO-1005", "", "u_7", 200, map[string]any{"order_no": "SO-1005"}},
		{"an order that does not exist", "GET", "/orders/SO-9999", "", "u_42", 404, map[string]any{"error": "order not found"}},
		{"no subject", "GET", "/orders/SO-1001", "", "", 403, map[string]any{"error": "forbidden"}},
		{"an unknown subject learns nothing", "GET", "/orders/SO-9999", "", "__bailing_authz_probe__:nobody", 403, map[string]any{"error": "forbidden"}},
		{"one's orders", "GET", "/orders", "", "u_7", 200, map[string]any{"total": 2.0}},
		{"orders by status", "GET", "/orders?status=shipped", "", "u_42", 200, map[string]any{"total": 1.0}},
		{"an unknown status", "GET", "/orders?status=lost", "", "u_42", 400, nil},
		{"the largest limit", "GET", "/orders?limit=50", "", "u_42", 200, map[string]any{"total": 4.0}},
		{"one past it", "GET", "/orders?limit=51", "", "u_42", 400, nil},
		{"limit zero", "GET", "/orders?limit=0", "", "u_42", 400, nil},
		{"searching without a subject", "GET", "/orders", "", "", 403, nil},
		{"a ticket", "POST", "/tickets", ticketBody, "u_42", 201, map[string]any{"ticket_no": "T-0001", "status": "open", "order_no": "SO-1001"}},
		{"a ticket about somebody else's order", "POST", "/tickets", ticketBody, "u_7", 403, nil},
		{"a ticket without text", "POST", "/tickets", `{"subject":"s"}`, "u_42", 400, nil},
		{"a title at its limit", "POST", "/tickets", `{"subject":"` + strings.Repeat("ü", 120) + `","body":"b"}`, "u_42", 201, nil},
		{"a title past it", "POST", "/tickets", `{"subject":"` + strings.Repeat("ü", 121) + `","body":"b"}`, "u_42", 400, nil},
		{"an unknown member", "POST", "/tickets", `{"subject":"s","body":"b","owner":"u_7"}`, "u_42", 400, nil},
		{"a body that is not JSON", "POST", "/tickets", `{`, "u_42", 400, nil},
		{"two documents", "POST", "/tickets", `{"subject":"s","body":"b"}{}`, "u_42", 400, nil},
		{"a refund of everything", "POST", "/refunds", `{"order_no":"SO-1001","amount":114.00,"reason":"r"}`, "u_42", 201,
			map[string]any{"refund_no": "R-0001", "order_no": "SO-1001", "amount": 114.0}},
		{"a cent more than everything", "POST", "/refunds", `{"order_no":"SO-1001","amount":114.01,"reason":"r"}`, "u_42", 409, nil},
		{"a refund of somebody else's order", "POST", "/refunds", `{"order_no":"SO-1005","amount":1,"reason":"r"}`, "u_42", 403, nil},
		{"a refund of a cancelled order", "POST", "/refunds", `{"order_no":"SO-1004","amount":1,"reason":"r"}`, "u_42", 409, nil},
		{"half a cent", "POST", "/refunds", `{"order_no":"SO-1001","amount":0.015,"reason":"r"}`, "u_42", 400, nil},
		{"nothing", "POST", "/refunds", `{"order_no":"SO-1001","amount":0,"reason":"r"}`, "u_42", 400, nil},
		{"less than nothing", "POST", "/refunds", `{"order_no":"SO-1001","amount":-5,"reason":"r"}`, "u_42", 400, nil},
		{"an absurd number", "POST", "/refunds", `{"order_no":"SO-1001","amount":1e999999999,"reason":"r"}`, "u_42", 400, nil},
		{"the report", "GET", "/reports/broken", "", "", 500, map[string]any{"error": "the report engine is down"}},
		{"an unknown path", "GET", "/nope", "", "u_42", 404, map[string]any{"error": "not found"}},
		{"an unknown method", "DELETE", "/orders/SO-1001", "{}", "u_42", 404, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t)
			status, body := b.send(b.request(tc.method, tc.path, tc.body, tc.subject))
			if status != tc.status {
				t.Fatalf("answer %d %v, want %d", status, body, tc.status)
			}
			if status >= 400 && body["error"] == nil {
				t.Errorf("a refusal without a reason: %v", body)
			}
			for k, want := range tc.want {
				if body[k] != want {
					t.Errorf("%s = %v, want %v", k, body[k], want)
				}
			}
		})
	}
}

func TestOnlySignedRequestsAreServed(t *testing.T) {
	b := setup(t)
	for name, change := range map[string]func(*http.Request){
		"no signature":     func(r *http.Request) { r.Header.Del("X-Bailing-Signature") },
		"no timestamp":     func(r *http.Request) { r.Header.Del("X-Bailing-Timestamp") },
		"a zero signature": func(r *http.Request) { r.Header.Set("X-Bailing-Signature", "sha256="+strings.Repeat("0", 64)) },
		"another subject":  func(r *http.Request) { r.Header.Set("X-Bailing-On-Behalf-Of", "u_7") },
		"another job":      func(r *http.Request) { r.Header.Set("X-Bailing-Job-Id", "job-2") },
	} {
		r := b.request("GET", "/orders/SO-1001", "", "u_42")
		change(r)
		if status, body := b.send(r); status != 401 || body["error"] != "bad signature" {
			t.Errorf("%s: %d %v", name, status, body)
		}
	}
	late := b.request("GET", "/orders/SO-1001", "", "u_42")
	b.clock.Advance(window)
	if status, _ := b.send(late); status != 401 {
		t.Errorf("300 s late: %d", status)
	}
	if b.Rejected() != 6 || len(b.Verified()) != 0 {
		t.Errorf("%d rejected, %d verified", b.Rejected(), len(b.Verified()))
	}
}

func TestTheBodyLimit(t *testing.T) {
	b := setup(t)
	for over, want := range []int{400, 413} { // at the limit it is read, and is no ticket
		if status, _ := b.send(b.request("POST", "/tickets", strings.Repeat("x", maxBody+over), "u_42")); status != want {
			t.Errorf("%d over: %d, want %d", over, status, want)
		}
	}
}

func TestWhatWasVerifiedIsRecorded(t *testing.T) {
	b := setup(t)
	r := b.request("POST", "/refunds", `{"order_no":"SO-1005","amount":1,"reason":"r"}`, "u_42")
	r.Header.Set("X-Bailing-Idempotency-Key", "key-1")
	r.Header.Set("X-Bailing-Client", "shop")
	r.Header.Set("X-Bailing-Tool-Scope", "demo.refund.create")
	b.send(r) // refused by the business, but its signature was good
	got := b.Verified()
	want := VerifiedCall{
		Operation: "refund_create", Method: "POST", Path: "/refunds", Body: `{"order_no":"SO-1005","amount":1,"reason":"r"}`,
		Timestamp: "1773144000", Signature: r.Header.Get("X-Bailing-Signature"), Subject: "u_42", JobID: "job-1", Client: "shop",
		Scope: "demo.refund.create", IdempotencyKey: "key-1", At: b.clock.Now(),
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("recorded %+v", got)
	}
	for range maxRecords {
		b.send(b.request("GET", "/reports/broken", "", ""))
	}
	if got := b.Verified(); len(got) != maxRecords || got[0].Operation != "report_broken" {
		t.Errorf("%d records, first %q", len(got), got[0].Operation)
	}
}

func TestAWriteHappensOnceForItsKey(t *testing.T) {
	b := setup(t)
	write := func(key, body string) (int, map[string]any) {
		r := b.request("POST", "/refunds", body, "u_42")
		r.Header.Set("X-Bailing-Idempotency-Key", key)
		return b.send(r)
	}
	const ten = `{"order_no":"SO-1001","amount":10,"reason":"r"}`
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if status, body := write("k1", ten); status != 201 || body["refund_no"] != "R-0001" {
				t.Errorf("%d %v", status, body)
			}
		})
	}
	wg.Wait()
	if _, order := b.send(b.request("GET", "/orders/SO-1001", "", "u_42")); order["refunded"] != 10.0 {
		t.Errorf("refunded %v", order["refunded"])
	}
	if status, _ := write("k1", `{"order_no":"SO-1001","amount":11,"reason":"r"}`); status != 409 {
		t.Errorf("another request under the same key: %d", status)
	}
	if _, body := write("k2", ten); body["refund_no"] != "R-0002" {
		t.Errorf("another key: %v", body)
	}
	if status, _ := write("k3", `{"order_no":"SO-1001","amount":500,"reason":"r"}`); status != 409 {
		t.Fatal("too much")
	}
	if status, _ := write("k3", ten); status != 201 {
		t.Errorf("a refusal holds its key: %d", status)
	}
}

func TestCallbacks(t *testing.T) {
	b := setup(t)
	send := func(secret string) int {
		body, ts := `{"job_id":"j","status":"done"}`, strconv.FormatInt(b.clock.Now().UnixMilli(), 10)
		r := httptest.NewRequest("POST", CallbackPath, strings.NewReader(body))
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(ts + "." + body))
		r.Header.Set("X-Bailing-Timestamp", ts)
		r.Header.Set("X-Bailing-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		status, _ := b.send(r)
		return status
	}
	if good, bad := send("callback-secret"), send("tool-secret"); good != 200 || bad != 401 {
		t.Errorf("good %d, bad %d", good, bad)
	}
	if c := b.Callbacks(); len(c) != 1 || c[0].Body != `{"job_id":"j","status":"done"}` || b.Rejected() != 1 {
		t.Errorf("callbacks %v, %d rejected", c, b.Rejected())
	}
}

// The second style, when it is sent, must be right as well; the vector is that of package signature's test.
func TestCallbacksInBothStyles(t *testing.T) {
	at, body := time.UnixMilli(1760000000123), `{"a":1}`
	good := webhook{"msg_1", "1760000000", "v1,Zd0n+PFx7is3p7nTLOWQ/vm6j94hhukbMTO0cKtPimI="}
	for _, tc := range []struct {
		rule   string
		h      webhook
		secret string
		now    time.Time
		want   bool
	}{
		{"the vector", good, "bailing-test-secret", at, true},
		{"another id", webhook{"msg_2", good.timestamp, good.signature}, "bailing-test-secret", at, false},
		{"another secret", good, "other", at, false},
		{"no secret", good, "", at, false},
		{"no id", webhook{"", good.timestamp, good.signature}, "bailing-test-secret", at, false},
		{"300 seconds old", good, "bailing-test-secret", time.Unix(1760000300, 0), false},
		{"299 seconds old", good, "bailing-test-secret", time.Unix(1760000299, 0), true},
	} {
		if got := verifyWebhook(tc.secret, tc.h, []byte(body), tc.now); got != tc.want {
			t.Errorf("%s: %v", tc.rule, got)
		}
	}

	b := setup(t)
	b.TrustCallbacks("client-token")
	send := func(second string) int {
		ms, sec := strconv.FormatInt(b.clock.Now().UnixMilli(), 10), strconv.FormatInt(b.clock.Now().Unix(), 10)
		sum := func(secret, text string) []byte {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(text))
			return mac.Sum(nil)
		}
		r := httptest.NewRequest("POST", CallbackPath, strings.NewReader(body))
		r.Header.Set("X-Bailing-Timestamp", ms)
		r.Header.Set("X-Bailing-Signature", "sha256="+hex.EncodeToString(sum("client-token", ms+"."+body)))
		r.Header.Set("webhook-id", "id-1")
		r.Header.Set("webhook-timestamp", sec)
		r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(sum(second, "id-1."+sec+"."+body)))
		status, _ := b.send(r)
		return status
	}
	if good, bad := send("client-token"), send("other"); good != 200 || bad != 401 || b.Callbacks()[0].WebhookID != "id-1" {
		t.Errorf("good %d, bad %d, %v", good, bad, b.Callbacks())
	}
}

// The document names exactly the operations that are served, with the capability facts that the demo shows.
func TestTheSpecification(t *testing.T) {
	t.Parallel()
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Capability  struct {
				Version  int
				Enabled  bool
				Scope    string
				Risk     struct{ Level string }
				Approval struct{ Required bool }
				Subject  struct{ Required bool }
			} `json:"x-agent-capability"`
		}
	}
	if err := json.Unmarshal(Spec(), &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			c := o.Capability
			if c.Version != 1 || !c.Enabled {
				t.Errorf("%s is not enabled", o.OperationID)
			}
			flags := c.Scope + " " + c.Risk.Level
			if c.Subject.Required {
				flags += " subject"
			}
			if c.Approval.Required {
				flags += " approval"
			}
			got[strings.ToUpper(method)+" "+path+" "+o.OperationID] = flags
		}
	}
	want := map[string]string{
		"GET /orders/{order_no} order_get":  "demo.order.read low subject",
		"GET /orders order_search":          "demo.order.read low subject",
		"POST /tickets ticket_create":       "demo.ticket.create medium subject",
		"POST /refunds refund_create":       "demo.refund.create high subject approval",
		"GET /reports/broken report_broken": "demo.report.read low",
	}
	if len(got) != len(want) || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s with %v", doc.OpenAPI, got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %q, want %q", k, got[k], v)
		}
	}
}
