package approvals_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
	"bailing/shared/registry"
)

// sign is the published scheme of core §2.1, written out: HMAC-SHA256 over the milliseconds, a dot and the body.
func sign(secret, body string, at time.Time) http.Header {
	ms := strconv.FormatInt(at.UnixMilli(), 10)
	return signedWith(secret, body, ms)
}

func signedWith(secret, body, timestamp string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return http.Header{"X-Bailing-Timestamp": {timestamp}, "X-Bailing-Signature": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
}

// Each proof of core §6.5 by itself, for both routes.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule string
		give func(a *api, r *request)
		auth string // "" = refused
	}{
		{"the server token", func(_ *api, r *request) { r.token = jobtest.ServerToken }, "admin-token"},
		{"the server token in the query", func(_ *api, r *request) { r.query = url.Values{"token": {jobtest.ServerToken}} }, "admin-token"},
		{"the owner's token", func(a *api, r *request) { r.token = a.token }, "client:acme"},
		{"the owner's token in the query", func(a *api, r *request) { r.query = url.Values{"token": {a.token}} }, "client:acme"},
		{"the header wins over the query", func(a *api, r *request) { r.token, r.query = "x", url.Values{"token": {a.token}} }, ""},
		{"the owner's token in capitals", func(a *api, r *request) { r.token = strings.ToUpper(a.token) + "A" }, ""},
		{"another client's token", func(a *api, r *request) {
			r.token = a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
		}, ""},
		{"the token of the client once it is disabled", func(a *api, r *request) { r.token = a.token; a.DisableClient(jobtest.Client) }, ""},
		{"a signature", func(a *api, r *request) { r.header = sign(a.token, r.body, a.Clock.Now()) }, "signed-business"},
		{"a signature beside a foreign token", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			r.token = a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
		}, "signed-business"},
		{"a signature once the client is disabled", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			a.DisableClient(jobtest.Client)
		}, ""},
		{"a signature with a token that was replaced", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			a.SaveClient(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, Enabled: true})
		}, ""},
		{"a signature with the server token, of a job that has a client", func(a *api, r *request) { r.header = sign(jobtest.ServerToken, r.body, a.Clock.Now()) }, ""},
		{"a signature with another client's token", func(a *api, r *request) {
			r.header = sign(a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true}), r.body, a.Clock.Now())
		}, ""},
		{"a signature 300 000 ms old", func(a *api, r *request) { r.header = sign(a.token, r.body, a.Clock.Now().Add(-300*time.Second)) }, "signed-business"},
		{"a signature 300 001 ms old", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now().Add(-300_001*time.Millisecond))
		}, ""},
		{"a signature 300 000 ms ahead", func(a *api, r *request) { r.header = sign(a.token, r.body, a.Clock.Now().Add(300*time.Second)) }, "signed-business"},
		{"a signature 300 001 ms ahead", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now().Add(300_001*time.Millisecond))
		}, ""},
		{"a timestamp in seconds", func(a *api, r *request) {
			r.header = signedWith(a.token, r.body, strconv.FormatInt(a.Clock.Now().Unix(), 10))
		}, ""},
		{"a timestamp with a sign", func(a *api, r *request) {
			r.header = signedWith(a.token, r.body, "+"+strconv.FormatInt(a.Clock.Now().UnixMilli(), 10))
		}, ""},
		{"a signature of other bytes", func(a *api, r *request) { r.header = sign(a.token, r.body+" ", a.Clock.Now()) }, ""},
		{"a signature without a timestamp", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			r.header.Del("X-Bailing-Timestamp")
		}, ""},
		{"a timestamp without a signature", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			r.header.Del("X-Bailing-Signature")
		}, ""},
		{"a signature in capitals", func(a *api, r *request) {
			r.header = sign(a.token, r.body, a.Clock.Now())
			r.header.Set("X-Bailing-Signature", "sha256="+strings.ToUpper(r.header.Get("X-Bailing-Signature")[7:]))
		}, ""},
		{"nothing", func(*api, *request) {}, ""},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			a := open(t)
			asked := a.refund(a.token)
			decision := request{method: "POST", path: decisionPath(asked.ID), body: envelope(asked, "approved", "d")}
			reading := request{method: "GET", path: argumentsPath(asked.ID)}
			token := a.token
			tc.give(a, &decision)
			if tc.auth == "" {
				a.send(decision).want(t, 401, `{"error":"unauthorized"}`)
			} else if got := a.send(decision); got.Status != 200 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			a.token = token
			tc.give(a, &reading)
			if got := a.send(reading); got.Status != map[bool]int{true: 401, false: 200}[tc.auth == ""] {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			e := a.Events(asked.JobID, "tool_approved_external")
			if tc.auth == "" && len(e) != 0 || tc.auth != "" && (len(e) != 1 || e[0].Detail["auth"] != tc.auth) {
				t.Errorf("audit %+v", e)
			}
		})
	}
}

