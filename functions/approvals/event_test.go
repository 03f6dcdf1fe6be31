package approvals_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"bailing/shared/registry"
)

// The sample events as they are name a ticket that does not exist here; then they name one that does.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	a := open(t)
	const token = "0123456789abcdef0123456789abcdef"
	a.SaveClientWith(registry.Client{AppID: "sample", AllowedRoutes: []string{"*"}, Enabled: true}, token)
	asked := a.refund(token)
	for _, tc := range []struct{ file, want string }{
		{"approvals-arguments.json", `"args":{"order":"SO-1"}`}, {"approvals-decision.json", `"status":"approved","decision_id":"shop:approval:1001"`},
	} {
		if got := a.invoke(sample(t, tc.file)); got.Status != 404 {
			t.Errorf("%s: %d %s", tc.file, got.Status, got.Body)
		}
		var e events.APIGatewayProxyRequest
		if err := json.Unmarshal(sample(t, tc.file), &e); err != nil {
			t.Fatal(err)
		}
		e.Path = strings.Replace(e.Path, e.PathParameters["id"], fmt.Sprint(asked.ID), 1)
		if e.Body != "" {
			e.Body = base64.StdEncoding.EncodeToString([]byte(named(t, e.Body, map[string]any{
				"approval_id": asked.ID, "job_id": asked.JobID, "request_id": asked.RequestID, "args_hash": asked.ArgsHash,
			})))
		}
		payload, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.invoke(payload); got.Status != 200 || !strings.Contains(got.Body, tc.want) {
			t.Errorf("%s: %d %s", tc.file, got.Status, got.Body)
		}
	}
}

// named is an encoded envelope with members replaced.
func named(t *testing.T, encoded string, members map[string]any) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(b, &body); err != nil {
		t.Fatal(err)
	}
	for name, value := range members {
		body[name] = value
	}
	if b, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
