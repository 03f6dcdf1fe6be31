package job_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// offices is a world with clients and routes for every way in which a submission may be refused.
type offices struct {
	*jobtest.World
	all, narrow, disabled string // tokens
}

func openOffices(t *testing.T) offices {
	t.Helper()
	w := offices{World: jobtest.New(t)}
	w.all = w.Seed()
	w.narrow = w.SaveClient(registry.Client{AppID: "narrow", AllowedRoutes: []string{"support", "gone"}, Enabled: true})
	w.disabled = w.SaveClient(registry.Client{AppID: "disabled", AllowedRoutes: []string{"*"}})
	route := func(key string, change func(*registry.Route)) {
		r := jobtest.SupportRoute()
		r.RouteKey = key
		change(&r)
		w.SaveRoute(r)
	}
	w.SaveTarget(registry.Target{Name: "off", Kind: registry.InHub})
	w.SaveTarget(registry.Target{Name: "builder", Kind: registry.Executor, NeedsProject: true, Enabled: true})
	route("closed", func(r *registry.Route) { r.Enabled = false })
	route("off-target", func(r *registry.Route) { r.Target = "off" })
	route("no-target", func(r *registry.Route) { r.Target = "absent" })
	route("needs-project", func(r *registry.Route) { r.Target = "builder" })
	route("has-project", func(r *registry.Route) { r.Target, r.Project = "builder", "tower" })
	route("Capital.Key", func(*registry.Route) {})
	return w
}

// body is the minimal submission with members replaced; a value of "" removes the member.
func body(members map[string]string) string {
	m := map[string]string{"request_id": `"r"`, "route": `"support"`, "input": `"hello"`}
	maps.Copy(m, members)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, m[name]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestSubmissionRules(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	url := func(n int) string { return quoted("https://x/" + strings.Repeat("a", n-len("https://x/"))) }
	// A face is one code point and two UTF-16 units.
	face := func(units int) string { return quoted(strings.Repeat("😀", units/2)) }
	cases := []struct {
		rule    string
		members map[string]string
		status  int
	}{
		{"the minimal request", nil, 202},
		{"request_id is required", map[string]string{"request_id": ""}, 400},
		{"request_id is a string", map[string]string{"request_id": `7`}, 400},
		{"request_id is not blank", map[string]string{"request_id": `" \t\u00a0"`}, 400},
		{"request_id may have 128 characters", map[string]string{"request_id": quoted(strings.Repeat("a", 128))}, 202},
		{"request_id may not have 129", map[string]string{"request_id": quoted(strings.Repeat("a", 129))}, 400},
		{"characters of request_id are UTF-16 units: 128 fit", map[string]string{"request_id": face(128)}, 202},
		{"characters of request_id are UTF-16 units: 130 do not", map[string]string{"request_id": face(130)}, 400},
		{"request_id is Unicode text", map[string]string{"request_id": `"a\ud800"`}, 400},
		{"input is required", map[string]string{"input": ""}, 400},
		{"input is a string", map[string]string{"input": `["a"]`}, 400},
		{"input is not blank", map[string]string{"input": `"\n"`}, 400},
		{"input may have 100000 characters", map[string]string{"input": quoted(strings.Repeat("a", 100_000))}, 202},
		{"input may not have 100001", map[string]string{"input": quoted(strings.Repeat("a", 100_001))}, 400},
		{"characters of input are UTF-16 units: 100000 fit", map[string]string{"input": face(100_000)}, 202},
		{"characters of input are UTF-16 units: 100002 do not", map[string]string{"input": face(100_002)}, 400},
		{"input is Unicode text", map[string]string{"input": `"\udc00"`}, 400},
		{"metadata is an object", map[string]string{"metadata": `{"a":[1]}`}, 202},
		{"an empty array is empty metadata", map[string]string{"metadata": `[]`}, 202},
		{"an array with elements is not", map[string]string{"metadata": `[1]`}, 400},
		{"null is no metadata", map[string]string{"metadata": `null`}, 400},
		{"text is no metadata", map[string]string{"metadata": `"a"`}, 400},
		{"keys of metadata need not be Unicode text", map[string]string{"metadata": `{"\ud800":1,"principal":{"id":"u"}}`}, 202},
		{"callback_url may be http", map[string]string{"callback_url": `"http://x/y"`}, 202},
		{"its scheme may be in capitals", map[string]string{"callback_url": `"HTTPS://x"`}, 202},
		{"callback_url may not be of another scheme", map[string]string{"callback_url": `"ftp://x/y"`}, 400},
		{"callback_url is absolute", map[string]string{"callback_url": `"/y"`}, 400},
		{"callback_url has a host", map[string]string{"callback_url": `"https:///y"`}, 400},
		{"callback_url is not empty", map[string]string{"callback_url": `""`}, 400},
		{"callback_url is a string", map[string]string{"callback_url": `null`}, 400},
		{"callback_url may have 2048 characters", map[string]string{"callback_url": url(2048)}, 202},
		{"callback_url may not have 2049", map[string]string{"callback_url": url(2049)}, 400},
		{"callback is an alias (D1)", map[string]string{"callback": `"https://x/y"`}, 202},
		{"callback obeys the same rules (D1)", map[string]string{"callback": `"y"`}, 400},
		{"both may say the same (D1)", map[string]string{"callback": `"https://x/y"`, "callback_url": `"https://x/y"`}, 202},
		{"both may not differ (D1)", map[string]string{"callback": `"https://x/z"`, "callback_url": `"https://x/y"`}, 400},
		{"wait_ms is accepted (D2)", map[string]string{"wait_ms": `5000`}, 202},
		{"wait_ms is an integer (D2)", map[string]string{"wait_ms": `1.5`}, 400},
		{"wait_ms is a number (D2)", map[string]string{"wait_ms": `"5000"`}, 400},
		{"a client must name a route", map[string]string{"route": ""}, 400},
		{"the route is a string", map[string]string{"route": `["support"]`}, 400},
		{"a client's route has the client pattern", map[string]string{"route": `"Capital.Key"`}, 400},
		{"a client may not set the project", map[string]string{"project": `"p"`}, 403},
		{"a client may not set the profile", map[string]string{"profile": `"p"`}, 403},
		{"a client may not set the source", map[string]string{"source": `"p"`}, 400},
		{"unknown members are refused", map[string]string{"colour": `"red"`}, 400},
		{"an unknown route", map[string]string{"route": `"nowhere"`}, 400},
		{"a disabled route", map[string]string{"route": `"closed"`}, 400},
		{"a disabled target", map[string]string{"route": `"off-target"`}, 400},
		{"a target that does not exist", map[string]string{"route": `"no-target"`}, 400},
		{"a target that needs a project", map[string]string{"route": `"needs-project"`}, 400},
		{"the route may give the project", map[string]string{"route": `"has-project"`}, 202},
	}
	for i, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			members := map[string]string{"request_id": fmt.Sprintf(`"rules-%d"`, i)}
			maps.Copy(members, tc.members)
			a, err := w.Launch(w.all, body(members))
			if tc.status != 202 {
				wantStatus(t, err, tc.status)
				return
			}
			if err != nil || a.Status != job.Queued {
				t.Errorf("status %q, error %v", a.Status, err)
			}
		})
	}
}

