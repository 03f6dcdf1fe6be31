package approval_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

const argsHash = "d78b5ffaaffb767837892624b038bcf384f43f24f36f5e17fda400200da8fd3f"

func asked() *approval.Ticket {
	return &approval.Ticket{ID: 9, JobID: "e2e0d879-36a1-4308-8629-a135af4a1431", RequestID: "req-1", ArgsHash: argsHash}
}

// long is the contract's long form with members replaced; a member that is "" is left out.
func long(t *testing.T, changes ...string) string {
	t.Helper()
	order := []string{"kind", "schema_version", "approval_id", "job_id", "request_id", "args_hash", "decision_id", "decision", "approver"}
	members := map[string]string{
		"kind": `"tool_approval_decision"`, "schema_version": `"bailing.approval-decision.v1"`, "approval_id": `9`,
		"job_id": `"e2e0d879-36a1-4308-8629-a135af4a1431"`, "request_id": `"req-1"`, "args_hash": `"` + argsHash + `"`,
		"decision_id": `"dec-1"`, "decision": `"approved"`, "approver": `"zhang"`,
	}
	for i := 0; i < len(changes); i += 2 {
		if _, ok := members[changes[i]]; !ok {
			order = append(order, changes[i])
		}
		members[changes[i]] = changes[i+1]
	}
	var parts []string
	for _, name := range order {
		if members[name] != "" {
			parts = append(parts, `"`+name+`":`+members[name])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// short is the form without kind and schema_version.
func short(t *testing.T, changes ...string) string {
	t.Helper()
	return long(t, append([]string{"kind", "", "schema_version", ""}, changes...)...)
}

// The vectors name what is changed; these are the envelopes.
func TestDecisionVectors(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spec", "vectors", "core.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the folder shared is not beside the repository: no vectors")
	}
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			ID, Approver, Decision string
			OK                     bool
			CommentLen             int `json:"comment_len"`
		} `json:"approval_decision_parse"`
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"ok": long(t), "string_id": long(t, "approval_id", `"9"`), "wrong_id": long(t, "approval_id", `10`), "upper": long(t, "decision", `"APPROVED"`),
		"approve": long(t, "decision", `"approve"`), "prefixed_hash": long(t, "args_hash", `"sha256:`+argsHash+`"`), "no_kind": long(t, "kind", ""),
		"no_version": long(t, "schema_version", ""), "bad_decision_id": long(t, "decision_id", `"a b"`), "no_approver": long(t, "approver", ""),
		"operator_alias":  long(t, "approver", "", "operator", `"li"`),
		"object_approver": long(t, "approver", `{"id":"u_manager","name":"Manager"}`),
		"long_approver":   long(t, "approver", `"`+strings.Repeat("z", 100)+`"`),
		"comment":         long(t, "comment", `"`+strings.Repeat("c", 1500)+`"`),
		"wrong_job":       long(t, "job_id", `"11111111-1111-4111-8111-111111111111"`), "wrong_request": long(t, "request_id", `"other"`),
	}
	for _, c := range vectors.Cases {
		if bodies[c.ID] == "" {
			t.Errorf("%s: no envelope for it", c.ID)
			continue
		}
		if c.ID == "object_approver" {
			c.Approver = "u_manager" // D8: who decided, not the text that an object turns into
		}
		got, err := approval.ParseDecision(asked(), parse(t, bodies[c.ID]))
		if (err == nil) != c.OK {
			t.Errorf("%s: %v", c.ID, err)
		}
		if err == nil && (got.Approver != c.Approver || got.Approved != (c.Decision == "approved") || len(got.Comment) != c.CommentLen) {
			t.Errorf("%s: %+v", c.ID, got)
		}
	}
	if len(vectors.Cases) != len(bodies) {
		t.Errorf("%d vectors, %d envelopes", len(vectors.Cases), len(bodies))
	}
}

