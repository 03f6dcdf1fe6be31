package admin

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/approval"
)

// What a ticket froze loses first the texts that repeat it, then the metadata, and is never cut.
func TestATicketFitsIntoItsRoom(t *testing.T) {
	t.Parallel()
	const args, metadata = `{"a":1}`, `{"m":"0123456789012345678901234567890123456789"}`
	a := &approval.Ticket{Intent: []byte(`{"args":` + args + `,"metadata":` + metadata + `}`)}
	whole, err := showing{exact: true}.freeze(approvalView{}, a, 1<<20)
	if err != nil || whole.ArgsJSON != args || whole.IntentJSON != string(a.Intent) || string(whole.Intent) != string(a.Intent) || whole.Redacted {
		t.Fatalf("%v: %+v", err, whole)
	}
	size := func(v frozenView) int {
		n, err := bytesOf(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	once := frozenView{Intent: a.Intent}
	short := frozenView{Intent: json.RawMessage(`{"args":{"a":1},"metadata":{"omitted_bytes":48}}`)}
	for room, want := range map[int]frozenView{
		size(whole.frozenView): whole.frozenView, size(whole.frozenView) - 1: once, size(once): once, size(once) - 1: short, size(short): short,
		size(short) - 1: {ArgsOmitted: omittedSize}, 0: {ArgsOmitted: omittedSize}, -1: {ArgsOmitted: omittedSize},
	} {
		got, err := showing{exact: true}.freeze(approvalView{}, a, room)
		g, _ := json.Marshal(got.frozenView)
		w, _ := json.Marshal(want)
		if err != nil || string(g) != string(w) {
			t.Errorf("room %d: %v, %s, want %s", room, err, g, w)
		}
	}
	for _, exact := range []bool{true, false} {
		sealed, err := showing{exact: exact}.freeze(approvalView{}, &approval.Ticket{Sealed: "s"}, 1<<20)
		if err != nil || sealed.ArgsOmitted != omittedSensitive || sealed.Intent != nil {
			t.Errorf("%v: %+v", err, sealed)
		}
	}
	reader, err := showing{}.freeze(approvalView{}, a, len(a.Intent)-1)
	if err != nil || reader.ArgsOmitted != omittedSize || reader.Intent != nil {
		t.Errorf("%v: %+v", err, reader)
	}
}

// The largest arguments with the largest metadata of the default cap are shown whole to who decides.
func TestTheLargestIntentIsWhole(t *testing.T) {
	t.Parallel()
	big := `{"x":"` + strings.Repeat("x", 1<<20-8) + `"}`
	a := &approval.Ticket{Intent: []byte(`{"args":` + big + `,"metadata":` + big + `}`)}
	v, err := showing{exact: true}.freeze(approvalView{}, a, ticketAnswerMax)
	if err != nil || string(v.Intent) != string(a.Intent) {
		t.Errorf("%v: %d of %d bytes", err, len(v.Intent), len(a.Intent))
	}
}
