package jobrun_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

func TestTwoRounds(t *testing.T) {
	t.Parallel()
	b := open(t, nil, `"metadata":{"user":"u-1"}`)
	b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		b.Clock.Advance(300 * time.Millisecond)
		return jobtest.Response(200, `{"state":"shipped"}`), nil
	})
	slow := func(r jobtest.Reply) jobtest.Reply {
		return func(q model.Request) (model.Response, error) {
			b.Clock.Advance(time.Second)
			return r(q)
		}
	}
	r := b.answered(slow(jobtest.Call(order("SO-1"))), slow(jobtest.Say("It is on its way.")))
	if r.Text != "It is on its way." || r.Model != jobtest.ModelName || r.ToolCalls != 1 || r.Repaired {
		t.Errorf("result %+v", r)
	}
	if want := `{"used":1,"limit":5,"remaining":4,"exhausted":false}`; string(r.ToolBudget) != want {
		t.Errorf("budget %s, want %s", r.ToolBudget, want)
	}
	if want, got := `{"duration_ms":2300,"num_turns":2,"tokens":20}`, string(b.Job(b.id).Usage); got != want {
		t.Errorf("usage %s, want %s", got, want)
	}
	if sent := b.Business.Sent(); len(sent) != 1 || sent[0].Header.Get("X-Bailing-On-Behalf-Of") != "u-1" {
		t.Errorf("sent %v", sent)
	}
	var names []string
	for _, e := range b.Events(b.id, "") {
		names = append(names, e.Name)
	}
	for _, want := range []string{"received", "started", "llm_request", "tool_call", "tool_result", "finished"} {
		if !slices.Contains(names, want) {
			t.Errorf("the audit %v has no %s", names, want)
		}
	}
}

func TestWhatTheModelIsAsked(t *testing.T) {
	t.Parallel()
	temperature := 0.25
	b := open(t, func(r *registry.Route) {
		r.TargetConfig = json.RawMessage(`{"credential":"main","model":"model-2","system_prompt":"Be brief.","temperature":0.25,"timeout_ms":30000}`)
	}, `"metadata":{"user":"u-1"}`)
	b.Business.Respond(200, `{"state":"shipped"}`)
	b.answered(jobtest.Call(order("SO-1")), jobtest.Say("Done."))

	endpoint, timeout := b.Model.Last()
	if endpoint.BaseURL != "https://model.example/v1" || endpoint.APIKey != jobtest.APIKey || timeout != 30*time.Second {
		t.Errorf("endpoint %s, timeout %v", endpoint.BaseURL, timeout)
	}
	first, second := b.Model.Requests()[0], b.Model.Requests()[1]
	if first.Model != "model-2" || first.Temperature == nil || *first.Temperature != temperature {
		t.Errorf("model %s, temperature %v", first.Model, first.Temperature)
	}
	if len(first.Messages) != 2 || first.Messages[0].Role != model.RoleSystem || first.Messages[1].Role != model.RoleUser || first.Messages[1].Content != "Where is my order?" {
		t.Fatalf("messages %+v: one of the system and one of the user", first.Messages)
	}
	contains(t, "the system message", first.Messages[0].Content, "Be brief.", "never an instruction", "At most 5", "2099-07-01T12:00:00Z")
	if names := b.offered()[0]; !slices.Equal(names, []string{"order_get", "price_check", "whoami", "card_check", "burst_get", "ticket_create", "refund"}) {
		t.Errorf("offered %v", names)
	}
	m := second.Messages
	if len(m) != 5 || m[2].Role != model.RoleAssistant || len(m[2].ToolCalls) != 1 || m[3].Role != model.RoleTool ||
		m[3].ToolCallID != m[2].ToolCalls[0].ID || m[3].Content != `{"state":"shipped"}` || m[4].Role != model.RoleSystem {
		t.Fatalf("second request %+v", m)
	}
	contains(t, "the budget's status", m[4].Content, "1 of 5", "4 remain")
}

