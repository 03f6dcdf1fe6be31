package admin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/auditchain"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
)

// The wired functions: what happened to a job is in its audit, in its trace and in its export alike, in the order in which it
// happened, whole, and without a secret.
func TestAJobsRecordsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	later := func(r jobtest.Reply) jobtest.Reply {
		return func(q model.Request) (model.Response, error) {
			w.Clock.Advance(time.Second)
			return r(q)
		}
	}
	id := w.MustLaunch(w.Seed(), jobtest.Submission("r")).JobID
	const args = `{"text":"{\"password\":\"hunter2\"} from ada@mail.example"}`
	w.Model.Then(later(jobtest.Call(jobtest.Wish{Tool: "ticket_create", Args: args})), later(jobtest.Say("Done.")))
	w.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		w.Clock.Advance(time.Second)
		return &outbound.Response{Status: 201, Body: []byte(`{"id":7,"api_key":"business-key-in-clear"}`)}, nil
	})
	w.Clock.Advance(time.Second)
	w.Deliver()
	w.Clock.Advance(2 * time.Minute)

	ask := func(path string) string {
		t.Helper()
		r := invoke(t, h, "/v1", "GET", path, "192.0.2.1", "", map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}})
		if r.StatusCode != 200 {
			t.Fatalf("%s: %d %s", path, r.StatusCode, r.Body)
		}
		for _, secret := range []string{"hunter2", "ada@mail.example", "business-key-in-clear", jobtest.ProviderSecret, jobtest.APIKey} {
			if strings.Contains(r.Body, secret) {
				t.Errorf("%s shows %s", path, secret)
			}
		}
		return r.Body
	}
	var audit []map[string]any
	decode(t, ask("/admin/api/runs/"+id+"/audit"), &audit)
	var names []string
	for i, r := range audit {
		names = append(names, r["event"].(string))
		if i > 0 && r["ts"].(string) < audit[i-1]["ts"].(string) {
			t.Errorf("%v follows %v", r, audit[i-1])
		}
	}
	if want := []string{"received", "started", "llm_request", "tool_call", "tool_result"}; len(names) != 7 || !slices.Equal(names[:5], want) {
		t.Errorf("records %v", names)
	}
	slices.Sort(names)
	if want := []string{"finished", "llm_request", "llm_request", "received", "started", "tool_call", "tool_result"}; !slices.Equal(names, want) {
		t.Errorf("records %v", names)
	}
	var traced struct {
		Trace struct{ Events []map[string]any }
	}
	decode(t, ask("/admin/api/runs/"+id+"/trace"), &traced)
	wantSame(t, "trace", traced.Trace.Events, audit)
	wantSame(t, "export of the job", exported(t, ask("/admin/api/audit-export?job_id="+id)), audit)
	everything := exported(t, ask("/admin/api/audit-export"))
	if n := len(everything) - len(audit); n < 0 {
		t.Errorf("%d records in all", len(everything))
	} else {
		wantSame(t, "export of everything", everything[n:], audit)
	}
	if before := exported(t, ask("/admin/api/audit-export?until=2001-01-01T00:00:00Z")); len(before) > 0 {
		t.Errorf("before everything: %v", before)
	}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func wantSame(t *testing.T, what string, got, want []map[string]any) {
	t.Helper()
	a, err := json.Marshal(got)
	b, err2 := json.Marshal(want)
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, a, b)
	}
}

// exported are the records of an export of one page.
func exported(t *testing.T, lines string) (records []map[string]any) {
	t.Helper()
	r, err := auditchain.Verify(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		var l struct{ Record map[string]any }
		decode(t, line, &l)
		if l.Record != nil {
			records = append(records, l.Record)
		}
	}
	if int64(len(records)) != r.Count {
		t.Errorf("%d records, the trailer counts %d", len(records), r.Count)
	}
	return records
}
