package toolcall_test

import (
	"context"
	"testing"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/toolcall"
)

// surprising is a store in which something else happened before the first RESERVE.
type surprising struct {
	toolcall.Store
	meanwhile func()
}

func (s *surprising) Reserve(ctx context.Context, f job.Fence, e toolcall.Entry, use *approval.Use, ev job.Event) error {
	if s.meanwhile != nil {
		s.meanwhile()
		s.meanwhile = nil
		return toolcall.ErrReserved
	}
	return s.Store.Reserve(ctx, f, e, use, ev)
}

// A call that is decided anew is what its tool is by then: one that became idempotent meanwhile has no journal entry to complete.
func TestAToolThatBecomesIdempotentDuringACall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.saveRound()
	op := jobtest.Op{Name: "note", Method: "POST", Path: "/notes", Scope: "notes.write", Body: `{"type":"object"}`}
	c.offer(op)
	c.Tools.Store = &surprising{c.Tools.Store, func() {
		op.Capability = `"execution":{"idempotent":true}`
		c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ShopTools(), op)...))
	}}
	if o := c.invoke("note", `{}`); !o.OK || len(c.Business.Sent()) != 1 {
		t.Errorf("%+v, %d calls", o, len(c.Business.Sent()))
	}
	if sent := c.Business.Sent(); sent[0].Header.Get("X-Bailing-Idempotency-Key") != "" || c.entry("note", `{}`) != nil {
		t.Error("the call has the key of a side effect")
	}
}
