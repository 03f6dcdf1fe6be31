package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/signature"
	"bailing/shared/textlimit"
	"bailing/shared/toolcall"
)

const (
	debugClient    = "admin-debug"
	debugSubject   = 191 // UTF-16 units, as a job's subject
	debugJobID     = 191
	debugAnswer    = 1 << 20 // bytes that are read of an answer (D13)
	debugText      = 8192    // UTF-16 units that are shown of it
	debugShown     = 65_536  // UTF-16 units that are shown of each part of the request
	debugAuditText = 65_536  // UTF-16 units of arguments and answer in the audit (core §5.11)
)

// Debug is one call that an administrator makes by hand (core §10.3).
type Debug struct {
	Tool       string
	Args       canonical.Value // an object
	OnBehalfOf string
	JobID      string // only signed and sent; for tools without side effects
	AllowRisky bool
}

// DebugRequest is the request as it is, or would be, sent. The signature is left out, what it covers is not. URL, path and body show
// their first 65536 characters.
type DebugRequest struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	PathQuery  string            `json:"path_with_query"`
	Body       string            `json:"body"`
	OnBehalfOf string            `json:"on_behalf_of"`
	JobID      string            `json:"job_id"`
	Truncated  bool              `json:"truncated,omitempty"` // URL, path or body go on
	Headers    map[string]string `json:"headers"`             // names in lower case
	Material   DebugMaterial     `json:"signature_material"`
}

// DebugMaterial is what the signature covers (core §3.1).
type DebugMaterial struct {
	Timestamp  string `json:"timestamp"`
	Method     string `json:"method"`
	PathQuery  string `json:"path_with_query"`
	BodySHA256 string `json:"body_sha256"`
	OnBehalfOf string `json:"on_behalf_of"`
	JobID      string `json:"job_id"`
}

// DebugResponse is what the business answered.
type DebugResponse struct {
	Status     int    `json:"status"`
	DurationMS int64  `json:"duration_ms"`
	Text       string `json:"text"` // its first 8192 characters
	Truncated  bool   `json:"truncated"`
}

