package jobrun_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/registry"
)

func retries(n int) func(*registry.Route) {
	return func(r *registry.Route) { r.Retry = &registry.Retry{Max: n, BackoffMS: 1000} }
}

func TestEmptyAnswerWithoutTools(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"", " \n\t"} {
		b := open(t, retries(1))
		j := b.run(jobtest.Say(blank))
		if j.Status != job.Queued || j.Attempts != 1 || j.RunAfter.IsZero() || len(b.rounds()) != 0 {
			t.Fatalf("%s after %d tries, %d rounds saved: it is a transient error", j.Status, j.Attempts, len(b.rounds()))
		}
		b.Clock.Advance(job.ResendAfter + 2*time.Second)
		b.Sweep()
		if r := b.answered(jobtest.Say("x")); r.Text != "x" {
			t.Errorf("%+v", r)
		}
	}
}

func TestEmptyAnswerAfterTools(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	if r := b.answered(jobtest.Call(order("1")), jobtest.Say(""), jobtest.Say("Here it is.")); r.Text != "Here it is." {
		t.Errorf("%+v", r)
	}
	if m := b.last(); m.Role != model.RoleUser || !strings.Contains(m.Content, "empty") {
		t.Errorf("the repair round is asked for with %+v", m)
	}

	b = open(t, nil)
	r := b.answered(jobtest.Call(order("1")), jobtest.Say(""), jobtest.Say(" "))
	if r.Text == "" || strings.TrimSpace(r.Text) == "" {
		t.Error("the second empty answer is shown")
	}
	if n := len(b.Model.Requests()); n != 3 {
		t.Errorf("%d rounds: one repair is allowed", n)
	}
}

func TestMarkUpIsWithheld(t *testing.T) {
	t.Parallel()
	const leak = `<tool_call>{"name":"refund"}</tool_call>`
	b := open(t, nil)
	r := b.answered(jobtest.Say("ok "+leak), jobtest.Say("Done."))
	if r.Text != "Done." || !r.Repaired {
		t.Errorf("%+v", r)
	}
	// What was withheld is not shown to the model as its own words either.
	for _, m := range b.Model.Requests()[1].Messages {
		if strings.Contains(m.Content, "refund") {
			t.Errorf("the repair round repeats it: %s", m.Content)
		}
	}

	b = open(t, retries(3))
	j := b.run(jobtest.Say(leak), jobtest.Say(leak))
	if j.Status != job.Failed || j.Attempts != 0 || strings.Contains(j.Error, "refund") || strings.Contains(string(j.Result), "refund") {
		t.Errorf("%s, error %q, result %s: a second violation is a permanent error", j.Status, j.Error, j.Result)
	}
}

func TestCleanAnswerIsNotMarkedRepaired(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.answered(jobtest.Say("Done."))
	if got := string(b.Job(b.id).Result); strings.Contains(got, "repaired") || strings.Contains(got, "tool_budget") || strings.Contains(got, "tool_calls") {
		t.Errorf("result %s has members that do not apply", got)
	}
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	busy := &model.Error{Transient: true, Status: 503, Public: "LLM 503: busy", Cause: errors.New("private")}
	wrong := &model.Error{Status: 400, Public: "LLM 400: bad request"}
	for rule, tc := range map[string]struct {
		retries  int
		replies  []jobtest.Reply
		status   job.Status
		error    string
		attempts int
	}{
		"a transient error is retried":          {1, []jobtest.Reply{jobtest.Fail(busy), jobtest.Say("x")}, job.Done, "", 1},
		"until the tries are used up":           {1, []jobtest.Reply{jobtest.Fail(busy), jobtest.Fail(busy)}, job.Failed, "LLM 503: busy", 1},
		"a route without retry fails at once":   {0, []jobtest.Reply{jobtest.Fail(busy)}, job.Failed, "LLM 503: busy", 0},
		"a permanent error is not retried":      {5, []jobtest.Reply{jobtest.Fail(wrong), jobtest.Say("x")}, job.Failed, "LLM 400: bad request", 0},
		"saved rounds survive a retry":          {1, []jobtest.Reply{jobtest.Call(order("1")), jobtest.Fail(busy), jobtest.Say("x")}, job.Done, "", 1},
		"an error text is bounded":              {0, []jobtest.Reply{jobtest.Fail(&model.Error{Public: strings.Repeat("e", 5000)})}, job.Failed, strings.Repeat("e", 2000), 0},
		"an answer too large to be read is one": {5, []jobtest.Reply{jobtest.Say(strings.Repeat("a", 3<<20+1))}, job.Failed, "the model's answer is larger than 3145728 bytes", 0},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b := open(t, retries(tc.retries))
			j := b.run(tc.replies...)
			for j.Status == job.Queued {
				b.Clock.Advance(job.ResendAfter + 2*time.Second)
				b.Sweep()
				j = b.run()
			}
			if j.Status != tc.status || j.Error != tc.error || j.Attempts != tc.attempts {
				t.Errorf("%s after %d tries, error %.100q", j.Status, j.Attempts, j.Error)
			}
			if n := len(b.Business.Sent()); n > 1 {
				t.Errorf("a saved call was repeated: %d sent", n)
			}
		})
	}
}