// Each case breaks two rules; the one that the contract checks first answers.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	cases := []struct {
		rule    string
		token   string
		members map[string]string
		status  int
	}{
		{"no token before a bad body", "", map[string]string{"input": ""}, 401},
		{"an unknown token before a bad body", strings.Repeat("0", 32), map[string]string{"input": ""}, 401},
		{"a disabled client before a bad body", w.disabled, map[string]string{"input": ""}, 401},
		{"members before the route pattern", w.all, map[string]string{"metadata": "7", "route": `"X"`, "project": `"p"`}, 400},
		{"members before the project", w.all, map[string]string{"callback_url": `"x"`, "project": `"p"`}, 400},
		{"the route pattern before the project", w.all, map[string]string{"route": `"X"`, "project": `"p"`}, 400},
		{"the project before unknown members", w.all, map[string]string{"project": `"p"`, "colour": "1"}, 403},
		{"unknown members before the allowlist", w.narrow, map[string]string{"route": `"closed"`, "colour": "1"}, 400},
		{"the allowlist before the existence of the route", w.narrow, map[string]string{"route": `"nowhere"`}, 403},
		{"an allowed route that does not exist", w.narrow, map[string]string{"route": `"gone"`}, 400},
		{"auto is for every client, and matches nothing", w.narrow, map[string]string{"route": `"auto"`}, 400},
	}
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			_, err := w.Launch(tc.token, body(tc.members))
			wantStatus(t, err, tc.status)
		})
	}
}