// Debugged is the outcome of a debug call.
type Debugged struct {
	OK      bool           `json:"ok"` // the business answered 2xx
	Blocked bool           `json:"blocked,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	State   toolcall.State `json:"governance_state,omitempty"` // of a call that was sent and whose answer did not come
	Request DebugRequest   `json:"request"`
	// Response is nil when nothing was sent, or no whole answer came.
	Response *DebugResponse `json:"response,omitempty"`
}

// Debug makes one call of a tool for an administrator. A call that would need an approval is blocked and only shown, unless
// AllowRisky says that the administrator takes it upon themselves. Errors: NotFound for an unknown provider or tool; Invalid
// for a provider that is disabled or has no specification, and for arguments that the tool does not take.
//
// The audit record is written before the request leaves, or nothing is sent (I2). A call with side effects is sent at most
// once, under an idempotency key of its own, and never in the name of a job: it must not take the place of the job's call
// (I1). When the process dies after the first record, no second one says what came of it: whether the business acted must
// be looked up there.
func (s *Service) Debug(ctx context.Context, name string, d Debug, b By) (Debugged, error) {
	v, err := s.get(ctx, name)
	if err != nil {
		return Debugged{}, err
	}
	p := &v.Value
	tool, err := s.debugTool(ctx, p, d.Tool)
	if err != nil {
		return Debugged{}, err
	}
	if err := checkDebug(tool, &d); err != nil {
		return Debugged{}, err
	}
	reason, err := risky(tool, d.Args)
	if err != nil {
		return Debugged{}, err
	}
	request, err := tool.BuildRequest(p.BaseURL, d.Args)
	if err != nil {
		return Debugged{}, refusedArgs(tool, err)
	}
	secret, err := s.secret(ctx, p)
	if err != nil {
		return Debugged{}, err
	}
	g := toolcall.Governance{Secret: secret, Client: debugClient, JobID: d.JobID, Subject: d.OnBehalfOf, Scope: tool.Scope}
	if tool.SideEffecting() {
		g.IdempotencyKey = signature.IdempotencyKey("debug:"+s.NewID(), tool.Name, d.Args.Hash(), d.OnBehalfOf)
	}
	header := g.Headers(request, s.Clock.Now())
	out := Debugged{Request: describe(request, header, &d)}
	if reason != "" && !d.AllowRisky {
		out.Blocked, out.Reason = true, reason
		return out, s.Store.Providers().Note(ctx, name, s.change(b), s.debugEvent(p, tool, &d, b, "blocked", nil))
	}
	if err := s.Store.Providers().Note(ctx, name, s.change(b), s.debugEvent(p, tool, &d, b, "sent", map[string]any{
		"idempotency_key": g.IdempotencyKey, "allow_risky": d.AllowRisky,
	})); err != nil {
		return Debugged{}, fmt.Errorf("provider: debug call not sent, its audit record cannot be written: %w", err)
	}
	res, err := s.HTTP.Do(ctx, outbound.Request{
		Method: request.Method, URL: request.URL, Header: header, Body: request.Body, Timeout: debugTimeout(p, tool),
		MaxResponse: debugAnswer, OneSend: true,
	})
	out.take(tool, res, err)
	s.noteResult(ctx, p, tool, &d, b, &out)
	return out, nil
}

// debugTool is the tool called name of the provider.
func (s *Service) debugTool(ctx context.Context, p *registry.Provider, name string) (*capability.Tool, error) {
	if !p.Enabled {
		return nil, apierr.New(apierr.Invalid, "the tool provider is disabled")
	}
	catalog, err := registry.LoadCatalog(ctx, s.Store, p)
	if err != nil {
		return nil, err
	}
	if catalog == nil {
		return nil, apierr.New(apierr.Invalid, "the tool provider has no specification yet")
	}
	tool := catalog.Tool(name)
	if tool == nil {
		return nil, apierr.New(apierr.NotFound, "the tool provider has no such tool")
	}
	return tool, nil
}

// checkDebug applies the gates of core §5.3 that need no job.
func checkDebug(tool *capability.Tool, d *Debug) error {
	if err := sendable("on_behalf_of", d.OnBehalfOf, debugSubject); err != nil {
		return err
	}
	if err := sendable("job_id", d.JobID, debugJobID); err != nil {
		return err
	}
	if d.JobID != "" && tool.SideEffecting() {
		return apierr.New(apierr.Invalid, "job_id is for tools without side effects: a debug call must not act in the name of a job")
	}
	if r := tool.ValidateArgs(d.Args); r != nil {
		return refusedArgs(tool, r)
	}
	if tool.RequiresSubject && d.OnBehalfOf == "" {
		return apierr.Newf(apierr.Invalid, "the tool %s needs on_behalf_of", tool.Name)
	}
	return nil
}

func refusedArgs(tool *capability.Tool, err error) error {
	var r *capability.Refusal
	if errors.As(err, &r) {
		return apierr.Newf(apierr.Invalid, "the arguments do not fit %s: %s", tool.Name, r.Reason).With("reason", r.Reason)
	}
	return err
}

// sendable refuses what no header can carry.
func sendable(name, text string, max int) error {
	if !utf8.ValidString(text) {
		return apierr.Newf(apierr.Invalid, "%s must be valid text", name)
	}
	if !textlimit.Fits(text, max) {
		return apierr.Newf(apierr.Invalid, "%s must have at most %d characters", name, max)
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return apierr.Newf(apierr.Invalid, "%s must not contain control characters", name)
		}
	}
	if textlimit.Trim(text) != text {
		return apierr.Newf(apierr.Invalid, "%s must not have spaces around it", name)
	}
	return nil
}

// risky says why a call of the tool would wait for a person, "" when it would not. A rule that cannot be decided for the
// arguments refuses the call.
func risky(tool *capability.Tool, args canonical.Value) (string, error) {
	approval, r := tool.ApprovalFor(args)
	switch {
	case r != nil:
		return "", refusedArgs(tool, r)
	case approval == nil:
		return "", nil
	}
	return "this call needs an approval (" + approval.Reason + "); try signature and arguments with a tool of low risk, or set allow_risky", nil
}

func debugTimeout(p *registry.Provider, tool *capability.Tool) time.Duration {
	ms := int64(p.TimeoutMS)
	if tool.TimeoutMs > 0 {
		ms = tool.TimeoutMs
	}
	return min(time.Duration(ms)*time.Millisecond, Budget)
}

// describe shows the request. Its signature would be good for five minutes, so it is not shown.
func describe(r capability.Request, h http.Header, d *Debug) DebugRequest {
	sum := sha256.Sum256(r.Body)
	cut := func(s string) string { return textlimit.Cut(s, debugShown) }
	out := DebugRequest{
		Method: r.Method, URL: cut(r.URL), PathQuery: cut(r.PathQuery), Body: cut(string(r.Body)), OnBehalfOf: d.OnBehalfOf, JobID: d.JobID,
		Truncated: !textlimit.Fits(r.URL, debugShown) || !textlimit.Fits(string(r.Body), debugShown),
		Headers:   map[string]string{},
		Material: DebugMaterial{
			Timestamp: h.Get("X-Bailing-Timestamp"), Method: r.Method, PathQuery: cut(r.PathQuery),
			BodySHA256: hex.EncodeToString(sum[:]), OnBehalfOf: d.OnBehalfOf, JobID: d.JobID,
		},
	}
	for name := range h {
		out.Headers[strings.ToLower(name)] = cut(h.Get(name))
	}
	out.Headers["x-bailing-signature"] = "sha256=[REDACTED]"
	return out
}

// take enters what came back.
func (out *Debugged) take(tool *capability.Tool, res *outbound.Response, err error) {
	outcome := toolcall.Judge(tool, res, err)
	out.OK = outcome.OK
	if outcome.State == toolcall.Reconcile {
		out.State, out.Reason = outcome.State, outcome.Reason
		var failed *outbound.Error
		if errors.As(err, &failed) {
			out.Reason = noAnswer(failed)
		}
	}
	if err != nil {
		return
	}
	text := strings.ToValidUTF8(string(res.Body), "\uFFFD")
	out.Response = &DebugResponse{
		Status: res.Status, DurationMS: res.Duration.Milliseconds(), Text: textlimit.Cut(text, debugText),
		Truncated: res.Truncated || !textlimit.Fits(text, debugText),
	}
}

// noteResult records what came of a call that was sent. The call cannot be undone, so a record that cannot be written is logged.
func (s *Service) noteResult(ctx context.Context, p *registry.Provider, tool *capability.Tool, d *Debug, b By, out *Debugged) {
	ctx, cancel := recording(ctx)
	defer cancel()
	detail := map[string]any{"ok": out.OK, "governance_state": string(out.State), "reason": out.Reason}
	if r := out.Response; r != nil {
		detail["status"], detail["duration_ms"] = r.Status, r.DurationMS
	}
	if err := s.Store.Providers().Note(ctx, p.Name, nil, s.debugEvent(p, tool, d, b, "answered", detail)); err != nil {
		s.Logger.ErrorContext(ctx, "result of a debug call not recorded", "provider", p.Name, "tool", tool.Name, "error", err)
	}
}

// debugEvent records a step of a debug call. Arguments follow the rule of core §5.11.
func (s *Service) debugEvent(p *registry.Provider, tool *capability.Tool, d *Debug, b By, step string, more map[string]any) registry.Event {
	detail := map[string]any{
		"step": step, "tool": tool.Name, "scope": tool.Scope, "method": tool.Method, "path": tool.Path,
		"on_behalf_of": d.OnBehalfOf, "args": debugArgs(p, tool, d.Args),
	}
	for k, v := range more {
		if v != "" && v != nil {
			detail[k] = v
		}
	}
	return s.event("tool_debug_invoke", info, b, tool.Name+" "+step, detail)
}

func debugArgs(p *registry.Provider, tool *capability.Tool, args canonical.Value) any {
	if p.LogPayload && !tool.Sensitive {
		text := args.AppendCompact(nil)
		if !textlimit.Fits(string(text), debugAuditText) {
			return textlimit.Cut(string(text), debugAuditText)
		}
		return json.RawMessage(text)
	}
	names := []string{}
	for name := range args.Members() {
		names = append(names, name)
	}
	return names
}
