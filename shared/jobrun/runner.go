package jobrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/model"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
	"bailing/shared/toolcall"
)

// Runner runs jobs of the llm target. It is safe for concurrent use.
type Runner struct {
	Jobs    *job.Lifecycle
	Store   Store
	Model   Model
	Tools   Tools
	Secrets toolcall.Sealer
	Clock   clock.Clock
	Logger  *slog.Logger
	Worker  func() string // names one claim of this process; different each time
}

const (
	// timeMargin is kept free after a model's timeout for saving the round.
	timeMargin = 15 * time.Second
	// maxErrorText bounds what a job's error member holds, in UTF-16 units.
	maxErrorText = 2000
	// maxAnswer bounds the final text, in bytes of its JSON form without the quotes; see also job.ResultRoom.
	maxAnswer = 3 << 20
	// maxConversation bounds what one request to a model holds, in bytes, and with it the memory of a worker.
	maxConversation = 16 << 20
)

// errYield asks to put the job back; the reason is for its audit.
type errYield struct {
	reason string
	paused bool
}

func (e *errYield) Error() string { return "jobrun: " + e.reason }

// errFinal ends the job as failed.
type errFinal struct{ reason string }

func (e *errFinal) Error() string { return "jobrun: " + e.reason }

// errTransient fails this try of the job.
type errTransient struct{ reason string }

func (e *errTransient) Error() string { return "jobrun: " + e.reason }

// errReconcile ends the job for a person to reconcile.
type errReconcile struct{ open *job.OpenCall }

func (e *errReconcile) Error() string { return "jobrun: " + job.ReasonReconciliation }

// Run handles one message of the jobs queue. A job that cannot be claimed is no error: the message is done. An error means
// that the job's state could not be saved; the message should come again, and the lease protects the job meanwhile.
func (r *Runner) Run(ctx context.Context, jobID string) error {
	paused, err := r.Jobs.Store.ReadPaused(ctx)
	if err != nil {
		return err
	}
	if paused {
		r.Logger.InfoContext(ctx, "job left queued, the hub is paused", "job_id", jobID)
		return nil
	}
	j, err := r.Jobs.Claim(ctx, jobID, r.Worker())
	if errors.Is(err, job.ErrNotClaimable) {
		r.Logger.InfoContext(ctx, "message without a claimable job", "job_id", jobID)
		return nil
	}
	if err != nil {
		return err
	}
	f := job.Fence{JobID: j.ID, Claim: j.Claim}
	log := r.Logger.With("job_id", j.ID, "claim", j.Claim)
	log.InfoContext(ctx, "job claimed", "route", j.Snapshot.RouteKey)
	run := &run{Runner: r, job: j, fence: f}
	if j.Open != nil { // before any model call, and before any other call (core §5.8)
		err = &errReconcile{j.Open}
	} else {
		err = run.execute(ctx)
	}
	err = r.settle(ctx, run, err)
	if errors.Is(err, job.ErrLostClaim) {
		log.WarnContext(ctx, "claim lost, another worker has the job")
		return nil
	}
	return err
}

// settle turns how a run ended into the job's next state.
func (r *Runner) settle(ctx context.Context, run *run, err error) error {
	j, f := run.job, run.fence
	var reconcile *errReconcile
	frozen := errors.As(err, &reconcile)
	if err != nil && ctx.Err() != nil && !frozen && !errors.Is(err, job.ErrLostClaim) {
		err = &errYield{reason: "the invocation ended"}
		run.progress = true // ending early is not the job's fault, whatever it had reached
	}
	// The invocation may be ending; saving the job's state gets a little time of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeMargin/2)
	defer cancel()
	var (
		yield     *errYield
		final     *errFinal
		transient *errTransient
		deferred  *errDeferred
	)
	switch {
	case err == nil, errors.Is(err, job.ErrLostClaim):
		return err
	case frozen:
		return r.reconcile(ctx, run, reconcile.open)
	case errors.As(err, &yield) && !yield.paused && !run.progress:
		// An invocation too short for even one step would pass the job on for ever.
		return r.Jobs.Recover(ctx, j, f, yield.reason)
	case errors.As(err, &yield):
		return r.Jobs.Yield(ctx, f, yield.reason, yield.paused)
	case errors.As(err, &deferred):
		return r.Jobs.Defer(ctx, j, f, deferred.reason, deferred.wait)
	case errors.As(err, &final):
		return r.Jobs.Finish(ctx, f, job.Outcome{
			Status: job.Failed, Error: textlimit.Cut(final.reason, maxErrorText), Usage: run.usage(), Result: json.RawMessage(`{}`),
		})
	case errors.As(err, &transient):
		return r.Jobs.Retry(ctx, j, f, textlimit.Cut(transient.reason, maxErrorText), run.usage())
	}
	r.Logger.ErrorContext(ctx, "job could not go on", "job_id", j.ID, "error", err)
	return r.Jobs.Recover(ctx, j, f, "the hub failed while running the job")
}