func TestModelAndTimeoutHaveDefaults(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		target int
		config string
		model  string
		want   time.Duration
	}{
		"the contract's default":     {0, `{"credential":"main"}`, jobtest.ModelName, 120 * time.Second},
		"the target's":               {60_000, `{"credential":"main"}`, jobtest.ModelName, time.Minute},
		"the route's wins":           {60_000, `{"credential":"main","timeout_ms":5000,"model":"m"}`, "m", 5 * time.Second},
		"at most 840 seconds (D28)":  {0, `{"credential":"main","timeout_ms":3600000}`, jobtest.ModelName, 840 * time.Second},
		"also of the target's (D28)": {3_600_000, `{"credential":"main"}`, jobtest.ModelName, 840 * time.Second},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b := &bench{World: jobtest.New(t), t: t}
			b.token = b.Seed()
			b.SaveTarget(registry.Target{Name: registry.TargetLLM, Kind: registry.InHub, TimeoutMS: tc.target, Enabled: true})
			r := jobtest.SupportRoute()
			r.TargetConfig = json.RawMessage(tc.config)
			b.SaveRoute(r)
			b.id = b.MustLaunch(b.token, jobtest.Submission("r")).JobID
			b.answered(jobtest.Say("x"))
			if _, timeout := b.Model.Last(); timeout != tc.want || b.Model.Requests()[0].Model != tc.model {
				t.Errorf("timeout %v, model %s", timeout, b.Model.Requests()[0].Model)
			}
		})
	}
}

func TestRouteWithoutTools(t *testing.T) {
	t.Parallel()
	b := open(t, func(r *registry.Route) { r.Tools = nil })
	r := b.answered(jobtest.Say("Hello."))
	if r.ToolCalls != 0 || r.ToolBudget != nil {
		t.Errorf("result %+v", r)
	}
	q := b.Model.Requests()[0]
	if len(q.Tools) != 0 {
		t.Errorf("%d tools", len(q.Tools))
	}
	if got := string(b.Job(b.id).Result); got != `{"text":"Hello.","model":"model-1"}` {
		t.Errorf("result %s", got)
	}
}

// Tools that act for a person are not shown to a job that names none (core §5.4).
func TestJobWithoutASubject(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.answered(jobtest.Call(jobtest.Wish{Tool: "whoami", Args: `{}`}), jobtest.Say("x"))
	if slices.Contains(b.offered()[0], "whoami") {
		t.Errorf("offered %v", b.offered()[0])
	}
	contains(t, "the result", b.toolResults()[0], "names none")
	if len(b.Business.Sent()) != 0 {
		t.Error("the call was sent")
	}
}

func TestJobsThatCannotStart(t *testing.T) {
	t.Parallel()
	config := func(text string) func(*registry.Route) {
		return func(r *registry.Route) { r.TargetConfig = json.RawMessage(text) }
	}
	for rule, tc := range map[string]struct {
		change  func(*registry.Route)
		prepare func(*bench)
	}{
		"no such credential":   {config(`{"credential":"absent"}`), nil},
		"no credential at all": {config(`{}`), nil},
		"a disabled credential": {nil, func(b *bench) {
			b.SaveCredential(registry.Credential{Name: "main", BaseURL: "https://x", DefaultModel: "m"}, "k")
		}},
		"nobody names a model": {nil, func(b *bench) {
			b.SaveCredential(registry.Credential{Name: "main", BaseURL: "https://x", Enabled: true}, "k")
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b := open(t, tc.change)
			if tc.prepare != nil {
				tc.prepare(b)
			}
			j := b.run()
			if j.Status != job.Failed || j.Error == "" || len(b.Model.Requests()) != 0 {
				t.Errorf("%s, error %q, %d requests", j.Status, j.Error, len(b.Model.Requests()))
			}
			if strings.Contains(j.Error, "absent") || strings.Contains(j.Error, jobtest.Credential) {
				t.Errorf("the owner reads the route's configuration (D5): %s", j.Error)
			}
		})
	}
}

