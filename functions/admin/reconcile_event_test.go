package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/functions/admin"
	jobs "bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
)

// The wired functions, from a write without an answer to the rerun that goes on: the call is listed, closed by name, gone from
// the list, and not sent again.
func TestACallIsReconciledByName(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Platform.Config.BootstrapUsername, w.Platform.Config.BootstrapPassword = "root", "password of root"
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	id := w.MustLaunch(w.Seed(), jobtest.Submission("r")).JobID
	w.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	})
	write := jobtest.Call(jobtest.Wish{Tool: "ticket_create", Args: `{"text":"a"}`})
	w.Model.Then(write)
	w.Deliver()

	r := invoke(t, h, "/v1", "POST", "/admin/login", "192.0.2.1", `{"username":"root","password":"password of root"}`, nil)
	cookie, _, _ := strings.Cut(strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n"), "; ")
	ask := func(method, path, body string, status int) string {
		t.Helper()
		r := invoke(t, h, "/v1", method, path, "192.0.2.1", body, map[string][]string{
			"Cookie": {cookie}, "Origin": {"https://abc.execute-api.eu-central-1.amazonaws.com"}, "Content-Type": {"application/json"},
		})
		if r.StatusCode != status {
			t.Fatalf("%s %s: %d %s", method, path, r.StatusCode, r.Body)
		}
		return r.Body
	}
	var list []struct {
		JobID string `json:"job_id"`
		Key   string `json:"idempotency_key"`
	}
	if err := json.Unmarshal([]byte(ask("GET", reconcilePath, "", 200)), &list); err != nil || len(list) != 1 || list[0].JobID != id {
		t.Fatalf("%v, %+v", err, list)
	}
	call := fmt.Sprintf("%s/%s/%s", reconcilePath, id, list[0].Key)
	const happened = `{"outcome":"happened","status":201,"reason":"ticket 7 exists"}`
	first := ask("POST", call+"/close", happened, 200)
	if !strings.Contains(first, `"by":"root"`) || ask("POST", call+"/close", happened, 200) != first || ask("GET", call, "", 200) != first {
		t.Errorf("closed: %s", first)
	}
	ask("POST", call+"/close", `{"outcome":"not_happened","reason":"r"}`, 409)
	if left := ask("GET", reconcilePath, "", 200); strings.TrimSpace(left) != "[]" {
		t.Errorf("still listed: %s", left)
	}
	ask("POST", "/admin/api/runs/"+id+"/rerun", "", 200)
	w.Model.Then(write, jobtest.Say("done"))
	w.Deliver()
	w.Run(t.Context(), id)
	if j := w.Job(id); j.Status != jobs.Done || len(w.Business.Sent()) != 1 {
		t.Errorf("job is %s: %s after %d calls", j.Status, j.Error, len(w.Business.Sent()))
	}
}
