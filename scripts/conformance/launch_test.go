package conformance_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"bailing/shared/clock"
)

// However often and however concurrently one request is sent, there is one job, and it runs once (core §1.2, I9).
func TestConcurrentReplaysAreOneJob(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.withModel()
	b := startBusiness(t, secret)
	h.save("tool-providers", object{"name": "shop", "base_url": b.url, "secret": secret, "spec_json": oneReadTool})
	h.route("ask", object{"tools": object{"sources": []object{{"provider": "shop", "allow": []string{"*"}}}}})
	token := h.client("crm", "ask")
	const copies = 24
	answers := make([]answer, copies)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = h.post("/run", token, asJSON(t, object{
				"request_id": "same", "route": "ask", "input": `[[tool read_thing {"id":"1"}]][[round]][[say once]]`,
			}))
		})
	}
	wg.Wait()
	jobs, created := map[string]int{}, 0
	for i, a := range answers {
		if a.status != http.StatusAccepted {
			t.Fatalf("request %d: %d %s", i, a.status, cut(a.body))
		}
		o := a.object(t)
		jobs[o["job_id"].(string)]++
		if o["session_id"] != nil { // only the answer that created the job has it
			created++
		}
		if o["payload_mismatch"] != nil {
			t.Errorf("request %d: an identical payload counts as another one", i)
		}
	}
	if len(jobs) != 1 || created != 1 {
		t.Fatalf("%d jobs, %d answers that created one", len(jobs), created)
	}
	for id := range jobs {
		h.finished(id, token)
		events := map[any]int{}
		for _, e := range h.audit(id) {
			events[e["event"]]++
		}
		if events["received"] != 1 || events["started"] != 1 || events["finished"] != 1 {
			t.Errorf("events %v", events)
		}
	}
	if n := b.total(); n != 1 {
		t.Errorf("the business was asked %d times", n)
	}
}

// oneReadTool is a specification with one read-only operation.
const oneReadTool = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/items/{id}":{"get":{"operationId":"read_thing",
"summary":"Read","x-agent-capability":{"version":1,"enabled":true,"scope":"thing.read"},
"parameters":[{"name":"id","in":"path","required":true,"description":"id","schema":{"type":"string"}}]}}}}`

// A thread holds six jobs in flight; one more is stored as rejected and answered 202 (core §1.5).
func TestThreadQuotaOfJobsThatNobodyTakes(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.save("targets", object{"name": "parked", "kind": "executor"})
	h.route("park", object{"target": "parked", "target_config": object{}, "session_policy": "per_key", "session_key_field": "k"})
	token := h.client("crm", "park")
	sessions := map[any]bool{}
	for i := range 7 {
		o := h.submit(token, object{"request_id": numbered("job", i), "route": "park", "input": "x", "metadata": object{"k": "one"}})
		job := h.get("/jobs/"+o["job_id"].(string), token).object(t)
		want, reason := "queued", any(nil)
		if i == 6 {
			want, reason = "rejected", "thread_inflight_quota"
		}
		if o["status"] != want || job["status"] != want || job["error"] != reason || o["continue"] != (i > 0) {
			t.Errorf("job %d: answer %v, job %v %v", i, o, job["status"], job["error"])
		}
		sessions[o["session_id"]] = true
	}
	if len(sessions) != 1 {
		t.Errorf("sessions %v, want one", sessions)
	}
	other := h.submit(token, object{"request_id": "other", "route": "park", "input": "x", "metadata": object{"k": "two"}})
	if other["status"] != "queued" || sessions[other["session_id"]] {
		t.Errorf("another thread: %v", other)
	}
}

// The jobs of a thread run one after the other, in the order of their submission, while another thread runs beside them.
func TestThreadOrderWithASlowModel(t *testing.T) {
	t.Parallel()
	modelClock := clock.NewManual(time.Now())
	h := start(t, "", modelClock)
	h.withModel()
	h.route("slow", object{"session_policy": "per_key", "session_key_field": "k"})
	token := h.client("crm", "slow")
	run := func(id, key, input string) (string, any) {
		o := h.submit(token, object{"request_id": id, "route": "slow", "input": input, "metadata": object{"k": key}})
		return o["job_id"].(string), o["status"]
	}
	var ids []string
	for i := range 7 {
		id, status := run(numbered("job", i), "one", fmt.Sprintf("[[sleep 1000]][[say answer %d]]", i))
		ids = append(ids, id)
		if want := map[bool]string{false: "queued", true: "rejected"}[i == 6]; status != want {
			t.Errorf("job %d: %v, want %s", i, status, want)
		}
	}
	beside, _ := run("beside", "two", "[[say beside]]")
	h.finished(beside, token)
	// The model of the first job waits for its clock: nothing behind it can have begun.
	h.await(ids[0], token, func(job map[string]any) bool { return job["status"] == "running" })
	for i, id := range ids[1:6] {
		if job := h.get("/jobs/"+id, token).object(t); job["status"] != "queued" {
			t.Errorf("while the first job runs, job %d is %v", i+1, job["status"])
		}
	}
	last := ""
	for i, id := range ids[:6] {
		job := h.await(id, token, func(job map[string]any) bool {
			modelClock.Advance(time.Second)
			return terminal(job)
		}).object(t)
		if result, _ := job["result"].(map[string]any); job["status"] != "done" || result["text"] != fmt.Sprintf("answer %d", i) {
			t.Errorf("job %d: %v %v", i, job["status"], job["result"])
		}
		at := map[any]string{}
		for _, e := range h.audit(id) {
			at[e["event"]], _ = e["ts"].(string)
		}
		if at["started"] == "" || at["started"] < last || at["finished"] < at["started"] {
			t.Errorf("job %d ran from %s to %s; the one before it ended at %s", i, at["started"], at["finished"], last)
		}
		last = at["finished"]
	}
	// A finished job makes room.
	if _, status := run("eighth", "one", "[[say x]]"); status != "queued" {
		t.Errorf("a job after the thread emptied: %v", status)
	}
}
