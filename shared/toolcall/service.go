package toolcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/signature"
	"bailing/shared/textlimit"
)

// Sender sends one guarded HTTP request (package outbound).
type Sender interface {
	Do(ctx context.Context, r outbound.Request) (*outbound.Response, error)
}

// Starter begins the wait of a ticket (package approval).
type Starter interface {
	Start(ctx context.Context, ticketID int64, deadline time.Time) error
}

// Service makes governed calls. It is safe for concurrent use.
type Service struct {
	Store   Store
	HTTP    Sender
	Secrets Sealer
	Waits   Starter // nil leaves the waits of tickets to the sweeper
	Clock   clock.Clock
	Logger  *slog.Logger

	cache catalog.Cache
}

// maxResponse is how much of a business's answer is read (D13).
const maxResponse = 1 << 20

// maxToolName is the longest name of a tool (core §4.6).
const maxToolName = 64

// timeMargin is kept free after a tool's timeout for saving what came of it.
const timeMargin = 10 * time.Second

// prepared is a call on its way through the gates.
type prepared struct {
	call     Call
	tool     *capability.Tool
	source   registry.ToolSource
	args     canonical.Value
	argsHash string
	subject  string
	key      string // of a side-effecting call: its idempotency key (core §5.7)
	reserved time.Time
	view     View
	request  capability.Request
	secret   []byte
	use      *approval.Use // nil, or the ticket that the call consumes
}

// Invoke takes a call through every gate and sends it at most once. Its outcome is stored before it returns. The errors are
// ErrPaused and ErrNoTime (nothing was done; the job should be put back), *[Frozen] (the job has to end),
// job.ErrLostClaim (stop at once), and failures of the store.
//
// When the process dies before a call is reserved, nothing happened but perhaps a spent permit. When it dies after that, the
// job's row names the call as open, and the job ends without another one (I1, I4). A read-only or idempotent call leaves no
// such mark: the next worker finds no outcome and repeats it, which is safe.
func (s *Service) Invoke(ctx context.Context, set *Toolset, c Call) (Outcome, error) {
	if c.Job.Open != nil {
		return Outcome{}, &Frozen{Open: *c.Job.Open}
	}
	c.Tool = textlimit.Cut(c.Tool, maxToolName+1) // a longer one names no tool, and is not repeated anywhere
	p, refusal := s.prepare(set, c)
	if refusal != nil {
		return *refusal, s.refuse(ctx, c, *refusal)
	}
	var err error
	for range 3 { // what was stored for these arguments since the rows were read decides; more surprises are an error
		var out Outcome
		out, err = s.attempt(ctx, p)
		if !errors.Is(err, ErrReserved) && !errors.Is(err, ErrTicketMoved) && !errors.Is(err, approval.ErrExists) {
			return out, err
		}
	}
	return Outcome{}, err
}

// attempt decides a call by the rows as they are now, and makes it.
func (s *Service) attempt(ctx context.Context, p *prepared) (Outcome, error) {
	p.use = nil
	refusal, err := s.admit(ctx, p)
	if err != nil {
		return Outcome{}, err
	}
	if refusal != nil {
		return *refusal, s.refuse(ctx, p.call, *refusal)
	}
	if p.view.Entry != nil {
		return s.replay(ctx, p)
	}
	if refusal, err = s.build(ctx, p); err != nil {
		return Outcome{}, err
	}
	if refusal != nil {
		return *refusal, s.refuse(ctx, p.call, *refusal)
	}
	permits, refusal, err := s.takePermits(ctx, p)
	if err != nil {
		return Outcome{}, err
	}
	if refusal != nil {
		return *refusal, s.refuse(ctx, p.call, *refusal)
	}
	asked, err := s.askApproval(ctx, p)
	if asked != nil || err != nil {
		s.giveBack(ctx, permits)
		return orNone(asked), err
	}
	if p.call.Passed != nil {
		p.call.Passed()
	}
	if p.tool.SideEffecting() {
		p.reserved = s.Clock.Now()
		err = s.Store.Reserve(ctx, p.call.Fence, p.entry(Dispatching, p.reserved), p.use, s.callEvent(p))
	} else {
		err = s.Store.BeginCall(ctx, p.call.Fence, p.use, s.callEvent(p))
	}
	if err != nil {
		s.giveBack(ctx, permits)
		return Outcome{}, err
	}
	return s.dispatch(ctx, p)
}

