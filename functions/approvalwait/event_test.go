package approvalwait_test

import (
	"os"
	"path/filepath"
	"testing"

	"bailing/functions/approvalwait"
	"bailing/shared/job/jobtest"
)

// The sample events of events/approvalwait-*.json, in the order in which the machine sends them, through the wired function. Their
// ticket does not exist: nothing is tried again, and the machine comes to its end. Their deadline has passed: the wait is the shortest.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	h, err := approvalwait.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ action, want string }{{"notify", `{}`}, {"remaining", `{"timeout_s":1}`}, {"hold", `{}`}, {"expire", `{}`}} {
		payload, err := os.ReadFile(filepath.Join("..", "..", "events", "approvalwait-"+tc.action+".json"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Invoke(t.Context(), payload)
		if err != nil || string(out) != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.action, out, err, tc.want)
		}
	}
}
