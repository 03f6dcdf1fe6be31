package admin

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/job"
)

// What does not fit into an answer is replaced by its size, the later members first.
func TestARunFitsIntoItsRoom(t *testing.T) {
	t.Parallel()
	j := &job.Job{Result: json.RawMessage(`"` + strings.Repeat("r", 48) + `"`), Input: strings.Repeat("i", 18), Metadata: json.RawMessage(`{"m":1}`)}
	for room, want := range map[int][3]string{
		77: {string(j.Result), `"` + j.Input + `"`, `{"m":1}`},
		76: {string(j.Result), `"` + j.Input + `"`, `{"omitted_bytes":7}`},
		70: {string(j.Result), `"` + j.Input + `"`, `{"omitted_bytes":7}`},
		69: {string(j.Result), `{"omitted_bytes":20}`, `{"m":1}`},
		50: {string(j.Result), `{"omitted_bytes":20}`, `{"omitted_bytes":7}`},
		49: {`{"omitted_bytes":50}`, `"` + j.Input + `"`, `{"m":1}`},
		0:  {`{"omitted_bytes":50}`, `{"omitted_bytes":20}`, `{"omitted_bytes":7}`},
	} {
		v, err := runViewOf(j, room)
		if got := [3]string{string(v.Result), string(v.Input), string(v.Metadata)}; err != nil || got != want {
			t.Errorf("room %d: %v, %v", room, got, err)
		}
	}
}

// A value that grows when it is redacted takes the room that it then needs.
func TestRedactedValuesAreMeasured(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]string{len(`"[REDACTED_EMAIL]"`): `"[REDACTED_EMAIL]"`, len(`"[REDACTED_EMAIL]"`) - 1: `{"omitted_bytes":9}`} {
		left := room
		got, err := shown(json.RawMessage(`"a@b.com"`), &left)
		if string(got) != want || err != nil {
			t.Errorf("room %d: %s, %v", room, got, err)
		}
	}
}

// The rest of an answer (texts of bounded length, records without details) has a megabyte at least.
func TestRoomsLeaveSpaceForTheRestOfAnAnswer(t *testing.T) {
	t.Parallel()
	const answer = 6_000_000
	if runMax > answer-1_000_000 || traceRunMax+traceMax > answer-1_000_000 {
		t.Error("an answer may not fit")
	}
}
