package agentsession_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/topology"
)

// stored is every row of every table as text.
func (w *world) stored() string {
	w.t.Helper()
	db := dynamodb.NewFromConfig(w.env.Config("test"))
	var b strings.Builder
	for _, table := range topology.System().Tables {
		p := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: aws.String(prefix + table.Name)})
		for p.HasMorePages() {
			page, err := p.NextPage(w.t.Context())
			must(w.t, err)
			text, err := json.Marshal(page.Items)
			must(w.t, err)
			b.Write(text)
		}
	}
	return b.String()
}

// Codes, tokens, verifiers and the token of the business never occur in clear in tables, logs or errors (invariant I10).
func TestNoSecretIsStoredLoggedOrReported(t *testing.T) {
	t.Parallel()
	w := open(t)
	var said []string
	note := func(err error) {
		if err != nil {
			said = append(said, err.Error(), fmt.Sprintf("%+v", err))
		}
	}
	secrets := []string{token, verifier}
	client, err := w.Business(t.Context(), token)
	must(t, err)
	code, id := w.approved(approval)
	secrets = append(secrets, code)
	_, err = w.Token(t.Context(), codeGrant(code).with("code_verifier", verifier+"x").value(t))
	note(err)
	tokens, err := w.Token(t.Context(), codeGrant(code).value(t))
	must(t, err)
	_, err = w.Token(t.Context(), codeGrant(code).value(t))
	note(err)
	_, err = w.Approve(t.Context(), client, id, approval.value(t))
	note(err)
	first := tokens
	for range 3 {
		secrets = append(secrets, tokens.AccessToken, tokens.RefreshToken)
		w.works(tokens.AccessToken)
		tokens, err = w.refresh(t.Context(), tokens.RefreshToken)
		must(t, err)
	}
	secrets = append(secrets, tokens.AccessToken, tokens.RefreshToken)
	_, err = w.refresh(t.Context(), first.RefreshToken)
	note(err)
	_, err = w.Business(t.Context(), token+"x")
	note(err)
	_, _, err = w.Authenticate(t.Context(), tokens.AccessToken)
	note(err)
	note(w.Revoke(t.Context(), tokens.RefreshToken, parsed("{}")))
	must(t, w.Revoke(t.Context(), "", members{"client_app_id": "depot-agent", "refresh_token": tokens.RefreshToken}.value(t)))
	page, err := w.List(t.Context(), client, "")
	must(t, err)
	shown, err := json.Marshal(page)
	must(t, err)
	rows := w.stored()
	for where, text := range map[string]string{"tables": rows, "logs": w.log.String(), "errors": strings.Join(said, "\n"), "lists": string(shown)} {
		if text == "" {
			t.Errorf("no %s to look at", where)
		}
		for i, s := range secrets {
			for _, form := range []string{s, strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "bha_"), "bhr_"), "bhc_")} {
				if strings.Contains(text, form) {
					t.Errorf("secret %d is in the %s", i, where)
				}
			}
		}
	}
	if slices.Contains(secrets, "") || !strings.Contains(rows, tokens.SessionID) || !strings.Contains(w.log.String(), tokens.SessionID) {
		t.Error("the canary looks at the wrong things")
	}
}
