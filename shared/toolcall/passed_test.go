package toolcall_test

import (
	"testing"

	"bailing/shared/toolcall"
)

// A long call may commit its answer once every gate has passed, and not for a call that is refused or waits for a person.
func TestPassedIsSaidRightBeforeTheDispatch(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for _, tc := range []struct {
		tool, args string
		want       int
	}{
		{"order_get", `{"id":"1"}`, 1},
		{"ticket_create", `{"text":"a"}`, 1},
		{"ticket_create", `{"text":"a"}`, 0}, // answered from the journal
		{"ticket_create", `{"text":1}`, 0},
		{"nothing", `{}`, 0},
		{"refund", `{"order":"1"}`, 0},
	} {
		passed, sent := 0, len(c.Business.Sent())
		call := c.call(tc.tool, tc.args)
		call.Passed = func() {
			passed++
			if len(c.Business.Sent()) != sent {
				t.Errorf("%s: said after the dispatch", tc.tool)
			}
		}
		out, err := c.Tools.Invoke(t.Context(), c.set, call)
		if err != nil || passed != tc.want {
			t.Errorf("%s %s: %v, passed %d times, want %d (%v)", tc.tool, tc.args, out.State, passed, tc.want, err)
		}
		if tc.want == 1 && out.State != toolcall.Executed {
			t.Errorf("%s: %+v", tc.tool, out)
		}
	}
}