func TestLargeAnswerIsKeptWhole(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	text := strings.Repeat("界", 1<<20) // 3 MiB
	if r := b.answered(jobtest.Say(text)); r.Text != text {
		t.Errorf("%d bytes of %d", len(r.Text), len(text))
	}
}

// A failed job shows what it used until then.
func TestUsageOfAFailedJob(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	j := b.run(jobtest.Call(order("1")), jobtest.Fail(&model.Error{Public: "LLM 400"}))
	if want := `{"duration_ms":0,"num_turns":1,"tokens":10}`; j.Status != job.Failed || string(j.Usage) != want || string(j.Result) != `{}` {
		t.Errorf("%s, usage %s, result %s", j.Status, j.Usage, j.Result)
	}
}

// One byte more could not be read through the gateway: the job says so instead of hiding its answer behind a 500.
func TestAnswerThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	j := b.run(jobtest.Say(strings.Repeat("界", 1<<20) + "x"))
	if j.Status != job.Failed || !strings.Contains(j.Error, "larger than") || string(j.Result) != `{}` {
		t.Errorf("%s: %s, result of %d bytes", j.Status, j.Error, len(j.Result))
	}
}

// What counts is the size of the answer as it is shown, with its escapes.
func TestAnswerIsMeasuredAsItIsShown(t *testing.T) {
	t.Parallel()
	for text, done := range map[string]bool{
		strings.Repeat("<", 3<<20):               true, // no escapes for HTML
		strings.Repeat("\x01", (3<<20)/6):        true, // six characters each
		strings.Repeat("\x01", (3<<20)/6) + "x":  false,
		strings.Repeat(`"`, (3<<20)/2):           true,
		strings.Repeat(`"`, (3<<20)/2) + "again": false,
	} {
		b := open(t, nil)
		if j := b.run(jobtest.Say(text)); (j.Status == job.Done) != done {
			t.Errorf("%d of %.1q: %s, %s", len(text), text, j.Status, j.Error)
		}
	}
	b := open(t, nil, `"metadata":{"a":[1e20`+strings.Repeat(",1e20", 150_000)+`]}`)
	room := job.ResultRoom(b.Job(b.id))
	if j := b.run(jobtest.Say(strings.Repeat("a", room+1))); j.Status != job.Failed || room > 2<<20 {
		t.Errorf("beside metadata that leaves %d bytes: %s", room, j.Status)
	}
}

// What a model is sent is bounded: a conversation that has grown past it ends the job instead of the worker.
func TestConversationIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	j := b.run(jobtest.Call(jobtest.Wish{Tool: "order_get", Args: `{"id":"` + strings.Repeat("x", 16<<20) + `"}`}))
	if j.Status != job.Failed || !strings.Contains(j.Error, "conversation has grown") {
		t.Errorf("%s: %s", j.Status, j.Error)
	}
	if n := len(b.Model.Requests()); n != 1 {
		t.Errorf("%d requests, want none after the limit", n)
	}
}
