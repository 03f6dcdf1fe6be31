package approval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/textlimit"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func parse(t *testing.T, src string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(src), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func draft(t *testing.T, args string) approval.Draft {
	t.Helper()
	v := parse(t, args)
	return approval.Draft{
		Job: &job.Job{
			ID: "j", RequestID: "r", Owner: "shop", Source: "shop", Metadata: json.RawMessage(`{"user":"u"}`),
			Snapshot: job.Snapshot{RouteKey: "orders", RouteName: "Orders"},
		},
		Tool: &capability.Tool{
			Name: "refund", Method: "POST", Path: "/refunds", Scope: "refunds.write", Risk: capability.RiskHigh, ConfirmPrompt: "Refund {order}?",
		},
		Provider: "shop", Subject: "u", SubjectField: "user", Args: v, ArgsHash: v.Hash(),
		Why: capability.Approval{Policy: capability.PolicyRiskHigh, Reason: "risk=high"},
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	got, err := approval.New(draft(t, `{"order":"SO-1","amount":5}`), now, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != approval.Pending || got.JobID != "j" || got.Owner != "shop" || got.Tool != "refund" || got.ID != 0 {
		t.Errorf("%+v", got)
	}
	if got.CreatedAt != now || got.ExpiresAt != now.Add(time.Minute) {
		t.Errorf("from %v to %v", got.CreatedAt, got.ExpiresAt)
	}
	// The members of core §6.3, those that are empty left out.
	want := `{"kind":"tool_approval_intent","schema_version":"bailing.approval-intent.v1","job_id":"j","request_id":"r","route_key":"orders",` +
		`"route_name":"Orders","source":"shop","subject":"u","subject_field":"user","provider":"shop","tool":"refund","scope":"refunds.write",` +
		`"risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/refunds","args":{"order":"SO-1","amount":5},` +
		`"args_hash":"` + got.ArgsHash + `","summary":"Refund SO-1?","metadata":{"user":"u"}}`
	if string(got.Intent) != want {
		t.Errorf("intent %s\nwant   %s", got.Intent, want)
	}
}

// The frozen bytes are the whole arguments, and their hash is the ticket's (I3).
func TestArgumentsAreFrozenWhole(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{"b":1.0,"a":"<&>\u2028"}`, `{"n":12345678901234567890}`, `{"s":"\ud800"}`, `{"text":"` + strings.Repeat("x", 1<<20-len(`{"text":""}`)) + `"}`,
	} {
		d := draft(t, args)
		got, err := approval.New(d, now, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var intent approval.Intent
		if err := json.Unmarshal(got.Intent, &intent); err != nil {
			t.Fatal(err)
		}
		if frozen := string(intent.Args); frozen != string(d.Args.AppendCompact(nil)) || parse(t, frozen).Hash() != got.ArgsHash {
			t.Errorf("%.80s became %.80s", args, frozen)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ rule, prompt, args, want string }{
		{"no prompt", ``, `{"a":1}`, ``},
		{"values of every kind", `{a} {b} {c} {d}`, `{"a":"x","b":1.50,"c":true,"d":[1,"y"]}`, `x 1.5 true [1,"y"]`},
		{"a name without an argument", `{who} gets {a}`, `{"a":1}`, `{who} gets 1`},
		{"an argument that looks like a placeholder", `{a} {b}`, `{"a":"{b}","b":"secret"}`, `{b} secret`},
		{"braces that are none", `{ {a} } {`, `{"a":1}`, `{ 1 } {`},
		{"a long argument is cut", `{a}!`, `{"a":"` + strings.Repeat("x", 201) + `"}`, strings.Repeat("x", 200) + `!`},
	} {
		if got := approval.Summary(tc.prompt, parse(t, tc.args)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.rule, got, tc.want)
		}
	}
	if got := approval.Summary(strings.Repeat("{a}", 6), parse(t, `{"a":"`+strings.Repeat("x", 200)+`"}`)); textlimit.Len(got) != 1000 {
		t.Errorf("%d units", textlimit.Len(got))
	}
}

func TestTicketNumbersAreExactInJSON(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for range 1000 {
		id := approval.NewID()
		if id < 1 || id > approval.MaxID || int64(float64(id)) != id || seen[id] {
			t.Fatalf("number %d", id)
		}
		seen[id] = true
	}
}

func FuzzSummary(f *testing.F) {
	f.Add("Refund {order}?", "SO-1")
	f.Add("{{order}}", "{order}")
	f.Fuzz(func(t *testing.T, prompt, value string) {
		args, err := canonical.FromGo(map[string]any{"order": value})
		if err != nil {
			return
		}
		if got := approval.Summary(prompt, args); !textlimit.Fits(got, 1000) {
			t.Errorf("%d units", textlimit.Len(got))
		}
	})
}
