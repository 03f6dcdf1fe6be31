package toolcall_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/signature"
	"bailing/shared/toolcall"
)

// caller is a claimed job that may call tools.
type caller struct {
	*jobtest.World
	t   *testing.T
	job *job.Job
	set *toolcall.Toolset
	n   int // calls so far
}

// open is a world with a claimed job of the seeded client; metadata is the job's.
func open(t *testing.T, metadata string, options ...jobtest.Option) *caller {
	t.Helper()
	c := &caller{World: jobtest.New(t, options...), t: t}
	c.start(c.Seed(), metadata)
	return c
}

// start launches and claims another job, and assembles its toolset.
func (c *caller) start(token, metadata string) {
	c.t.Helper()
	c.n++
	id := c.MustLaunch(token, jobtest.Submission(fmt.Sprint("r", c.n), `"metadata":`+metadata)).JobID
	var err error
	if c.job, err = c.Lifecycle.Claim(c.t.Context(), id, "worker"); err != nil {
		c.t.Fatal(err)
	}
	c.assemble()
}

func (c *caller) assemble() {
	c.t.Helper()
	config, err := c.Store.ReadRun(c.t.Context(), jobtest.Route, jobtest.Credential)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.set, err = c.Tools.Assemble(c.t.Context(), config.Route, config.Providers); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) fence() job.Fence { return job.Fence{JobID: c.job.ID, Claim: c.job.Claim} }

// call is the next call of the job.
func (c *caller) call(tool, args string) toolcall.Call {
	c.n++
	return toolcall.Call{Fence: c.fence(), Job: c.job, Round: 1, Index: c.n, CallID: fmt.Sprint("call_", c.n), Tool: tool, Args: args}
}

// invoke makes a call that must come to an outcome.
func (c *caller) invoke(tool, args string) toolcall.Outcome {
	c.t.Helper()
	o, err := c.Tools.Invoke(c.t.Context(), c.set, c.call(tool, args))
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	return o
}

// try makes a call that may fail.
func (c *caller) try(ctx context.Context, tool, args string) (toolcall.Outcome, error) {
	return c.Tools.Invoke(ctx, c.set, c.call(tool, args))
}

// stored is the outcome of the last call as the store has it; ok is false when there is none.
func (c *caller) stored() (rec toolcall.Record, ok bool) {
	c.t.Helper()
	rounds, err := c.Store.LoadRounds(c.t.Context(), c.job.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(rounds) == 0 {
		return rec, false
	}
	rec, ok = rounds[0].Calls[c.n]
	return rec, ok
}

// keyed is what the store holds about a call with these arguments.
func (c *caller) keyed(tool, args string) toolcall.View {
	c.t.Helper()
	v, err := canonical.Parse([]byte(args), canonical.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	view, err := c.Store.ReadCall(c.t.Context(), toolcall.Keys{
		Owner: jobtest.Client, Route: jobtest.Route, Provider: jobtest.Provider, Tool: tool, JobID: c.job.ID, ArgsHash: v.Hash(),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return view
}

func (c *caller) entry(tool, args string) *toolcall.Entry {
	c.t.Helper()
	return c.keyed(tool, args).Entry
}

// refused makes a call that a gate must refuse: nothing is sent, outcome and audit record are stored.
func (c *caller) refused(tool, args, reason string) toolcall.Outcome {
	c.t.Helper()
	sent, called, before := len(c.Business.Sent()), len(c.Events(c.job.ID, "tool_call")), c.blocked(reason)
	o := c.invoke(tool, args)
	if o.State != toolcall.NotDispatched || o.OK || o.Reason != reason || o.Text == "" {
		c.t.Errorf("outcome %+v, want a refusal with reason %s", o, reason)
	}
	if len(c.Business.Sent()) != sent || len(c.Events(c.job.ID, "tool_call")) != called {
		c.t.Errorf("%s: something was sent", reason)
	}
	if n := c.blocked(reason); n != before+1 {
		c.t.Errorf("%s: %d audit records, %d before the call", reason, n, before)
	}
	return o
}

// blocked counts the audit records of refusals for a reason.
func (c *caller) blocked(reason string) (n int) {
	c.t.Helper()
	for _, e := range c.Events(c.job.ID, "tool_blocked") {
		if e.Detail["reason"] == reason {
			n++
		}
	}
	return n
}

// saveRound stores the round that the calls of a test belong to.
func (c *caller) saveRound() {
	c.t.Helper()
	if err := c.Store.SaveRound(c.t.Context(), c.fence(), round(), job.Event{ID: "round", At: c.Clock.Now(), Name: "llm_request"}); err != nil {
		c.t.Fatal(err)
	}
}

// verify checks the signature of a request the way a business does (core §3.4).
func verify(t *testing.T, c *caller, r outbound.Request, pathQuery string) {
	t.Helper()
	err := signature.VerifyTool(jobtest.ProviderSecret, signature.ToolCall{
		Method: r.Method, Path: pathQuery, Body: r.Body, OnBehalfOf: r.Header.Get("X-Bailing-On-Behalf-Of"), JobID: r.Header.Get("X-Bailing-Job-Id"),
	}, signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}, c.Clock.Now())
	if err != nil {
		t.Errorf("the business cannot verify the call: %v", err)
	}
}

func response(status int, contentType, body string) *outbound.Response {
	return &outbound.Response{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body)}
}
