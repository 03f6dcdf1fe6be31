package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

var runs = []promise{
	{"a job without rounds has none", noRounds},
	{"rounds and their calls come back in order", roundsInOrder},
	{"a step saved again replaces itself", stepAgain},
	{"rounds survive the worker that saved them", roundsSurvive},
	{"audit records come back by time, then id", auditInOrder},
	{"an audit record stored again replaces itself", auditAgain},
	{"a job without audit records has none", noAudit},
}

func noRounds(t *testing.T, b *bundle) {
	for _, id := range []string{b.launch(t, "").ID, uuid.NewString()} {
		rounds, err := b.Store.LoadRounds(t.Context(), id)
		must(t, err)
		wantEqual(t, "rounds", len(rounds), 0)
	}
}

// A page of a query holds a megabyte; the rounds here are more than one, in items below the inline limit and above it.
func roundsInOrder(t *testing.T, b *bundle) {
	j, f := b.running(t)
	const rounds, calls = 12, 5 // more than nine: the order is that of numbers, not of their first digits
	var want []jobrun.Round
	for n := 1; n <= rounds; n++ {
		r := jobrun.Round{
			Number: n, Model: "demo", TookMS: int64(n), Usage: model.Usage{TotalTokens: n}, Calls: map[int]toolcall.Record{},
			Message: model.Message{Role: model.RoleAssistant, Content: strings.Repeat("r", 30_000+1_000*(n%4)), ReasoningContent: "because <b>"},
		}
		for i := range calls {
			r.Message.ToolCalls = append(r.Message.ToolCalls, model.ToolCall{ID: fmt.Sprint(n, "/", i), Name: "t", Arguments: `{"a":1.0}`})
		}
		must(t, b.Store.SaveRound(t.Context(), f, r, b.event(fmt.Sprint("round-", n))))
		for k := range calls {
			rec := toolcall.Record{
				Round: n, Index: (k + 2) % calls, CallID: fmt.Sprint(n, "/", k), Tool: "t",
				Outcome: toolcall.Outcome{State: toolcall.Executed, OK: true, Status: 200, TookMS: 7, Text: strings.Repeat("答", 9_000+1_000*(k%3))},
			}
			must(t, b.Store.CompleteCall(t.Context(), f, rec, b.event(fmt.Sprint("call-", n, "-", k))))
			r.Calls[rec.Index] = rec
		}
		want = append(want, r)
	}
	got, err := b.Store.LoadRounds(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "rounds", got, want)
	wantEqual(t, "audit records", len(b.audit(t, j.ID)), 1+rounds*(1+calls))
}

func stepAgain(t *testing.T, b *bundle) {
	j, f := b.running(t)
	r := jobrun.Round{Number: 1, Message: model.Message{Content: "first"}}
	rec := toolcall.Record{Round: 1, Outcome: toolcall.Outcome{Text: "first"}}
	for _, text := range []string{"first", "second"} {
		r.Message.Content, rec.Outcome.Text = text, text
		must(t, b.Store.SaveRound(t.Context(), f, r, b.event("round-1")))
		must(t, b.Store.CompleteCall(t.Context(), f, rec, b.event("call-1")))
	}
	got, err := b.Store.LoadRounds(t.Context(), j.ID)
	must(t, err)
	r.Calls = map[int]toolcall.Record{0: rec}
	wantEqual(t, "rounds", got, []jobrun.Round{r})
	wantEqual(t, "audit", b.audit(t, j.ID), []string{"call-1", "received", "round-1"})
}

func roundsSurvive(t *testing.T, b *bundle) {
	j, f := b.running(t)
	first := jobrun.Round{Number: 1, Calls: map[int]toolcall.Record{}}
	must(t, b.Store.SaveRound(t.Context(), f, first, b.event("round-1")))
	must(t, b.Store.BeginCall(t.Context(), f, nil, b.event("tool_call")))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))

	next := b.claim(t, j.ID)
	second := jobrun.Round{Number: 2, Calls: map[int]toolcall.Record{}}
	must(t, b.Store.SaveRound(t.Context(), next, second, b.event("round-2")))
	got, err := b.Store.LoadRounds(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "rounds", got, []jobrun.Round{first, second})
}

func auditInOrder(t *testing.T, b *bundle) {
	id := uuid.NewString()
	for _, e := range []struct {
		id string
		at time.Duration
	}{{"late", 2 * time.Second}, {"b", time.Second}, {"first", 0}, {"a", time.Second}, {"after a decade", 10 * 365 * 24 * time.Hour}} {
		ev := b.event(e.id)
		ev.At = b.now.Add(e.at)
		must(t, b.Store.AddEvent(t.Context(), id, ev))
	}
	wantEqual(t, "audit", b.audit(t, id), []string{"first", "a", "b", "late", "after a decade"})
}

// The members of a record are wire data (core §11.7).
func auditAgain(t *testing.T, b *bundle) {
	id := uuid.NewString()
	ev := b.event("e")
	ev.At = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)
	for _, detail := range []map[string]any{nil, {"n": 1}} {
		ev.Detail = detail
		must(t, b.Store.AddEvent(t.Context(), id, ev))
	}
	docs, err := b.Store.JobAudit(t.Context(), id)
	must(t, err)
	wantEqual(t, "records", len(docs), 1)
	var got, want any
	must(t, json.Unmarshal(docs[0], &got))
	must(t, json.Unmarshal([]byte(`{"ts":"2026-11-30T15:52:48.906Z","job_id":"`+id+`","event":"event","stage":"execution",
		"severity":"info","title":"Title","summary":"summary","detail":{"n":1}}`), &want))
	wantEqual(t, "record", got, want)
}

func noAudit(t *testing.T, b *bundle) {
	docs, err := b.Store.JobAudit(t.Context(), uuid.NewString())
	must(t, err)
	wantEqual(t, "records", docs, nil)
}