func TestParseDecision(t *testing.T) {
	t.Parallel()
	full := approval.Decision{Approved: true, DecisionID: "dec-1", Approver: "zhang"}
	with := func(change func(*approval.Decision)) approval.Decision {
		d := full
		change(&d)
		return d
	}
	for _, tc := range []struct {
		rule, body string
		want       approval.Decision
	}{
		{"the long form", long(t), full},
		{"the short form", short(t), full},
		{"a prefixed hash in the short form", short(t, "args_hash", `"sha256:`+argsHash+`"`), full},
		{"a bare hash in the short form", short(t, "args_hash", `"`+argsHash+`"`), full},
		{"an id as a text", short(t, "approval_id", `" 9 "`), full},
		{"an id as a fraction that is none", long(t, "approval_id", `9.0`), full},
		{"texts are trimmed", long(t, "kind", `" tool_approval_decision\u00a0"`, "decision", `"\tapproved\n"`, "decision_id", `" dec-1 "`, "approver", `"\ufeffzhang "`), full},
		{"case of the decision", long(t, "decision", `"DenIED"`), with(func(d *approval.Decision) { d.Approved = false })},
		{"an approver as an object", short(t, "approver", `{"id":" u1 ","name":"Ann"}`), with(func(d *approval.Decision) { d.Approver, d.Name = "u1", "Ann" })},
		{"an approver without an id", short(t, "approver", `{"name":"Ann"}`), with(func(d *approval.Decision) { d.Approver, d.Name = "Ann", "Ann" })},
		{"an approver as a number", short(t, "approver", `4711`), with(func(d *approval.Decision) { d.Approver = "4711" })},
		{"an empty approver beside an operator", long(t, "approver", `" "`, "operator", `"li"`), with(func(d *approval.Decision) { d.Approver = "li" })},
		{"an approver beside an operator", long(t, "operator", `"li"`), full},
		{"an operator as an object", long(t, "approver", `null`, "operator", `{"id":"li"}`), with(func(d *approval.Decision) { d.Approver = "li" })},
		{"null is left out", long(t, "comment", `null`, "decided_at", `null`), full},
		{"control characters", long(t, "comment", `"a\u0000b\u007f"`), with(func(d *approval.Decision) { d.Comment = "a b" })},
		{"half a character", long(t, "comment", `"a\ud800b"`), with(func(d *approval.Decision) { d.Comment = "a\uFFFDb" })},
		{"decided_at", long(t, "decided_at", `"2026-11-30T12:00:00Z"`), with(func(d *approval.Decision) { d.SaidAt = "2026-11-30T12:00:00Z" })},
		{"decided_at as a number", long(t, "decided_at", `1796053943393`), with(func(d *approval.Decision) { d.SaidAt = "1796053943393" })},
		{"the longest id", long(t, "decision_id", `"`+strings.Repeat("x", 128)+`"`), with(func(d *approval.Decision) { d.DecisionID = strings.Repeat("x", 128) })},
		{"every character of an id", long(t, "decision_id", `"aZ09_.:-"`), with(func(d *approval.Decision) { d.DecisionID = "aZ09_.:-" })},
		{"other members", long(t, "more", `{"a":[1]}`), full},
	} {
		if got, err := approval.ParseDecision(asked(), parse(t, tc.body)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", tc.rule, got, err)
		}
	}
}

// Bounds are in UTF-16 units: what fits is kept, what is one past it is cut between characters.
func TestBoundsOfADecision(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		member string
		max    int
		read   func(approval.Decision) string
	}{
		{"approver", 64, func(d approval.Decision) string { return d.Approver }},
		{"comment", 1000, func(d approval.Decision) string { return d.Comment }},
		{"decided_at", 64, func(d approval.Decision) string { return d.SaidAt }},
	} {
		for _, over := range []int{0, 1} {
			text := strings.Repeat("é", tc.max-2+over) + "😀" // two units at the end
			got, err := approval.ParseDecision(asked(), parse(t, long(t, tc.member, `"`+text+`"`)))
			want := textlimit.Cut(text, tc.max)
			if err != nil || tc.read(got) != want || (over == 0) != (want == text) {
				t.Errorf("%s of %d units: %d units, %v", tc.member, tc.max+over, textlimit.Len(tc.read(got)), err)
			}
		}
	}
}

