package jobrun_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// catalogue opens a job whose route has n tools.
func catalogue(t *testing.T, n, maxCalls int) *bench {
	w := jobtest.New(t)
	w.SaveProvider(registry.Provider{Name: "many", BaseURL: "https://many.example", TimeoutMS: 1000, Enabled: true}, jobtest.Spec(jobtest.ManyTools(n)...))
	return openIn(w, t, func(r *registry.Route) {
		r.Tools.MaxCalls = maxCalls
		r.Tools.Sources = []registry.ToolSource{{Provider: "many", Allow: []string{"*"}}}
	})
}

func find(names ...string) jobtest.Wish {
	b, err := json.Marshal(map[string]any{"names": names})
	if err != nil {
		panic(err)
	}
	return jobtest.Wish{Tool: "find_tools", Args: string(b)}
}

func TestTwelveToolsAreInline(t *testing.T) {
	t.Parallel()
	b := catalogue(t, 12, 5)
	b.answered(jobtest.Say("x"))
	if got := b.offered()[0]; len(got) != 12 || slices.Contains(got, "find_tools") {
		t.Errorf("offered %v", got)
	}
	if s := b.Model.Requests()[0].Messages[0].Content; strings.Contains(s, "tool_01") {
		t.Errorf("the prompt lists tools that are offered in full: %s", s)
	}
}

func TestThirteenToolsAreACatalogue(t *testing.T) {
	t.Parallel()
	b := catalogue(t, 13, 1)
	r := b.answered(
		jobtest.Call(find("tool_07", "tool_13", "nothing")),
		jobtest.Call(jobtest.Wish{Tool: "tool_13", Args: `{}`}), jobtest.Say("x"),
	)
	offered := b.offered()
	if !slices.Equal(offered[0], []string{"find_tools"}) || !slices.Equal(offered[1], []string{"find_tools", "tool_07", "tool_13"}) {
		t.Errorf("offered %v", offered)
	}
	prompt := b.Model.Requests()[0].Messages[0].Content
	for i := range 13 {
		contains(t, "the catalogue", prompt, fmt.Sprintf("tool_%02d", i+1))
	}
	var found struct {
		Tools   []struct{ Name string }
		Unknown []string
	}
	if err := json.Unmarshal([]byte(b.toolResults()[0]), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Tools) != 2 || found.Tools[0].Name != "tool_07" || !slices.Equal(found.Unknown, []string{"nothing"}) {
		t.Errorf("found %+v", found)
	}
	// The lookup is not counted (core §9).
	if want := `{"used":1,"limit":1,"remaining":0,"exhausted":true}`; string(r.ToolBudget) != want || r.ToolCalls != 1 || len(b.Business.Sent()) != 1 {
		t.Errorf("budget %s, %d calls, %d sent", r.ToolBudget, r.ToolCalls, len(b.Business.Sent()))
	}
	if n := len(b.Events(b.id, "tool_lookup")); n != 1 {
		t.Errorf("%d records of the lookup", n)
	}
}

func TestLookupTakesTwentyNames(t *testing.T) {
	t.Parallel()
	names := make([]string, 21)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%02d", i+1)
	}
	b := catalogue(t, 30, 5)
	b.answered(jobtest.Call(find(names[:20]...)), jobtest.Say("x"))
	if got := b.offered()[1]; len(got) != 21 {
		t.Errorf("%d tools after a lookup of 20", len(got)-1)
	}
	for _, wish := range []jobtest.Wish{find(names...), find(), {Tool: "find_tools", Args: `{"names":"tool_01"}`}, {Tool: "find_tools", Args: `nonsense`}} {
		b := catalogue(t, 30, 5)
		b.answered(jobtest.Call(wish), jobtest.Say("x"))
		if got := b.offered()[1]; !slices.Equal(got, []string{"find_tools"}) {
			t.Errorf("%s: offered %v", wish.Args, got)
		}
		contains(t, "the result", b.toolResults()[0], "1 to 20 names")
	}
}

// One round more than without a catalogue (core §11.2).
func TestRoundLimitWithACatalogue(t *testing.T) {
	t.Parallel()
	b := catalogue(t, 13, 1)
	var replies []jobtest.Reply
	for range 8 {
		replies = append(replies, jobtest.Call(find("tool_01")))
	}
	if j := b.run(replies...); j.Status != job.Failed || len(b.Model.Requests()) != 4 {
		t.Errorf("%s after %d rounds, want 4", j.Status, len(b.Model.Requests()))
	}
}

func TestLookupWithoutACatalogue(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	r := b.answered(jobtest.Call(find("order_get")), jobtest.Say("x"))
	contains(t, "the result", b.toolResults()[0], "refused")
	if r.ToolCalls != 0 {
		t.Errorf("%d calls counted", r.ToolCalls)
	}
}

// A model that asks for more than anybody looks at gets an answer to each wish, and the job ends.
func TestVeryManyWishes(t *testing.T) {
	t.Parallel()
	b := catalogue(t, 13, 1)
	wishes := slices.Repeat([]jobtest.Wish{find("tool_01")}, 200)
	b.answered(jobtest.Call(wishes...), jobtest.Say("x"))
	if n := len(b.toolResults()); n != 200 {
		t.Errorf("%d results", n)
	}
	if n := len(b.rounds()[0].Calls); n != 64 {
		t.Errorf("%d outcomes stored", n)
	}
}