func TestPausedHubTakesNothing(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	first := w.MustLaunch(w.all, body(nil))
	w.Pause(true)
	for rule, request := range map[string]string{"new work": body(map[string]string{"request_id": `"new"`}), "a replay": body(nil), "a bad body": `{}`} {
		_, err := w.Launch(w.all, request)
		e := refusal(t, err)
		if e.Code != apierr.Unavailable || e.Body["status"] != "paused" {
			t.Errorf("%s: %v %v", rule, err, e.Body)
		}
		if v, present := e.Body["error"]; !present || v != nil { // that is how the envelope leaves `error` out
			t.Errorf("%s: the answer has an error member", rule)
		}
	}
	_, err := w.Launch("", body(nil))
	wantStatus(t, err, 401)
	w.Pause(false)
	if again := w.MustLaunch(w.all, body(nil)); again.JobID != first.JobID {
		t.Errorf("after the pause: job %s, want %s", again.JobID, first.JobID)
	}
}

func TestAdministratorMayMore(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	a := w.MustLaunch(jobtest.ServerToken, body(map[string]string{
		"route": `"needs-project"`, "project": `"tower"`, "profile": `"fast"`, "source": `"console"`,
	}))
	j := w.Job(a.JobID)
	if j.Project != "tower" || j.Profile != "fast" || j.Source != "console" || j.Owner != "" {
		t.Errorf("project %q, profile %q, source %q, owner %q", j.Project, j.Profile, j.Source, j.Owner)
	}
	if a := w.MustLaunch(jobtest.ServerToken, body(map[string]string{"request_id": `"2"`, "route": `"Capital.Key"`})); w.Job(a.JobID).Source != "unknown" {
		t.Errorf("source %q, want unknown", w.Job(a.JobID).Source)
	}
	longest := body(map[string]string{
		"request_id": `"3"`, "project": quoted(strings.Repeat("p", 128)), "profile": quoted(strings.Repeat("p", 64)), "source": quoted(strings.Repeat("s", 64)),
	})
	if _, err := w.Launch(jobtest.ServerToken, longest); err != nil {
		t.Errorf("members at their limits: %v", err)
	}
	cases := map[string]map[string]string{
		"a source over 64":           {"source": quoted(strings.Repeat("s", 65))},
		"an unknown member":          {"colour": "1"},
		"no route":                   {"route": ""},
		"a project that is no text":  {"project": "1"},
		"a project over 128":         {"project": quoted(strings.Repeat("p", 129))},
		"a profile over 64":          {"profile": quoted(strings.Repeat("p", 65))},
		"a route that is not there":  {"route": quoted(strings.Repeat("r", 5000))},
		"a target without a project": {"route": `"needs-project"`},
	}
	for rule, members := range cases {
		_, err := w.Launch(jobtest.ServerToken, body(members))
		wantStatus(t, err, 400)
		if n := len(refusal(t, err).Message); n > 400 {
			t.Errorf("%s: the answer repeats %d bytes", rule, n)
		}
	}
}

func TestJobTakesWhatTheRouteGives(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	r := jobtest.SupportRoute()
	r.Profile, r.Project, r.DefaultCallbackURL = "calm", "tower", "https://default.example/cb"
	w.SaveRoute(r)
	plain := w.Job(w.MustLaunch(token, body(nil)).JobID)
	if plain.Profile != "calm" || plain.Project != "tower" || plain.CallbackURL != r.DefaultCallbackURL || plain.Source != jobtest.Client {
		t.Errorf("profile %q, project %q, callback %q, source %q", plain.Profile, plain.Project, plain.CallbackURL, plain.Source)
	}
	own := w.Job(w.MustLaunch(token, body(map[string]string{"request_id": `"2"`, "callback": `"https://own.example/cb"`})).JobID)
	if own.CallbackURL != "https://own.example/cb" {
		t.Errorf("callback %q", own.CallbackURL)
	}
}

func TestBodyThatIsNoObject(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	for _, text := range []string{`[]`, `"a"`, `null`, `7`, `{}`} {
		_, err := w.Launch(token, text)
		wantStatus(t, err, 400)
	}
	// Why the body could not be read is told to those who may be told.
	unreadable := apierr.New(apierr.PayloadTooLarge, "payload too large")
	_, err := w.Launcher.Launch(t.Context(), job.Caller{TokenHash: registry.TokenHash(token)}, canonical.Value{}, unreadable)
	wantStatus(t, err, 413)
	_, err = w.Launcher.Launch(t.Context(), job.Caller{}, canonical.Value{}, unreadable)
	wantStatus(t, err, 401)
}