func orNone(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}

// prepare runs the gates that need no I/O.
func (s *Service) prepare(set *Toolset, c Call) (*prepared, *Outcome) {
	if c.Due != nil { // judged by the rows alone: the toolset leaves out what is disabled now
		args, refusal := parseArgs(c.Args)
		p := &prepared{call: c, args: args, argsHash: args.Hash()}
		p.view.Provider = &registry.Provider{Name: c.Due.Provider}
		return p, refusal
	}
	attached, ok := set.Find(c.Tool)
	if !ok {
		return nil, refused("tool_not_allowed", fmt.Sprintf("Tool %s is not among the tools of this route; the call was refused.", textlimit.Cut(c.Tool, maxToolName)))
	}
	args, refusal := parseArgs(c.Args)
	if refusal != nil {
		return nil, refusal
	}
	p := &prepared{call: c, tool: attached.Tool, args: args, argsHash: args.Hash()}
	p.view.Provider = &registry.Provider{Name: attached.Provider}
	if refusal := p.validate(); refusal != nil {
		return nil, refusal
	}
	return p, p.findSubject(attached.Source)
}

// parseArgs reads the arguments as the model wrote them. Text that is no JSON counts as no arguments, which the tool's
// schema then judges (core §11.2).
func parseArgs(text string) (canonical.Value, *Outcome) {
	args, err := canonical.Parse([]byte(text), canonical.Limits{MaxBytes: 2 * maxArgs})
	switch {
	case errors.Is(err, canonical.ErrTooLarge), err == nil && args.Size() > maxArgs:
		return args, refused("arguments_too_large", fmt.Sprintf("The arguments are larger than %d bytes; the call was refused.", maxArgs))
	case errors.Is(err, canonical.ErrDuplicateKey), errors.Is(err, canonical.ErrTooDeep), errors.Is(err, canonical.ErrInvalidUTF8):
		return args, refused("tool_args_not_json_serializable", "The arguments are ambiguous or nested too deeply; the call was refused.")
	case err != nil:
		empty, err := canonical.FromGo(map[string]any{})
		if err != nil {
			return args, refused("tool_args_not_json_serializable", "The arguments cannot be read; the call was refused.")
		}
		return empty, nil
	case args.Kind() != canonical.Object:
		return args, refused("tool_args_not_json_object", "The arguments must be one JSON object; the call was refused.")
	}
	return args, nil
}

// maxArgs bounds the arguments of a call: bytes of their compact JSON form (core §5.2). White space does not count, but as
// much of it as there may be arguments is too much.
const maxArgs = 1 << 20

// validate judges the arguments by the tool's schema.
func (p *prepared) validate() *Outcome {
	if r := p.tool.ValidateArgs(p.args); r != nil {
		return refused(r.Reason, fmt.Sprintf("The arguments of %s do not fit its schema (%s). Nothing was sent; correct them and call again.", p.tool.Name, r.Reason))
	}
	return nil
}

// findSubject names the person for whom the call is made.
func (p *prepared) findSubject(source registry.ToolSource) *Outcome {
	var err error
	if p.subject, err = SubjectOf(p.call.Job, source); err != nil {
		return refused("subject_invalid", "The person for whom this job runs has an identifier that cannot be sent. Nothing was sent.")
	}
	if p.tool.RequiresSubject && p.subject == "" {
		return refused("subject_required", fmt.Sprintf("Tool %s acts for a person, and this job names none. Nothing was sent.", p.tool.Name))
	}
	return nil
}

