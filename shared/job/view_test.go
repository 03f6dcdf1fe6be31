package job_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

func caller(token string) job.Caller {
	switch token {
	case "":
		return job.Caller{}
	case jobtest.ServerToken:
		return job.Caller{Admin: true}
	}
	return job.Caller{TokenHash: registry.TokenHash(token)}
}

func TestWhoMayReadAJob(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	id := w.MustLaunch(w.all, jobtest.Submission("r")).JobID
	ofAdmin := w.MustLaunch(jobtest.ServerToken, jobtest.Submission("a")).JobID
	const absent = "11111111-2222-4333-8444-555555555555"
	for _, tc := range []struct {
		rule, token, id string
		status          int
	}{
		{"the owner", w.all, id, 200},
		{"the owner, id in capitals (D46)", w.all, strings.ToUpper(id), 200},
		{"an administrator", jobtest.ServerToken, id, 200},
		{"another client", w.narrow, id, 404},
		{"a client, of an administrator's job", w.all, ofAdmin, 404},
		{"a job that does not exist", w.all, absent, 404},
		{"an administrator, a job that does not exist", jobtest.ServerToken, absent, 404},
		{"an id that is no UUID", w.all, "job_1", 404},
		{"an administrator, an id that is no UUID", jobtest.ServerToken, "", 404},
		{"nobody", "", id, 401},
		{"nobody, a job that does not exist", "", absent, 401},
		{"an unknown token", strings.Repeat("a", 32), id, 401},
		{"a disabled client", w.disabled, id, 401},
	} {
		v, err := w.Reader.Get(t.Context(), caller(tc.token), tc.id)
		if tc.status != 200 {
			if err == nil || refusal(t, err).Code.Status() != tc.status {
				t.Errorf("%s: error %v, want status %d", tc.rule, err, tc.status)
			}
			continue
		}
		if err != nil || v.ID != id || v.JobID != id {
			t.Errorf("%s: %s, error %v", tc.rule, v.JobID, err)
		}
	}
	// A foreign job and an absent one are told apart by nobody.
	_, foreign := w.Reader.Get(t.Context(), caller(w.narrow), id)
	_, missing := w.Reader.Get(t.Context(), caller(w.narrow), absent)
	if foreign.Error() != missing.Error() {
		t.Errorf("%q and %q differ", foreign, missing)
	}
}

// The members of core §1.6 as D5 allows them; callback_url is there when the job has one.
var viewMembers = []string{
	"attempts", "callback_url", "created_at", "error", "id", "input_preview", "job_id", "metadata", "raw_result", "report", "request_id",
	"result", "route", "session_id", "source", "status", "target", "thread_id", "updated_at", "usage",
}

func TestViewIsAnAllowlist(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	secret := job.Job{
		ID: "id", RequestID: "r", Status: job.Running, Owner: canary, Source: "s", Profile: canary, Project: canary,
		ThreadKey: canary, ThreadID: 7, SessionID: "session", CallbackURL: "https://x/y", Input: "hello" + strings.Repeat(" ", 200) + canary,
		Metadata: json.RawMessage(`{"a":1}`), Worker: canary, Claim: 4711, Recoveries: 4711,
		Snapshot: job.Snapshot{
			RouteKey: "support", RouteName: canary, Target: "llm", TargetConfig: json.RawMessage(`{"system_prompt":"` + canary + `"}`),
		},
	}
	text := wire(t, job.ViewOf(&secret))
	if strings.Contains(text, "4711") {
		t.Errorf("the view shows what it must not: %s", text)
	}
	var members map[string]json.RawMessage
	decode(t, []byte(text), &members)
	if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, viewMembers) {
		t.Errorf("members %v, want %v", got, viewMembers)
	}
	for _, name := range []string{"result", "report", "raw_result", "usage", "error"} {
		if string(members[name]) != "null" {
			t.Errorf("%s is %s before it exists", name, members[name])
		}
	}
}

func TestViewOfAFinishedJob(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	id := w.MustLaunch(token, `{"request_id":"r","route":"support","input":"`+strings.Repeat("😀", 150)+`","metadata":{"k":"v"}}`).JobID
	w.Model.Then(jobtest.Say("Hello."))
	w.Clock.Advance(1500 * time.Millisecond)
	w.Deliver()
	v, err := w.Reader.Get(t.Context(), caller(token), id)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != job.Done || v.Route != "support" || v.Target != "llm" || v.Source != jobtest.Client || v.RequestID != "r" || v.Error != nil {
		t.Errorf("view %s", wire(t, v))
	}
	if v.InputPreview != strings.Repeat("😀", 100) {
		t.Errorf("preview of %d characters, want 200 UTF-16 units", textlimit.Len(v.InputPreview))
	}
	if v.CreatedAt != "2099-07-01T12:00:00.000Z" || v.UpdatedAt != "2099-07-01T12:00:01.500Z" {
		t.Errorf("created %s, updated %s", v.CreatedAt, v.UpdatedAt)
	}
	if string(v.Metadata) != `{"k":"v"}` || v.ThreadID < 0 || v.ThreadID >= 1<<53 {
		t.Errorf("metadata %s, thread %d", v.Metadata, v.ThreadID)
	}
	var result struct{ Text, Model string }
	decode(t, v.Result, &result)
	if result.Text != "Hello." || result.Model != jobtest.ModelName {
		t.Errorf("result %s", v.Result)
	}
}

// The input may be larger than an item.
func TestLargeJobComesBackWhole(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	input, note := strings.Repeat("界", 100_000), strings.Repeat("m", 600_000)
	id := w.MustLaunch(token, `{"request_id":"r","route":"support","input":"`+input+`","metadata":{"note":"`+note+`"}}`).JobID
	j := w.Job(id)
	if j.Input != input || string(j.Metadata) != `{"note":"`+note+`"}` {
		t.Errorf("input of %d bytes, metadata of %d", len(j.Input), len(j.Metadata))
	}
}

// Numbers and roles may be longer as they are stored than as they were sent. What could not be read back is not taken.
func TestMetadataThatGrows(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	// 1e20 is stored with its 21 digits.
	numbers := func(n int) string { return `"metadata":{"a":[1e20` + strings.Repeat(",1e20", n-1) + `]}` }
	const each, around, most = 22, len(`{"a":[]}`) - 1, 4_000_000
	for i, tc := range []struct {
		members string
		taken   bool
	}{
		{numbers((most - around) / each), true},
		{numbers((most-around)/each + 1), false},
		{`"metadata":{"uid":"u","roles":"` + strings.Repeat("a,", 500_000) + `"}`, true}, // 1 MB as sent, 2 MB more as a list
		{`"metadata":{"uid":"u","roles":"` + strings.Repeat("a,", 800_000) + `"}`, false},
	} {
		a, err := w.Launch(token, jobtest.Submission(fmt.Sprint("r", i), tc.members))
		switch {
		case !tc.taken:
			wantStatus(t, err, 400)
		case err != nil:
			t.Errorf("case %d: %v", i, err)
		case job.ResultRoom(w.Job(a.JobID)) < 600_000:
			t.Errorf("case %d: room for a result of %d bytes", i, job.ResultRoom(w.Job(a.JobID)))
		}
	}
}
