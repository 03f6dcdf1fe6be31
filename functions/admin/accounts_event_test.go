package admin_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/admin"
	"bailing/shared/account"
	"bailing/shared/job/jobtest"
)

// invoke sends an event as API Gateway does, under a stage ("" for none).
func invoke(t *testing.T, h lambda.Handler, stage, method, path, from, body string, headers map[string][]string) events.APIGatewayProxyResponse {
	t.Helper()
	all := map[string][]string{"Host": {"abc.execute-api.eu-central-1.amazonaws.com"}, "X-Forwarded-Proto": {"https"}}
	for name, values := range headers {
		all[name] = values
	}
	path, query, _ := strings.Cut(path, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(events.APIGatewayProxyRequest{
		Resource: path, Path: path, HTTPMethod: method, MultiValueHeaders: all, Body: body, MultiValueQueryStringParameters: parameters,
		RequestContext: events.APIGatewayProxyRequestContext{
			Path: stage + path, Stage: "v1", RequestID: "r", DomainName: "abc.execute-api.eu-central-1.amazonaws.com",
			Identity: events.APIGatewayRequestIdentity{SourceIP: from},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The wired function behind a gateway, from an empty table to a write by cookie.
func TestTheFirstLoginBehindAGateway(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Platform.Config.BootstrapUsername, w.Platform.Config.BootstrapPassword = "root", "password of root"
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	const login, wrong = `{"username":"root","password":"password of root"}`, `{"username":"root","password":"wrong password"}`
	cookie := ""
	for stage, path := range map[string]string{"/v1": "/v1", "": "/"} {
		r := invoke(t, h, stage, "POST", "/admin/login", "192.0.2.1", login, nil)
		set := strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n")
		pair, attributes, _ := strings.Cut(set, "; ")
		if r.StatusCode != 200 || attributes != "Path="+path+"; Max-Age=604800; HttpOnly; Secure; SameSite=Lax" {
			t.Fatalf("stage %q: %d %s, cookie %q", stage, r.StatusCode, r.Body, attributes)
		}
		cookie = pair
	}
	for origin, status := range map[string]int{
		"https://abc.execute-api.eu-central-1.amazonaws.com": 200, "https://evil.example": 403,
	} {
		r := invoke(t, h, "/v1", "POST", "/admin/pause", "192.0.2.1", "", map[string][]string{"Cookie": {cookie}, "Origin": {origin}})
		if r.StatusCode != status {
			t.Errorf("from %s: %d %s", origin, r.StatusCode, r.Body)
		}
	}
	// The address is the gateway's word; a header of the client changes nothing (D24).
	for i := range account.MaxFailures + 1 {
		r := invoke(t, h, "/v1", "POST", "/admin/login", "192.0.2.9", wrong, map[string][]string{"X-Forwarded-For": {strings.Repeat("1", i+1)}})
		if throttled := r.StatusCode == 429; throttled != (i == account.MaxFailures) {
			t.Errorf("try %d: %d %s", i+1, r.StatusCode, r.Body)
		}
	}
	if r := invoke(t, h, "/v1", "POST", "/admin/login", "192.0.2.10", login, map[string][]string{"X-Forwarded-For": {"192.0.2.9"}}); r.StatusCode != 200 {
		t.Errorf("from another address: %d %s", r.StatusCode, r.Body)
	}
}
