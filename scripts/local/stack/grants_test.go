package stack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/scripts/demo/business"
	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/topology"
)

// The stand-ins check no permissions, so this does: every call that a function makes is one that the topology grants it. What
// a transaction holds is not seen here; the tests of package store see it.
func TestEveryCallIsGranted(t *testing.T) {
	t.Parallel()
	w := newCrashWorld(t)
	var mu sync.Mutex
	calls := map[string]map[fault.Op]bool{}
	w.s.AWS.Faults().Set(func(op fault.Op) fault.Fault {
		mu.Lock()
		defer mu.Unlock()
		op.Seq = 0
		if calls[op.AccessKey] == nil {
			calls[op.AccessKey] = map[fault.Op]bool{}
		}
		calls[op.AccessKey][op] = true
		return fault.Fault{}
	})
	large := `"` + strings.Repeat("x", 90_000) + `"`
	w.request(http.MethodPost, "/run", `{"request_id":"large","route":"`+DemoRoute+`","input":`+large+`,"metadata":{"operator_uid":"u_42"}}`, http.StatusAccepted, &struct{}{})
	w.request(http.MethodGet, "/health", "", http.StatusOK, &struct{}{})
	w.request(http.MethodPost, "/admin/api/targets", `{"name":"elsewhere","kind":"executor"}`, http.StatusOK, &struct{}{})
	for _, kind := range []string{"targets", "credentials", "tool-providers", "routes", "clients"} {
		w.request(http.MethodGet, "/admin/api/"+kind, "", http.StatusOK, &[]struct{}{})
	}
	const provider = "/admin/api/tool-providers/" + DemoProvider
	w.request(http.MethodPost, provider+"/refresh", "", http.StatusOK, &struct{}{})
	w.request(http.MethodPost, provider+"/authz-probe", "", http.StatusOK, &struct{}{})
	w.request(http.MethodGet, provider+"/tools", "", http.StatusOK, &struct{}{})
	w.request(http.MethodPost, provider+"/debug-invoke", `{"tool":"order_get","args":{"order_no":"SO-1001"},"on_behalf_of":"u_42"}`, http.StatusOK, &struct{}{})
	w.clock.Advance(2 * time.Hour)
	if _, err := w.s.Functions["refresher"].Invoke(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	w.request(http.MethodPost, "/admin/login", `{"username":"admin","password":"`+w.s.AdminPassword+`"}`, http.StatusOK, &struct{}{})
	w.request(http.MethodPost, "/admin/api/admins", `{"username":"clerk","role":"viewer"}`, http.StatusOK, &struct{}{})
	w.request(http.MethodGet, "/admin/api/admins", "", http.StatusOK, &[]struct{}{})
	w.request(http.MethodDelete, "/admin/api/admins/clerk", "", http.StatusOK, &struct{}{})
	w.request(http.MethodPost, "/admin/pause", "", http.StatusOK, &struct{}{})
	w.request(http.MethodPost, "/admin/resume", "", http.StatusOK, &struct{}{})
	w.recover()
	for _, to := range []string{"/nowhere", business.CallbackPath} { // one becomes a dead letter, one arrives
		w.jobs = append(w.jobs, w.submitWith("SO-1004", to))
	}
	w.recover()
	for range 2 {
		w.deliverCallbacks()
	}
	var letters struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	w.request(http.MethodGet, "/admin/api/delivery-dlq?all=1", "", http.StatusOK, &letters)
	if len(letters.Items) != 1 || len(w.s.Demo.Business.Callbacks()) != 1 {
		t.Fatalf("letters %+v, %d callbacks", letters, len(w.s.Demo.Business.Callbacks()))
	}
	letter := "/admin/api/delivery-dlq/" + letters.Items[0].ID
	w.request(http.MethodPost, letter+"/resend", "", http.StatusBadGateway, &struct{}{})
	w.request(http.MethodPost, "/admin/api/delivery-dlq/replay", `{"since":"2026-01-01T00:00:00Z"}`, http.StatusOK, &struct{}{})
	w.deliverCallbacks()
	w.request(http.MethodPost, letter+"/resolve", "", http.StatusOK, &struct{}{})
	w.request(http.MethodGet, "/admin/api/runs/"+w.jobs[2]+"/deliveries", "", http.StatusOK, &struct{}{})
	w.submitWith("SO-1005", "/nowhere") // expires, and that must be told
	w.ask("ask-SO-1003", "Where is order SO-1003?", "s1")
	w.clock.Advance(2 * job.QueueTimeout)
	if _, err := w.s.Functions["sweeper"].Invoke(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	w.request(http.MethodGet, "/admin/api/runs/"+w.jobs[0]+"/audit", "", http.StatusOK, &[]struct{}{})
	for _, list := range []string{"runs", "runs?status=done", "runs?request_id=large", "reconciliations", "config-audit", "config-diagnostics", "tool-providers/" + DemoProvider + "/events"} {
		w.request(http.MethodGet, "/admin/api/"+list, "", http.StatusOK, &[]struct{}{})
	}
	for _, one := range []string{"status", "dispatch-status", "config-schemas/route", "runs/" + w.jobs[0], "runs/" + w.jobs[0] + "/trace", "runs/trace?request_id=large"} {
		w.request(http.MethodGet, "/admin/api/"+one, "", http.StatusOK, &struct{}{})
	}
	call := "/admin/api/reconciliations/" + w.jobs[0] + "/" + strings.Repeat("0", 64)
	w.request(http.MethodGet, call, "", http.StatusNotFound, &struct{}{})
	w.request(http.MethodPost, call+"/close", `{"outcome":"happened","reason":"looked"}`, http.StatusNotFound, &struct{}{})
	w.request(http.MethodPost, "/admin/api/runs/"+w.jobs[2]+"/rerun", "", http.StatusOK, &struct{}{})

	w.jobs = []string{w.ask("refund", askRefund, "s9")}
	w.recover()
	w.s.settle(t.Context()) // the machine of the ticket, up to its wait
	asked := w.checkFrozen()
	w.request(http.MethodGet, fmt.Sprintf("/approvals/%d/arguments", asked.ID), "", http.StatusOK, &struct{}{})
	decision := fmt.Sprintf(`{"approval_id":%d,"job_id":%q,"request_id":%q,"args_hash":%q,"decision_id":"d1","decision":"approved","approver":"ann"}`,
		asked.ID, asked.JobID, asked.RequestID, asked.ArgsHash)
	w.request(http.MethodPost, fmt.Sprintf("/approvals/%d/decision", asked.ID), decision, http.StatusOK, &struct{}{})
	newAgents(w).everyCall()

	mu.Lock()
	defer mu.Unlock()
	for _, f := range topology.System().Functions {
		if len(calls[f.Name]) == 0 {
			t.Errorf("%s made no call, so this proves nothing about it", f.Name)
		}
		for op := range calls[f.Name] {
			if op.Action != "TransactWriteItems" && !granted(f, op) {
				t.Errorf("%s may not call %s:%s on %s", f.Name, op.Service, op.Action, op.Resource)
			}
		}
	}
}

func granted(f topology.Function, op fault.Op) bool {
	for _, g := range f.Grants {
		for _, action := range g.Actions {
			if action == permissionsOf(op.Service)+":"+op.Action && (op.Resource == prefix+g.Name || op.Action == "BatchGetItem") {
				return true
			}
		}
	}
	return false
}

// permissionsOf is the prefix of a service's permissions, where it is not the service's name.
func permissionsOf(service string) string {
	if service == "sfn" {
		return "states"
	}
	return service
}