// run is one job in the hands of one worker.
type run struct {
	*Runner
	job    *job.Job
	fence  job.Fence
	cfg    registry.LLMConfig
	cfgErr error // cfg could not be read
	config Config
	conv   *conversation

	progress bool // this worker saved a step
}

func (r *run) usage() json.RawMessage {
	if r.conv == nil {
		return nil
	}
	return r.conv.usage()
}

// execute alternates model rounds and calls until the job is finished or something ends this worker's part. Approved calls need no
// model, and no configuration of one: they come before anything that could end the job.
func (r *run) execute(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if len(r.job.Due) > 0 {
		if err := r.calls(ctx); err != nil {
			return err
		}
	}
	if r.cfgErr != nil {
		return r.cfgErr
	}
	endpoint, modelName, err := r.endpoint(ctx)
	if err != nil {
		return err
	}
	for {
		if err := r.calls(ctx); err != nil {
			return err
		}
		done, err := r.judge(ctx, modelName)
		if done || err != nil {
			return err
		}
		if err := r.round(ctx, endpoint, modelName); err != nil {
			return err
		}
	}
}

// load reads configuration and rounds, and records that the work started.
func (r *run) load(ctx context.Context) error {
	j := r.job
	if j.Snapshot.Target != registry.TargetLLM {
		return &errFinal{fmt.Sprintf("target %s cannot run inside the hub", j.Snapshot.Target)}
	}
	if err := json.Unmarshal(j.Snapshot.TargetConfig, &r.cfg); err != nil {
		r.cfgErr = &errFinal{"the route's target_config cannot be read"}
	}
	ev := job.Event{
		ID: fmt.Sprintf("started-%d", r.fence.Claim), At: r.Clock.Now(), Name: "started", Stage: job.StageExecution,
		Severity: job.Info, Title: "Execution started",
		Detail: map[string]any{"target": j.Snapshot.Target, "worker": j.Worker, "claim": r.fence.Claim, "attempt": j.Attempts},
	}
	var rounds []Round
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.Store.AddEvent(gctx, j.ID, ev) })
	g.Go(func() (err error) {
		r.config, err = r.Store.ReadRun(gctx, j.Snapshot.RouteKey, r.cfg.Credential)
		return err
	})
	g.Go(func() (err error) {
		rounds, err = r.Store.LoadRounds(gctx, j.ID)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if r.config.Paused {
		return &errYield{reason: "the hub is paused", paused: true}
	}
	set, err := r.Tools.Assemble(ctx, r.config.Route, r.config.Providers)
	if err != nil {
		return err
	}
	if len(set.Problems) > 0 {
		if err := r.Store.AddEvent(ctx, j.ID, r.problems(set)); err != nil {
			return err
		}
	}
	maxCalls := 0
	if r.config.Route != nil && r.config.Route.Tools != nil {
		maxCalls = r.config.Route.Tools.MaxCalls
	}
	if err := r.open(ctx, rounds); err != nil {
		return err
	}
	r.conv = newConversation(j, r.cfg.SystemPrompt, set, maxCalls, rounds, r.Clock.Now())
	return nil
}

func (r *run) problems(set *toolcall.Toolset) job.Event {
	return job.Event{
		ID: fmt.Sprintf("tools_unavailable-%d", r.fence.Claim), At: r.Clock.Now(), Name: "tools_unavailable",
		Stage: job.StageTool, Severity: job.Warning, Title: "Tools unavailable", Detail: map[string]any{"problems": set.Problems},
	}
}

// endpoint is where the model answers (core §11.2). Its errors are read by the job's owner, whom the names in the route's
// configuration do not concern (D5).
func (r *run) endpoint(ctx context.Context) (model.Endpoint, string, error) {
	c := r.config.Credential
	if c == nil || !c.Enabled {
		return model.Endpoint{}, "", &errFinal{"the route's credential does not exist or is disabled"}
	}
	name := r.cfg.Model
	if name == "" {
		name = c.DefaultModel
	}
	if name == "" {
		return model.Endpoint{}, "", &errFinal{"neither the route nor its credential names a model"}
	}
	key, err := r.Secrets.Open(ctx, c.APIKey, registry.CredentialKeyContext(c.Name))
	if err != nil {
		return model.Endpoint{}, "", err
	}
	return model.Endpoint{BaseURL: c.BaseURL, APIKey: string(key)}, name, nil
}

// timeout of a model call: the route's, the target's, or the default (core §11.1).
func (r *run) timeout() time.Duration {
	switch {
	case r.cfg.TimeoutMS > 0:
		return min(time.Duration(r.cfg.TimeoutMS)*time.Millisecond, model.MaxTimeout)
	case r.job.Snapshot.TargetTimeoutMS > 0:
		return min(time.Duration(r.job.Snapshot.TargetTimeoutMS)*time.Millisecond, model.MaxTimeout)
	}
	return model.DefaultTimeout
}

// round asks the model once and saves its answer before anything acts on it.
func (r *run) round(ctx context.Context, e model.Endpoint, name string) error {
	n := len(r.conv.rounds) + 1
	if n > r.conv.roundLimit() {
		return &errFinal{fmt.Sprintf("the model did not come to an answer within %d rounds", r.conv.roundLimit())}
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(r.Clock.Now()) < r.timeout()+timeMargin {
		return &errYield{reason: "too little time is left for a model round"}
	}
	if err := r.tellBudget(ctx); err != nil {
		return err
	}
	tools, messages := r.conv.toolsFor(), r.conv.messages()
	if size := sizeOf(messages); size > maxConversation {
		return &errFinal{fmt.Sprintf("the conversation has grown to %d bytes, more than %d", size, maxConversation)}
	}
	start := r.Clock.Now()
	res, err := r.Model.Complete(ctx, e, model.Request{
		Model: name, Messages: messages, Tools: tools, Temperature: r.cfg.Temperature,
	}, r.timeout())
	if err != nil {
		return modelFailure(err)
	}
	saved := Round{
		Number: n, Message: res.Message, Usage: res.Usage, Model: name,
		TookMS: r.Clock.Now().Sub(start).Milliseconds(), Calls: map[int]toolcall.Record{},
	}
	if len(saved.Message.ToolCalls) == 0 {
		limit := min(maxAnswer, job.ResultRoom(r.job))
		switch {
		case len(mustJSON(saved.Message.Content))-len(`""`) > limit:
			return &errFinal{fmt.Sprintf("the model's answer is larger than %d bytes", limit)}
		case model.Violation(saved.Message.Content):
			if r.conv.withheld() > 0 {
				return &errFinal{"the model answered with internal tool-call mark-up twice"}
			}
			saved.Withheld = true
		case textlimit.Blank(saved.Message.Content) && !r.conv.usedTools():
			return &errTransient{"the model returned an empty answer"}
		}
	}
	stored, err := r.seal(ctx, saved, false)
	if err != nil {
		return err
	}
	if err := r.Store.SaveRound(ctx, r.fence, stored, r.roundEvent(saved, tools)); err != nil {
		return err
	}
	r.conv.rounds = append(r.conv.rounds, saved)
	r.progress = true
	return nil
}

// sizeOf is the text of messages, in bytes.
func sizeOf(messages []model.Message) (n int) {
	for _, m := range messages {
		n += len(m.Content) + len(m.ReasoningContent)
		for _, c := range m.ToolCalls {
			n += len(c.Arguments)
		}
	}
	return n
}

func modelFailure(err error) error {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return err
	}
	if failed.Transient {
		return &errTransient{failed.Public}
	}
	return &errFinal{failed.Public}
}

func (r *run) roundEvent(s Round, tools []model.ToolDef) job.Event {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return job.Event{
		ID: fmt.Sprintf("llm_request-%d", s.Number), At: r.Clock.Now(), Name: "llm_request", Stage: job.StageExecution,
		Severity: job.Info, Title: "Model answered", Summary: fmt.Sprintf("%s · round %d · %d calls", s.Model, s.Number, len(s.Message.ToolCalls)),
		Detail: map[string]any{
			"model": s.Model, "round": s.Number, "tools_total": len(r.conv.offered), "tools_offered": names,
			"tool_calls": len(s.Message.ToolCalls), "tokens": s.Usage.TotalTokens, "duration_ms": s.TookMS, "withheld": s.Withheld,
		},
	}
}

// judge finishes the job if the last round is an answer.
func (r *run) judge(ctx context.Context, modelName string) (done bool, err error) {
	if len(r.conv.rounds) == 0 {
		return false, nil
	}
	last := r.conv.rounds[len(r.conv.rounds)-1]
	if len(last.Message.ToolCalls) > 0 || last.Withheld {
		return false, nil
	}
	text := last.Message.Content
	if textlimit.Blank(text) {
		if r.conv.emptyAnswers() < 2 {
			return false, nil // one repair round
		}
		text = apology
	}
	return true, r.Jobs.Finish(ctx, r.fence, job.Outcome{
		Status: job.Done, Result: r.conv.result(text, modelName), Usage: r.conv.usage(),
	})
}