// admit reads the configuration as it is now and refuses what it no longer allows. A specification that changed since the
// toolset was assembled is judged anew.
func (s *Service) admit(ctx context.Context, p *prepared) (*Outcome, error) {
	c := p.call
	provider := p.view.Provider.Name
	view, err := s.Store.ReadCall(ctx, Keys{
		Owner: c.Job.Owner, Route: c.Job.Snapshot.RouteKey, Provider: provider, Tool: c.Tool, JobID: c.Job.ID, ArgsHash: p.argsHash,
	})
	if err != nil {
		return nil, err
	}
	p.view = view
	if view.Paused {
		return nil, ErrPaused
	}
	if refusal := s.judgeTicket(p); refusal != nil {
		return refusal, nil
	}
	if c.Due != nil && view.Entry != nil {
		return nil, nil // the journal answers it, whatever is disabled now
	}
	source, attached := sourceOf(view.Route, provider)
	switch {
	case c.Job.Owner != "" && (view.Client == nil || !view.Client.Enabled):
		return refused(reasonClientDisabled, "The client that owns this job is disabled; nothing was sent."), nil
	case view.Route == nil || !view.Route.Enabled:
		return refused(reasonRouteDisabled, "The route of this job is disabled; nothing was sent."), nil
	case catalog.Unusable(provider, view.Provider) != "":
		return refused(reasonProviderDisabled, fmt.Sprintf("The provider of %s is not available now; nothing was sent.", c.Tool)), nil
	case !attached:
		return refused("tool_not_allowed", fmt.Sprintf("Tool %s is no longer among the tools of this route; the call was refused.", c.Tool)), nil
	}
	catalog, err := s.catalog(ctx, view.Provider.CatalogHash)
	if err != nil {
		return nil, err
	}
	tool := catalog.Tool(c.Tool)
	if tool == nil || !capability.Allowed(source.Allow, tool.Scope) {
		return refused("tool_not_allowed", fmt.Sprintf("Tool %s is no longer among the tools of this route; the call was refused.", c.Tool)), nil
	}
	if tool != p.tool { // a due call, or the specification changed since the toolset was assembled
		p.tool = tool
		if refusal := p.validate(); refusal != nil {
			return refusal, nil
		}
	}
	if refusal := p.findSubject(source); refusal != nil {
		return refusal, nil
	}
	p.source, p.key = source, ""
	if tool.SideEffecting() {
		p.key = signature.IdempotencyKey(c.Job.ID, tool.Name, p.argsHash, p.subject)
	}
	return nil, nil
}

// build makes the request and opens the secret, before any permit is spent. A secret that cannot be opened is a failure of the hub; a due
// call waits until it can be, so that it keeps no other one from being made.
func (s *Service) build(ctx context.Context, p *prepared) (*Outcome, error) {
	request, err := p.tool.BuildRequest(p.view.Provider.BaseURL, p.args)
	var r *capability.Refusal
	if errors.As(err, &r) {
		return refused(r.Reason, fmt.Sprintf("The arguments of %s cannot be sent (%s). Nothing was sent.", p.tool.Name, r.Reason)), nil
	}
	if err != nil {
		return nil, err
	}
	p.request = request
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(s.Clock.Now()) < p.timeout()+timeMargin {
		return nil, ErrNoTime
	}
	p.secret, err = s.Secrets.Open(ctx, p.view.Provider.Secret, registry.ProviderSecretContext(p.view.Provider.Name))
	if err != nil && p.call.Due != nil {
		s.Logger.ErrorContext(ctx, "the secret of a provider cannot be opened", "job_id", p.call.Job.ID, "provider", p.view.Provider.Name, "error", err)
		return refused(reasonSecretUnreadable, fmt.Sprintf("The provider of %s is not available now; nothing was sent.", p.tool.Name)), nil
	}
	return nil, err
}

func (p *prepared) timeout() time.Duration {
	if p.tool.TimeoutMs > 0 {
		return time.Duration(p.tool.TimeoutMs) * time.Millisecond
	}
	return time.Duration(p.view.Provider.TimeoutMS) * time.Millisecond
}

// headers are the headers of the call.
func (p *prepared) headers(now time.Time) http.Header {
	g := Governance{
		Secret: p.secret, Client: p.call.Job.Owner, JobID: p.call.Job.ID, Subject: p.subject,
		Scope: p.tool.Scope, IdempotencyKey: p.key,
	}
	return g.Headers(p.request, now)
}

// dispatch sends the request and stores what came of it.
func (s *Service) dispatch(ctx context.Context, p *prepared) (Outcome, error) {
	start := s.Clock.Now()
	res, err := s.HTTP.Do(ctx, outbound.Request{
		Method: p.request.Method, URL: p.request.URL, Header: p.headers(start), Body: p.request.Body,
		Timeout: p.timeout(), MaxResponse: maxResponse, OneSend: true,
	})
	took := s.Clock.Now().Sub(start)
	if err != nil {
		s.Logger.WarnContext(ctx, "tool call without an answer", "job_id", p.call.Job.ID, "tool", p.tool.Name, "error", err)
	}
	// What came of it is stored even if the invocation ends now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeMargin)
	defer cancel()
	out := p.judge(res, err)
	out.TookMS = took.Milliseconds()
	if p.key != "" {
		return s.settle(ctx, p, out, res, err, took)
	}
	rec, err2 := s.record(ctx, p, out)
	if err2 != nil {
		return out, err2
	}
	return out, s.Store.CompleteCall(ctx, p.call.Fence, rec, s.resultEvent(p, out, res, err, took))
}