// The first rule that is broken is the one that is named, in the order of core §6.5, and nothing of what was sent is repeated.
func TestOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	members := []string{"kind", "schema_version", "approval_id", "job_id", "request_id", "args_hash", "decision", "decision_id", "approver"}
	for i, first := range members {
		var changes []string
		for _, m := range members[i:] {
			changes = append(changes, m, `true`)
		}
		_, err := approval.ParseDecision(asked(), parse(t, long(t, changes...)))
		if apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(apierr.Of(err).Message, first+" ") {
			t.Errorf("%s: %v", first, err)
		}
	}
	for _, tc := range []struct{ body, member string }{
		{long(t, "kind", ""), "kind"}, {long(t, "kind", `null`), "kind"}, {long(t, "schema_version", ""), "schema_version"},
		{long(t, "kind", `"canary"`), "kind"}, {long(t, "schema_version", `"bailing.approval-decision.v2"`), "schema_version"},
		{long(t, "approval_id", ""), "approval_id"}, {long(t, "approval_id", `"09"`), "approval_id"}, {long(t, "approval_id", `9.5`), "approval_id"},
		{short(t, "approval_id", `"appr_9"`), "approval_id"},
		{short(t, "job_id", ""), "job_id"}, {short(t, "request_id", ""), "request_id"}, {short(t, "args_hash", ""), "args_hash"},
		{long(t, "args_hash", `"sha256:`+argsHash+`"`), "args_hash"}, {short(t, "args_hash", `"sha256:sha256:`+argsHash+`"`), "args_hash"},
		{long(t, "args_hash", `"`+strings.ToUpper(argsHash)+`"`), "args_hash"}, {long(t, "args_hash", `"`+argsHash[:63]+`"`), "args_hash"},
		{long(t, "decision", ""), "decision"}, {long(t, "decision", `"deny"`), "decision"}, {long(t, "decision", `"expired"`), "decision"},
		{long(t, "decision_id", ""), "decision_id"}, {long(t, "decision_id", `"`+strings.Repeat("x", 129)+`"`), "decision_id"},
		{long(t, "decision_id", `"ü"`), "decision_id"}, {long(t, "decision_id", `"a/b"`), "decision_id"},
		{long(t, "approver", `" "`), "approver"}, {long(t, "approver", `{}`), "approver"}, {long(t, "approver", `{"id":[]}`), "approver"},
		{long(t, "approver", `["canary"]`), "approver"}, {long(t, "approver", `"\u0001"`), "approver"},
		{long(t, "comment", `{"canary":1}`), "comment"}, {long(t, "decided_at", `[]`), "decided_at"},
		{`[]`, "the body"}, {`null`, "the body"}, {`"x"`, "the body"},
	} {
		_, err := approval.ParseDecision(asked(), parse(t, tc.body))
		if apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(apierr.Of(err).Message, tc.member+" ") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", tc.body, err)
		}
	}
}

func TestRulingOfADecision(t *testing.T) {
	t.Parallel()
	d := approval.Decision{Approved: true, DecisionID: "d", Approver: "a", Name: "n", Comment: "c", SaidAt: "s"}
	want := approval.Ruling{Approved: true, DecisionID: "d", By: "a", Name: "n", Comment: "c", SaidAt: "s", Auth: "client:shop"}
	if got := d.Ruling("client:shop"); got != want {
		t.Errorf("%+v", got)
	}
}

func FuzzParseDecision(f *testing.F) {
	f.Add(`{"approval_id":9,"job_id":"e2e0d879-36a1-4308-8629-a135af4a1431","request_id":"req-1","decision":"approved","decision_id":"d","approver":{"id":1}}`)
	f.Add(`{"kind":[],"approver":"\ud800"}`)
	f.Fuzz(func(t *testing.T, body string) {
		v, err := canonical.Parse([]byte(body), canonical.Limits{})
		if err != nil {
			return
		}
		d, err := approval.ParseDecision(asked(), v)
		if err != nil {
			if apierr.CodeOf(err) != apierr.Invalid {
				t.Fatal(err)
			}
			return
		}
		if d.DecisionID == "" || d.Approver == "" || !textlimit.Fits(d.Approver, 64) || !textlimit.Fits(d.Comment, 1000) || !textlimit.Fits(d.SaidAt, 64) {
			t.Errorf("%+v", d)
		}
	})
}
