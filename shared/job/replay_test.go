package job_test

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
)

// limitedWorld is a world whose client may make n requests a minute.
func limitedWorld(t *testing.T, n int) (w *jobtest.World, token string) {
	w = jobtest.New(t)
	w.Seed()
	return w, w.SaveClient(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, RateLimitPerMin: n, Enabled: true})
}

// spent is how many permits of the last minute the token's bucket holds.
func spent(t *testing.T, w *jobtest.World, token string) int {
	t.Helper()
	view, err := w.Store.ReadLaunch(t.Context(), job.LaunchKeys{TokenHash: registry.TokenHash(token)})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		if _, _, d := view.Limit.Bucket.Take(w.Clock.Now(), ratelimit.Policy{Count: n, Window: time.Minute}); d.Allowed {
			return n - 1
		}
	}
}

func wire(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplayByTheOwner(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 10)
	first := w.MustLaunch(token, jobtest.Submission("r"))
	if first.Route == nil || *first.Route != jobtest.Route || *first.Target != "llm" || *first.SessionID == "" || *first.Continue {
		t.Errorf("first answer %s", wire(t, first))
	}
	again := w.MustLaunch(token, jobtest.Submission("r"))
	want := fmt.Sprintf(`{"job_id":%q,"status":"queued","request_id":"r"}`, first.JobID)
	if got := wire(t, again); got != want {
		t.Errorf("replay %s, want %s", got, want)
	}
	w.Model.Then(jobtest.Say("done"))
	w.Deliver()
	if again := w.MustLaunch(token, jobtest.Submission("r")); again.Status != job.Done {
		t.Errorf("status %s: a replay shows the current one", again.Status)
	}
	if n := spent(t, w, token); n != 1 {
		t.Errorf("%d permits spent, want 1: replays are free (D4)", n)
	}
}

func TestReplayIsFreeAtTheLimit(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 1)
	first := w.MustLaunch(token, jobtest.Submission("r"))
	_, err := w.Launch(token, jobtest.Submission("other"))
	wantStatus(t, err, 429)
	if ms := refusal(t, err).Body["retry_after_ms"]; ms != int64(60_000) {
		t.Errorf("retry_after_ms %v, want 60000", ms)
	}
	if again := w.MustLaunch(token, jobtest.Submission("r")); again.JobID != first.JobID {
		t.Errorf("job %s, want %s", again.JobID, first.JobID)
	}
	w.Clock.Advance(time.Minute)
	w.MustLaunch(token, jobtest.Submission("other"))
}

func TestWhatIsRefusedChargesNothing(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 10)
	r := jobtest.SupportRoute()
	r.RouteKey, r.Target = "no-target", "absent"
	w.SaveRoute(r)
	for _, route := range []string{`"no-target"`, `"auto"`, `"nowhere"`} {
		_, err := w.Launch(token, body(map[string]string{"route": route}))
		wantStatus(t, err, 400)
	}
	if n := spent(t, w, token); n != 0 {
		t.Errorf("%d permits spent, want 0", n)
	}
}

