package job_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"bailing/shared/audience"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// auto is a submission that leaves the choice to the hub.
func auto(requestID, input string, members ...string) string {
	m := map[string]string{"request_id": quoted(requestID), "route": `"auto"`, "input": quoted(input)}
	for i := 0; i < len(members); i += 2 {
		m[members[i]] = members[i+1]
	}
	return body(m)
}

func decision(t *testing.T, err error) audience.Decision {
	t.Helper()
	d, ok := refusal(t, err).Body["decision"].(audience.Decision)
	if !ok {
		t.Fatalf("no decision in %v", err)
	}
	return d
}

func TestAutoRoutingRunsTheBestRoute(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	withPolicy(t, w, "refunds", `{"keywords":["refund"],"roles":["clerk","*"]}`)
	withPolicy(t, w, "returns", `{"auto":true}`)
	withPolicy(t, w, "secret", `{"auto":true,"priority":900,"roles":["chief"]}`)
	withPolicy(t, w, "closed", `{"auto":true,"priority":900}`, func(r *registry.Route) { r.Enabled = false })

	a := w.MustLaunch(token, auto("r1", "A Refund!", "metadata", `{"uid":"u","role":"clerk"}`))
	if a.Route == nil || *a.Route != "refunds" {
		t.Fatalf("answer %s", wire(t, a))
	}
	j := w.Job(a.JobID)
	if j.Snapshot.RouteKey != "refunds" || j.Snapshot.RouteName != "Route refunds" {
		t.Errorf("job runs %+v", j.Snapshot)
	}
	got := w.Events(a.JobID, "received")[0].Detail
	want := map[string]any{"score": 12.0, "reasons": []any{"keywords", "role"}}
	if got["route"] != "refunds" || !reflect.DeepEqual(got["auto"], want) {
		t.Errorf("audit record %v, want %v", got, want)
	}
	if a := w.MustLaunch(token, auto("r2", "Something else")); *a.Route != "returns" {
		t.Errorf("route %s", *a.Route)
	}
	// What the principal may use counts, and the words may be in metadata.
	if a := w.MustLaunch(token, auto("r3", "Something", "metadata", `{"topic":{"kinds":["REFUND"]}}`)); *a.Route != "refunds" {
		t.Errorf("route %s", *a.Route)
	}
	if a := w.MustLaunch(token, auto("r4", "Something", "metadata", `{"uid":"u","role":"chief"}`)); *a.Route != "secret" {
		t.Errorf("route %s", *a.Route)
	}
	// A route that the caller names has no choice to record.
	named := w.MustLaunch(token, body(map[string]string{"request_id": `"r5"`, "route": `"refunds"`}))
	if _, ok := w.Events(named.JobID, "received")[0].Detail["auto"]; ok {
		t.Error("a named route has a score")
	}
}

func TestAutoRoutingKeepsToTheClientsRoutes(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Seed()
	narrow := w.SaveClient(registry.Client{AppID: "narrow", AllowedRoutes: []string{"returns", "Capital.Key"}, Enabled: true})
	withPolicy(t, w, "refunds", `{"auto":true,"priority":5}`)
	withPolicy(t, w, "returns", `{"auto":true}`)
	withPolicy(t, w, "Capital.Key", `{"auto":true,"priority":9}`)
	if a := w.MustLaunch(narrow, auto("r1", "x")); *a.Route != "returns" {
		t.Errorf("route %s", *a.Route)
	}
	if a := w.MustLaunch(jobtest.ServerToken, auto("r2", "x")); *a.Route != "Capital.Key" {
		t.Errorf("an administrator's route is %s", *a.Route)
	}
}