func TestMissingToolsAreRecorded(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	p := jobtest.ShopProvider()
	p.Enabled = false
	b.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
	b.answered(jobtest.Say("x"))
	if e := b.Events(b.id, "tools_unavailable"); len(e) != 1 {
		t.Errorf("events %+v", e)
	}
}

func TestMessageWithoutWork(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.answered(jobtest.Say("x"))
	b.Run(t.Context(), b.id)                                   // a second message for a finished job
	b.Run(t.Context(), "11111111-2222-4333-8444-555555555555") // for a job that does not exist
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests to the model", n)
	}
}

func TestPausedHubRunsNothing(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Pause(true)
	if j := b.run(jobtest.Say("x")); j.Status != job.Queued || j.Claim != 0 || len(b.Model.Requests()) != 0 {
		t.Errorf("%s, claim %d", j.Status, j.Claim)
	}
	b.Clock.Advance(job.ResendAfter)
	b.Sweep()
	b.Pause(false)
	b.Sweep()
	b.Deliver()
	if j := b.Job(b.id); j.Status != job.Done {
		t.Errorf("after the pause: %s", j.Status)
	}
}

// A pause bites between two steps; the saved rounds are kept.
func TestPauseDuringAJob(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	pausing := func(q model.Request) (model.Response, error) {
		b.Pause(true)
		return jobtest.Call(order("1"))(q)
	}
	j := b.run(pausing, jobtest.Say("x"))
	if j.Status != job.Queued || j.Attempts != 0 || len(b.Business.Sent()) != 0 || len(b.rounds()) != 1 {
		t.Fatalf("%s after %d tries, %d sent, %d rounds", j.Status, j.Attempts, len(b.Business.Sent()), len(b.rounds()))
	}
	b.Pause(false)
	b.Clock.Advance(job.ResendAfter)
	b.Sweep()
	if r := b.answered(); r.Text != "x" || len(b.Model.Requests()) != 2 || len(b.Business.Sent()) != 1 {
		t.Errorf("%+v after %d requests", r, len(b.Model.Requests()))
	}
}

type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

// An invocation that is too short for any step counts as a lost worker, or the job would be passed on for ever (I5).
func TestTooLittleTimeForARound(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Queue.Take()
	// The model's 120 s and 15 s to save the round.
	b.Run(deadline{t.Context(), b.Clock.Now().Add(135*time.Second - time.Millisecond)}, b.id)
	if j := b.Job(b.id); j.Status != job.Queued || j.Attempts != 0 || j.Recoveries != 1 || len(b.Model.Requests()) != 0 {
		t.Fatalf("%s after %d tries and %d recoveries: %s", j.Status, j.Attempts, j.Recoveries, b.Logs)
	}
	if m := b.Queue.Take(); len(m) != 1 || m[0].Delay != 0 {
		t.Errorf("messages %v", m)
	}
	b.Model.Then(jobtest.Say("x"))
	b.Run(deadline{t.Context(), b.Clock.Now().Add(135 * time.Second)}, b.id)
	if j := b.Job(b.id); j.Status != job.Done {
		t.Errorf("with just enough: %s", j.Status)
	}
}

// A job that runs short of time goes on where it stopped.
func TestTooLittleTimeForACall(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Queue.Take()
	at := b.Clock.Now().Add(200 * time.Second)
	slow := func(q model.Request) (model.Response, error) {
		b.Clock.Advance(190 * time.Second)
		return jobtest.Call(order("1"))(q)
	}
	b.Model.Then(slow, jobtest.Say("x"))
	b.Run(deadline{t.Context(), at}, b.id)
	if j := b.Job(b.id); j.Status != job.Queued || j.Recoveries != 0 || len(b.Business.Sent()) != 0 || len(b.rounds()) != 1 {
		t.Fatalf("%s after %d recoveries, %d sent, %d rounds", j.Status, j.Recoveries, len(b.Business.Sent()), len(b.rounds()))
	}
	if r := b.answered(); r.Text != "x" || r.ToolCalls != 1 || len(b.Model.Requests()) != 2 {
		t.Errorf("%+v after %d requests", r, len(b.Model.Requests()))
	}
}
