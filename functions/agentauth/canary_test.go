package agentauth_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job/jobtest"
	"bailing/shared/topology"
)

// I10, agent §2.16: no code, token, verifier or client token is in a table, a log line or an error, whatever happens to a login. Answers
// hold exactly what they give out.
func TestNothingSecretIsStoredOrTold(t *testing.T) {
	t.Parallel()
	a := open(t, jobtest.NoRetries())
	secrets := map[string]string{"the client's token": a.token, "another client's token": a.other, "the verifier": verifier}
	a.everything(secrets)
	// The same under a store that fails, now here, now there.
	a.undescribed = true
	for n := range int64(9) {
		var seen atomic.Int64
		a.Faults().Set(func(op fault.Op) fault.Fault {
			if op.AccessKey == jobtest.AccessKey && seen.Add(1)%9 == n {
				return fault.Fault{Kind: []fault.Kind{fault.ErrorBefore, fault.ErrorAfterCommit, fault.Drop}[n%3]}
			}
			return fault.Fault{}
		})
		a.everything(secrets)
	}
	a.Faults().Set(nil)

	places := map[string]string{"the log": a.Logs.String()}
	db := dynamodb.NewFromConfig(a.Env.Config("reader"))
	for _, table := range topology.System().Tables {
		var all strings.Builder
		pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: aws.String(jobtest.Prefix + table.Name)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				for name, v := range item {
					all.WriteString(name + "=" + plain(v) + "\n")
				}
			}
		}
		places["the table "+table.Name] = all.String()
	}
	if !strings.Contains(places["the table agents"], "yard-2:op-15") {
		t.Error("the table of agents holds no session: this proves nothing")
	}
	for place, text := range places {
		for name, secret := range secrets {
			random := secret[strings.IndexByte(secret, '_')+1:]
			if strings.Contains(text, random) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("%s is in %s", name, place)
			}
		}
	}
	for line := range strings.Lines(a.told.String()) {
		for name, secret := range secrets {
			if strings.Contains(line, `"error"`) && strings.Contains(line, secret) {
				t.Errorf("%s is in the error %s", name, line)
			}
		}
	}
}

// plain is a stored value as text.
func plain(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberM:
		var b strings.Builder
		for name, v := range v.Value {
			b.WriteString(name + "=" + plain(v) + " ")
		}
		return b.String()
	case *types.AttributeValueMemberL:
		var b strings.Builder
		for _, v := range v.Value {
			b.WriteString(plain(v) + " ")
		}
		return b.String()
	}
	return fmt.Sprint(v)
}

// everything calls every endpoint with what is good and with what is not, as far as the store lets it, and collects the secrets.
func (a *api) everything(secrets map[string]string) {
	a.t.Helper()
	note := func(name, value string) {
		if value != "" {
			secrets[fmt.Sprintf("%s (%d)", name, len(secrets))] = value
		}
	}
	var created struct {
		ID string `json:"authorization_id"`
	}
	a.asked++
	a.create(wish, fmt.Sprintf("198.51.100.%d", a.asked)).into(a.t, &created)
	a.create(with(a.t, wish, map[string]any{"code_verifier": verifier}), "")
	id := created.ID
	if id == "" {
		id = unknownID
	}
	a.business("GET", "authorizations/"+id, "")
	var redirect struct {
		URI string `json:"redirect_uri"`
	}
	a.decide("approve", id, approval).into(a.t, &redirect)
	_, code, _ := strings.Cut(redirect.URI, "code=")
	code, _, _ = strings.Cut(code, "&")
	note("a code", code)
	if code == "" {
		code = "bhc_" + strings.Repeat("c", 43)
	}
	a.agent("POST", "token", "", with(a.t, exchangeBody(code), map[string]any{"code_verifier": verifier + "x"}))
	a.agent("POST", "token", "", with(a.t, exchangeBody(code), map[string]any{"scope": code}))
	var first, second tokens
	a.exchange(code).into(a.t, &first)
	a.exchange(code)
	for _, tok := range []*tokens{&first, &second} {
		if tok == &second {
			a.refresh(first.Refresh).into(a.t, tok)
		}
		note("an access token", tok.Access)
		note("a refresh token", tok.Refresh)
		a.agent("GET", "session", tok.Access, "")
		a.send(request{method: "GET", path: prefix + "session", auth: []string{"bearer  " + tok.Access}, query: map[string][]string{"token": {tok.Access}}})
	}
	session := first.SessionID
	if session == "" {
		session = unknownID
	}
	a.list(a.token, nil)
	a.list(a.token, map[string][]string{"cursor": {a.token}})
	a.business("PUT", "sessions/"+session+"/subject-display", `{"subject_display":{"name":"Yard 3"}}`)
	a.refresh(first.Refresh)
	a.agent("POST", "revoke", "", `{"client_app_id":"depot-agent","refresh_token":"`+second.Refresh+`"}`)
	a.agent("POST", "revoke", second.Access, "")
	a.decide("revoke", id, "")
	a.decide("deny", id, "")
	a.business("POST", "sessions/"+session+"/revoke", "")
	a.send(request{method: "POST", path: prefix + "sessions/" + session + "/revoke", auth: bearer(a.other)})
	a.agent("GET", "session/"+second.Access, "", "")
}