func TestAutoRoutingRefusesATie(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 10)
	for _, key := range []string{"b1", "a1"} {
		withPolicy(t, w, key, `{"keywords":["order"]}`)
	}
	withPolicy(t, w, "c1", `{"auto":true}`)
	_, err := w.Launch(token, auto("r", "order"))
	wantStatus(t, err, 409)
	if e := refusal(t, err); e.Message != "route_auto_ambiguous" {
		t.Errorf("error %q (D45)", e.Message)
	}
	got, err := json.Marshal(decision(t, err))
	want := `{"mode":"auto","ok":false,"candidates":[{"route_key":"a1","score":11,"reasons":["keywords"]},` +
		`{"route_key":"b1","score":11,"reasons":["keywords"]},{"route_key":"c1","score":1,"reasons":[]}],"error":"route_auto_ambiguous"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
	if n := spent(t, w, token); n != 0 {
		t.Errorf("%d permits spent, want 0 (D4)", n)
	}
}

func TestAutoRoutingAnswersWithItsDecision(t *testing.T) {
	t.Parallel()
	w := openOffices(t)
	for _, token := range []string{w.all, jobtest.ServerToken} {
		_, err := w.Launch(token, body(map[string]string{"route": `"auto"`}))
		wantStatus(t, err, 400)
		if e := refusal(t, err); e.Message != "route_auto_no_match" {
			t.Errorf("error %q (D45)", e.Message)
		}
		want := `{"decision":{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match"}}`
		if got := wire(t, refusal(t, err).Body); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAutoRoutingSeesEveryRouteOfALargeHub(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	for i := range 101 { // more than one batch with the seeded one
		withPolicy(t, w, fmt.Sprintf("r%03d", i), `{"keywords":["k`+fmt.Sprint(i)+`x"]}`)
	}
	for _, i := range []int{0, 98, 99, 100} {
		if a := w.MustLaunch(token, auto(fmt.Sprint("q", i), fmt.Sprintf("k%dx", i))); *a.Route != fmt.Sprintf("r%03d", i) {
			t.Errorf("route %s for %d", *a.Route, i)
		}
	}
}

// I9: the first answer stays, whatever the configuration says now.
func TestReplayOfAutoReturnsTheFirstJob(t *testing.T) {
	t.Parallel()
	for change, apply := range map[string]func(t *testing.T, w *jobtest.World){
		"another route is better": func(t *testing.T, w *jobtest.World) { withPolicy(t, w, "better", `{"auto":true,"priority":9}`) },
		"another route ties":      func(t *testing.T, w *jobtest.World) { withPolicy(t, w, "equal", `{"auto":true}`) },
		"the route is disabled": func(t *testing.T, w *jobtest.World) {
			withPolicy(t, w, "first", `{"auto":true}`, func(r *registry.Route) { r.Enabled = false })
		},
		"the route takes no part any more": func(t *testing.T, w *jobtest.World) { withPolicy(t, w, "first", `{}`) },
		"the route admits nobody any more": func(t *testing.T, w *jobtest.World) { withPolicy(t, w, "first", `{"auto":true,"roles":["x"]}`) },
		"the target is disabled": func(_ *testing.T, w *jobtest.World) {
			w.SaveTarget(registry.Target{Name: registry.TargetLLM, Kind: registry.InHub})
		},
		"the clock went on and nothing else": func(_ *testing.T, w *jobtest.World) { w.Clock.Advance(time.Hour) },
		"the client may use the route no more": func(t *testing.T, w *jobtest.World) {
			v, err := w.Store.Clients().Get(t.Context(), jobtest.Client)
			if err != nil {
				t.Fatal(err)
			}
			v.Value.AllowedRoutes = []string{"elsewhere"}
			if err := w.Store.Clients().Put(t.Context(), *v, v.Value.TokenHash, registry.Change{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			w, token := limitedWorld(t, 10)
			withPolicy(t, w, "first", `{"auto":true}`)
			first := w.MustLaunch(token, auto("r", "x"))
			apply(t, w)
			again := w.MustLaunch(token, auto("r", "x"))
			want := fmt.Sprintf(`{"job_id":%q,"status":"queued","request_id":"r"}`, first.JobID)
			if got := wire(t, again); got != want {
				t.Errorf("replay %s, want %s", got, want)
			}
			if changed := w.MustLaunch(token, auto("r", "another text")); changed.JobID != first.JobID || !changed.PayloadMismatch {
				t.Errorf("changed payload: %s", wire(t, changed))
			}
		})
	}
}

func TestReplayOfAutoByAnotherClientIsAConflict(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	other := w.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	withPolicy(t, w, "first", `{"auto":true}`)
	w.MustLaunch(token, auto("r", "x"))
	_, err := w.Launch(other, auto("r", "x"))
	wantStatus(t, err, 409)
}

func TestConcurrentAutoSubmissionsAreOneJob(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 100)
	withPolicy(t, w, "first", `{"auto":true}`)
	ids := make([]string, 8)
	var g sync.WaitGroup
	for i := range ids {
		g.Go(func() {
			a, err := w.Launch(token, auto("r", "x"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = a.JobID
		})
	}
	g.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("jobs %v", ids)
		}
	}
	if n := spent(t, w, token); n != 1 {
		t.Errorf("%d permits spent, want 1", n)
	}
}

func TestChosenRouteMustBeAbleToRun(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 10)
	withPolicy(t, w, "broken", `{"auto":true}`, func(r *registry.Route) { r.Target = "absent" })
	_, err := w.Launch(token, auto("r", "x"))
	wantStatus(t, err, 400)
	if n := spent(t, w, token); n != 0 {
		t.Errorf("%d permits spent, want 0", n)
	}
}
