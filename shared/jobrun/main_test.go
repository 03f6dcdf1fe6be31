package jobrun_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

// bench is a world with one queued job.
type bench struct {
	*jobtest.World
	t     *testing.T
	token string
	id    string
}

// open is a world with a job of the seeded route, changed by change, which may be nil.
func open(t *testing.T, change func(*registry.Route), members ...string) *bench {
	t.Helper()
	return openIn(jobtest.New(t), t, change, members...)
}

func openIn(w *jobtest.World, t *testing.T, change func(*registry.Route), members ...string) *bench {
	t.Helper()
	b := &bench{World: w, t: t}
	b.token = b.Seed()
	r := jobtest.SupportRoute()
	if change != nil {
		change(&r)
	}
	b.SaveRoute(r)
	b.id = b.MustLaunch(b.token, jobtest.Submission("r", members...)).JobID
	return b
}

// run delivers messages until none is left and returns the job.
func (b *bench) run(replies ...jobtest.Reply) *job.Job {
	b.t.Helper()
	b.Model.Then(replies...)
	b.Deliver()
	return b.Job(b.id)
}

// answered runs the job, which must be done, and returns its result.
func (b *bench) answered(replies ...jobtest.Reply) result {
	b.t.Helper()
	j := b.run(replies...)
	if j.Status != job.Done || j.Error != "" {
		b.t.Fatalf("job is %s: %s", j.Status, j.Error)
	}
	var r result
	if err := json.Unmarshal(j.Result, &r); err != nil {
		b.t.Fatalf("result %s: %v", j.Result, err)
	}
	return r
}

type result struct {
	Text       string          `json:"text"`
	Model      string          `json:"model"`
	ToolCalls  int             `json:"tool_calls"`
	ToolBudget json.RawMessage `json:"tool_budget"`
	Repaired   bool            `json:"output_protocol_repaired"`
}

func (b *bench) rounds() []jobrun.Round {
	b.t.Helper()
	rounds, err := b.Store.LoadRounds(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return rounds
}

// offered are the names of the tools of each request to the model.
func (b *bench) offered() (all [][]string) {
	for _, r := range b.Model.Requests() {
		names := []string{}
		for _, d := range r.Tools {
			names = append(names, d.Name)
		}
		all = append(all, names)
	}
	return all
}

// last is the last message of the last request.
func (b *bench) last() model.Message {
	r := b.Model.Requests()
	m := r[len(r)-1].Messages
	return m[len(m)-1]
}

// toolResults are the texts of the tool messages of the last request.
func (b *bench) toolResults() (texts []string) {
	r := b.Model.Requests()
	for _, m := range r[len(r)-1].Messages {
		if m.Role == model.RoleTool {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

func order(id string) jobtest.Wish {
	return jobtest.Wish{Tool: "order_get", Args: fmt.Sprintf(`{"id":%q}`, id)}
}

func maxCalls(n int) func(*registry.Route) {
	return func(r *registry.Route) { r.Tools.MaxCalls = n }
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s has no %q: %s", what, p, text)
		}
	}
}

// answerByPath fails for the order called bad.
func answerByPath(r outbound.Request) (*outbound.Response, error) {
	if strings.HasSuffix(r.URL, "/bad") {
		return jobtest.Response(500, `{"error":"down"}`), nil
	}
	return jobtest.Response(200, `{"ok":true}`), nil
}