// Core §2.2: a job without a client, and one whose client is gone, are signed for with the server token.
func TestTheServerTokenSignsForJobsWithoutAClient(t *testing.T) {
	t.Parallel()
	a := open(t)
	mine, orphan := a.refund(jobtest.ServerToken), a.refund(a.token)
	v, err := a.Store.Clients().Get(t.Context(), jobtest.Client)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Store.Clients().Delete(t.Context(), *v, registry.Change{At: a.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, asked := range []int64{mine.ID, orphan.ID} {
		ticket := a.ticket(asked)
		body := envelope(ticket, "denied", "d")
		if got := a.send(request{method: "POST", path: decisionPath(asked), header: sign(a.token, body, a.Clock.Now()), body: body}); got.Status != 401 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		if got := a.send(request{method: "POST", path: decisionPath(asked), header: sign(jobtest.ServerToken, body, a.Clock.Now()), body: body}); got.Status != 200 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
}

// A hub without a server token has no secret for such jobs; the empty one, which everybody knows, is none.
func TestAnEmptyServerTokenProvesNothing(t *testing.T) {
	t.Parallel()
	a := open(t, jobtest.Configure(func(c *platform.Config) { c.ServerToken = "" }))
	asked := a.refund(jobtest.ServerToken) // the world's launcher knows it; the function does not
	body := envelope(asked, "approved", "d")
	for _, r := range []request{
		{header: sign("", body, a.Clock.Now())}, {token: jobtest.ServerToken}, {query: url.Values{"token": {""}}},
	} {
		r.method, r.path, r.body = "POST", decisionPath(asked.ID), body
		a.send(r).want(t, 401, `{"error":"unauthorized"}`)
	}
}

// A signature proves something about one body, and nothing about a ticket that does not exist.
func TestSignaturesOfWhatCannotBeADecision(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	body := envelope(asked, "approved", "d")
	a.send(request{method: "POST", path: decisionPath(99), header: sign(a.token, body, a.Clock.Now()), body: body}).want(t, 401, `{"error":"unauthorized"}`)
	large := strings.Repeat(" ", 65_537)
	for _, id := range []int64{asked.ID, 99} {
		a.send(request{method: "POST", path: decisionPath(id), header: sign(a.token, large, a.Clock.Now()), body: large}).
			want(t, 413, `{"error":"payload too large","max_bytes":65536}`)
	}
	a.send(request{method: "POST", path: decisionPath(asked.ID), header: sign(a.token, "", a.Clock.Now())}).
		want(t, 400, `{"error":"approval_id is not the approval of the URL"}`)
}

// The hub signs its callbacks and notifications with the secret that proves decisions. So whoever receives one holds signed bytes, and
// these open nothing: a GET is signed over the empty body whatever body it has, and no message of the hub is a decision.
func TestWhatTheHubSignedOpensNothing(t *testing.T) {
	t.Parallel()
	a := open(t)
	sensitiveTool(a)
	asked := a.ask(a.token, "card_charge", `{"number":"4111-canary"}`)
	for _, message := range []string{
		`{"kind":"tool_approval","approval_id":1,"args_truncated":true}`, `{"id":"j","status":"done"}`, envelope(asked, "approved", "d"), " ",
	} {
		signed := sign(a.token, message, a.Clock.Now())
		a.send(request{method: "GET", path: argumentsPath(asked.ID), header: signed, body: message}).want(t, 401, `{"error":"unauthorized"}`)
	}
	message := fmt.Sprintf(`{"kind":"tool_approval_request","approval_id":%d,"job_id":%q,"request_id":%q,"args_hash":%q}`,
		asked.ID, asked.JobID, asked.RequestID, asked.ArgsHash)
	a.send(request{method: "POST", path: decisionPath(asked.ID), header: sign(a.token, message, a.Clock.Now()), body: message}).
		want(t, 400, `{"error":"kind must be tool_approval_decision"}`)
	large := strings.Repeat(" ", 65_537)
	a.send(request{method: "GET", path: argumentsPath(asked.ID), header: sign(a.token, "", a.Clock.Now()), body: large}).want(t, 200,
		fmt.Sprintf(`{"approval_id":%d,"job_id":%q,"request_id":%q,"tool":"card_charge","args_hash":%q,"args_bytes":24,"args":{"number":"4111-canary"}}`,
			asked.ID, asked.JobID, asked.RequestID, asked.ArgsHash))
}
