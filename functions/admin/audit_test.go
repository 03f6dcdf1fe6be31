package admin

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAuditDetailsAreRedactedAndBounded(t *testing.T) {
	t.Parallel()
	record := func(detail string) json.RawMessage {
		return json.RawMessage(`{"event":"tool_call","detail":{"args":{"password":"hunter2","mail":"ada@example.com"},"pad":"` + detail + `"}}`)
	}
	first, second := record(strings.Repeat("a", 200)), record(strings.Repeat("b", 200))
	got, err := display([]json.RawMessage{first, second}, len(first)+150)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(got[0]); strings.Contains(s, "hunter2") || strings.Contains(s, "ada@") || !strings.Contains(s, "aaaa") {
		t.Errorf("the first record is shown redacted, with its detail: %s", s)
	}
	var last struct {
		Event  string         `json:"event"`
		Detail map[string]int `json:"detail"`
	}
	if err := json.Unmarshal(got[1], &last); err != nil || last.Event != "tool_call" || last.Detail["omitted_bytes"] == 0 {
		t.Errorf("past the bound a record keeps its place without detail: %s, %v", got[1], err)
	}
}

func TestAnUnknownJobHasNoRecords(t *testing.T) {
	t.Parallel()
	got, err := display(nil, auditMax)
	if b, _ := json.Marshal(got); err != nil || string(b) != "[]" {
		t.Errorf("got %s, %v", b, err)
	}
}