// record is what is stored of an outcome. What a sensitive tool answered is sealed (I10).
func (s *Service) record(ctx context.Context, p *prepared, out Outcome) (Record, error) {
	rec := Record{Round: p.call.Round, Index: p.call.Index, CallID: p.call.CallID, Tool: p.tool.Name, Outcome: out}
	if !p.sensitive() {
		return rec, nil
	}
	sealed, err := s.Secrets.Seal(ctx, []byte(out.Text), SealedPlace(p.call.Job.ID))
	rec.Sealed, rec.Outcome.Text = sealed, ""
	return rec, err
}

// judge turns what came back into an outcome.
func (p *prepared) judge(res *outbound.Response, err error) Outcome { return Judge(p.tool, res, err) }

// Judge turns what came back of an attempted call into its outcome (core §5.9, D12 to D14): the status of a whole answer
// decides, but on a side-effecting tool some statuses say that an intermediary lost the answer. err is the sender's.
func Judge(tool *capability.Tool, res *outbound.Response, err error) Outcome {
	if err != nil || tool.SideEffecting() && lostByIntermediary(res.Status) {
		out := lost(tool.Name)
		out.Reason = lostReason(res, err)
		if err == nil {
			out.Status = res.Status
		}
		return out
	}
	shaped := capability.ShapeResult(res.Status, res.Header.Get("Content-Type"), res.Body)
	out := Outcome{State: Executed, OK: shaped.OK, Status: res.Status, Text: shaped.Text}
	if !shaped.OK {
		out.State = BusinessReject
	}
	return out
}

// lostByIntermediary reports the statuses of D12.
func lostByIntermediary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

// lost is the outcome of a request that was attempted and not answered.
func lost(tool string) Outcome {
	return Outcome{
		State: Reconcile,
		Text:  fmt.Sprintf("Tool %s was called and did not answer. Whether the business received the call is unknown; say so, and do not call it again by yourself.", tool),
	}
}

// lostReason is why there is no trustworthy answer. It is shown to the job's owner, whom hosts and addresses do not concern.
func lostReason(res *outbound.Response, err error) string {
	var failed *outbound.Error
	switch {
	case err == nil:
		return fmt.Sprintf("status_%d", res.Status)
	case errors.As(err, &failed) && failed.Timeout:
		return "timeout"
	case failed != nil && !failed.Connected:
		return "no_connection"
	}
	return "no_answer"
}

// refuse stores a refusal with its audit record. A due call whose reason can pass is put off instead.
func (s *Service) refuse(ctx context.Context, c Call, o Outcome) error {
	if c.Due != nil && passing(o.Reason) && s.Clock.Now().Before(c.Due.ExpiresAt) {
		return &Deferred{Outcome: o, Wait: time.Duration(o.RetryAfterMS) * time.Millisecond}
	}
	rec := Record{Round: c.Round, Index: c.Index, CallID: c.CallID, Tool: c.Tool, Outcome: o}
	return s.complete(ctx, c, rec, s.blockedEvent(c, o))
}

// passing reports the reasons of refusals that an operator, or time, can remove.
func passing(reason string) bool {
	switch reason {
	case reasonClientDisabled, reasonRouteDisabled, reasonProviderDisabled, reasonSecretUnreadable:
		return true
	}
	return strings.HasPrefix(reason, rateLimited)
}

// complete stores an outcome that no reserved call has.
func (s *Service) complete(ctx context.Context, c Call, rec Record, ev job.Event) error {
	if c.Due != nil {
		return s.Store.DropDue(ctx, c.Fence, c.Due.DueTicket, rec, ev)
	}
	return s.Store.CompleteCall(ctx, c.Fence, rec, ev)
}

// Reasons of refusals that can pass.
const (
	reasonClientDisabled   = "client_disabled"
	reasonRouteDisabled    = "route_disabled"
	reasonProviderDisabled = "provider_disabled"
	reasonSecretUnreadable = "provider_secret_unreadable"
	rateLimited            = "rate_limited:"
)

func refused(reason, text string) *Outcome {
	return &Outcome{State: NotDispatched, Reason: reason, Text: text}
}