func TestReplayPassesTheChecksOfNewWork(t *testing.T) {
	t.Parallel()
	for rule, breakIt := range map[string]func(w *jobtest.World){
		"the route is disabled": func(w *jobtest.World) {
			r := jobtest.SupportRoute()
			r.Enabled = false
			w.SaveRoute(r)
		},
		"the target is disabled": func(w *jobtest.World) {
			w.SaveTarget(registry.Target{Name: registry.TargetLLM, Kind: registry.InHub})
		},
	} {
		w := jobtest.New(t)
		token := w.Seed()
		w.MustLaunch(token, jobtest.Submission("r"))
		breakIt(w)
		_, err := w.Launch(token, jobtest.Submission("r"))
		if refusal(t, err).Code != apierr.Invalid {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestReplayByAnother(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	other := w.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	ofClient := w.MustLaunch(token, jobtest.Submission("client"))
	ofAdmin := w.MustLaunch(jobtest.ServerToken, jobtest.Submission("admin"))

	_, err := w.Launch(other, jobtest.Submission("client"))
	wantStatus(t, err, 409)
	_, err = w.Launch(token, jobtest.Submission("admin"))
	wantStatus(t, err, 409)
	for id, want := range map[string]string{"client": ofClient.JobID, "admin": ofAdmin.JobID} {
		if a := w.MustLaunch(jobtest.ServerToken, jobtest.Submission(id)); a.JobID != want || a.PayloadMismatch {
			t.Errorf("an administrator's replay of %s: %s", id, wire(t, a))
		}
	}
}

func TestChangedPayload(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	first := w.MustLaunch(token, jobtest.Submission("r", `"metadata":{"a":1,"b":[2]}`, `"callback_url":"https://x/y"`))
	for rule, tc := range map[string]struct {
		body     string
		mismatch bool
	}{
		"the same":                    {jobtest.Submission("r", `"metadata":{"a":1,"b":[2]}`, `"callback_url":"https://x/y"`), false},
		"members in another order":    {jobtest.Submission("r", `"callback_url":"https://x/y"`, `"metadata":{"b":[2],"a":1.0}`), false},
		"the alias of the callback":   {jobtest.Submission("r", `"metadata":{"a":1,"b":[2]}`, `"callback":"https://x/y"`), false},
		"with wait_ms":                {jobtest.Submission("r", `"metadata":{"a":1,"b":[2]}`, `"callback_url":"https://x/y"`, `"wait_ms":5`), false},
		"another callback":            {jobtest.Submission("r", `"metadata":{"a":1,"b":[2]}`, `"callback_url":"https://x/z"`), true},
		"other metadata":              {jobtest.Submission("r", `"metadata":{"a":2,"b":[2]}`, `"callback_url":"https://x/y"`), true},
		"no metadata and no callback": {jobtest.Submission("r"), true},
	} {
		a := w.MustLaunch(token, tc.body)
		if a.JobID != first.JobID || a.PayloadMismatch != tc.mismatch {
			t.Errorf("%s: %s", rule, wire(t, a))
		}
	}
	events := w.Events(first.JobID, "run_request_id_payload_mismatch")
	if len(events) != 3 || events[0].Stage != "launch" || events[0].Severity != "warning" {
		t.Errorf("events %+v, want one for each changed payload", events)
	}
	if j := w.Job(first.JobID); j.CallbackURL != "https://x/y" {
		t.Errorf("the stored job changed: callback %s", j.CallbackURL)
	}
}

func TestConcurrentIdenticalSubmissionsAreOneJob(t *testing.T) {
	t.Parallel()
	const callers = 24
	for _, policy := range []registry.SessionPolicy{registry.SessionNew, registry.SessionFixed} {
		w, token := limitedWorld(t, 60)
		r := jobtest.SupportRoute()
		r.SessionPolicy, r.SessionFixedID = policy, "desk"
		w.SaveRoute(r)
		answers := make([]job.Accepted, callers)
		errs := make([]error, callers)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range callers {
			wg.Go(func() {
				<-begin
				answers[i], errs[i] = w.Launch(token, jobtest.Submission("r"))
			})
		}
		close(begin)
		wg.Wait()
		created := 0
		for i, a := range answers {
			if errs[i] != nil || a.JobID != answers[0].JobID || a.RequestID != "r" || a.Status != job.Queued {
				t.Errorf("%s: answer %d: %s, error %v", policy, i, wire(t, a), errs[i])
			}
			if a.Route != nil {
				created++
			}
		}
		if messages := w.Queue.Take(); created != 1 || len(messages) != 1 || messages[0].JobID != answers[0].JobID {
			t.Errorf("%s: %d created, messages %v; want one of each", policy, created, messages)
		}
		if n := spent(t, w, token); n != 1 {
			t.Errorf("%s: %d permits spent, want 1: losers give theirs back (D10)", policy, n)
		}
		if n := len(w.Events(answers[0].JobID, "received")); n != 1 {
			t.Errorf("%s: %d records of the launch", policy, n)
		}
	}
}

func TestLaunchSurvivesALostMessage(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	w.Queue.Fail(errQueue)
	a := w.MustLaunch(token, jobtest.Submission("r"))
	w.Queue.Fail(nil)
	w.Clock.Advance(job.ResendAfter)
	if n := w.Sweep(); n.Requeued != 1 {
		t.Errorf("%+v, want one requeued", n)
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != a.JobID {
		t.Errorf("messages %v", m)
	}
}

// Core §10.4 bounds a configured rate only below; core §5.6 bounds what a limit can count.
func TestRateBeyondTheLargestPolicyIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{ratelimit.MaxCount, ratelimit.MaxCount + 1, math.MaxInt32} {
		w, token := limitedWorld(t, rate)
		if _, err := w.Launch(token, jobtest.Submission("r")); err != nil {
			t.Errorf("%d in a minute: %v", rate, err)
		}
	}
}

func TestRateLimitIsTheClientsOwn(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 2)
	other := w.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, RateLimitPerMin: 1, Enabled: true})
	unlimited := w.SaveClient(registry.Client{AppID: "free", AllowedRoutes: []string{"*"}, Enabled: true})
	for i := range 2 {
		w.MustLaunch(token, jobtest.Submission(fmt.Sprint("a", i)))
	}
	_, err := w.Launch(token, jobtest.Submission("a3"))
	wantStatus(t, err, 429)
	w.MustLaunch(other, jobtest.Submission("b1"))
	for i := range 5 {
		w.MustLaunch(unlimited, jobtest.Submission(fmt.Sprint("c", i)))
		w.MustLaunch(jobtest.ServerToken, jobtest.Submission(fmt.Sprint("d", i)))
	}
}
