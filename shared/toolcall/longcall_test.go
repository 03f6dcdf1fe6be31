package toolcall_test

import (
	"errors"
	"testing"
	"time"

	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

// longest is the longest time limit of a tool (core §4.6).
const longest = 600 * time.Second

func slowTool(t *testing.T) *caller {
	t.Helper()
	c := open(t, `{}`)
	c.SaveProvider(jobtest.ShopProvider(), replaced(`"execution":{"timeout_ms":600000,"readonly":false}`, "POST"))
	return c
}

// A call is begun when its whole time limit and 10 s to save what came of it are left.
func TestACallOfTenMinutesNeedsItsTime(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		left  time.Duration
		begun bool
	}{
		"a worker's whole time":        {topology.WorkerTimeout, true},
		"exactly what the call needs":  {longest + 10*time.Second, true},
		"a millisecond less":           {longest + 10*time.Second - time.Millisecond, false},
		"the time limit and no margin": {longest, false},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := slowTool(t)
			o, err := c.try(ending(t, c.Clock.Now().Add(tc.left)), "order_get", `{"id":"1"}`)
			if !tc.begun {
				if !errors.Is(err, toolcall.ErrNoTime) || len(c.Business.Sent()) != 0 || c.entry("order_get", `{"id":"1"}`) != nil {
					t.Errorf("%+v, %v", o, err)
				}
				return
			}
			if err != nil || !o.OK || len(c.Business.Sent()) != 1 || c.Business.Sent()[0].Timeout != longest {
				t.Errorf("%+v, %v: sent %+v", o, err, c.Business.Sent())
			}
		})
	}
}

// What came of a call that took all its time is stored in the margin.
func TestTheOutcomeOfACallThatTookTenMinutesIsStored(t *testing.T) {
	t.Parallel()
	c := slowTool(t)
	deadline := c.Clock.Now().Add(longest + 10*time.Second)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		c.Clock.Advance(longest)
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	o, err := c.try(ending(t, deadline), "order_get", `{"id":"1"}`)
	if err != nil || !o.OK || o.TookMS != longest.Milliseconds() {
		t.Fatalf("%+v, %v", o, err)
	}
	if e := c.entry("order_get", `{"id":"1"}`); e == nil || e.State != toolcall.Completed {
		t.Errorf("entry %+v", e)
	}
}
