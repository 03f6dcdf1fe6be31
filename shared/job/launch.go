package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/apierr"
	"bailing/shared/audience"
	"bailing/shared/canonical"
	"bailing/shared/clock"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// RequestEntry is the global row of one request id (core §1.2).
type RequestEntry struct {
	RequestID   string
	JobID       string
	Owner       string
	Fingerprint string
}

// LaunchKeys names the rows of a submission's first read. Empty strings name nothing.
type LaunchKeys struct {
	TokenHash string
	Route     string
	RequestID string
}

// LaunchView is what the first read found.
type LaunchView struct {
	Paused  bool
	Token   *registry.Token
	Route   *registry.Route
	Request *RequestEntry
	Limit   limit.Row // the bucket of the token's client
}

// LaunchStore is the storage of a launch.
type LaunchStore interface {
	limit.Writer
	// ReadLaunch reads all rows in one trip.
	ReadLaunch(ctx context.Context, k LaunchKeys) (LaunchView, error)
	// ReadAutoRoutes reads the routes whose audience policy takes part in automatic routing, by key, in two trips: an index
	// says which routes there are, and each is read strongly. One that is newer than the index may be missing for a moment.
	ReadAutoRoutes(ctx context.Context) ([]registry.Route, error)
	// ReadThread reads the target and the thread in one trip; the target is nil when it does not exist.
	ReadThread(ctx context.Context, target, threadKey string) (*registry.Target, Thread, error)
	// ReadUsage returns the usage of each window, in one trip. It may count from up to ten minutes before Since.
	ReadUsage(ctx context.Context, windows []UsageWindow) ([]Usage, error)
	// ReadReplay reads a job's status and the target in one trip; target may be "", which names none.
	ReadReplay(ctx context.Context, jobID, target string) (Status, *registry.Target, error)
	// CreateJob stores the job, its request id, its place in the thread (unless it is rejected) and ev in one transaction.
	// It returns *RequestTaken when the request id exists, *ThreadMoved when the thread is not at t.Version.
	CreateJob(ctx context.Context, j *Job, e RequestEntry, t Thread, ev Event) error
	// AddEvent stores one audit record.
	AddEvent(ctx context.Context, jobID string, ev Event) error
}

// RequestTaken says that the request id belongs to a job already.
type RequestTaken struct{ Entry RequestEntry }

func (e *RequestTaken) Error() string { return "job: request id taken by " + e.Entry.JobID }

// ThreadMoved says that the thread changed since it was read.
type ThreadMoved struct{ Now Thread }

func (e *ThreadMoved) Error() string { return "job: thread changed" }

// Enqueuer puts a job's id on the jobs queue.
type Enqueuer interface {
	Enqueue(ctx context.Context, jobID string, delay time.Duration) error
}

// Launcher accepts submissions (core §1.1). It is safe for concurrent use.
type Launcher struct {
	Store  LaunchStore
	Queue  Enqueuer
	Clock  clock.Clock
	Logger *slog.Logger
	NewID  func() string // UUID v4
}

// Caller is who presents a submission.
type Caller struct {
	Admin     bool   // the server token was presented
	TokenHash string // hash of any other token, "" for none
}

// Accepted is the answer to a submission.
type Accepted struct {
	JobID           string  `json:"job_id"`
	Status          Status  `json:"status"`
	RequestID       string  `json:"request_id"`
	Route           *string `json:"route,omitempty"`
	Target          *string `json:"target,omitempty"`
	SessionID       *string `json:"session_id,omitempty"`
	Continue        *bool   `json:"continue,omitempty"`
	PayloadMismatch bool    `json:"payload_mismatch,omitempty"` // D3
}

// threadAttempts bounds how often a launch decides again because its thread moved.
const threadAttempts = 24

// Launch checks a submission in the contract's order and creates its job, or returns the job that its request id already
// has. bodyErr is why body could not be read; it is reported only to a caller that may be told.
//
// It takes three trips for new work: one read, one step that charges the limit beside reading target, thread and budgets, and the
// transaction; two more when the hub has to choose the route. Dying before the transaction leaves at most a spent permit; dying
// after it leaves a job whose message the sweeper sends.
//
// A request id that has a job is not routed again: with `route: "auto"` it gets that job whatever is configured now (I9).
func (l *Launcher) Launch(ctx context.Context, caller Caller, body canonical.Value, bodyErr error) (Accepted, error) {
	view, err := l.Store.ReadLaunch(ctx, launchKeys(caller, body))
	if err != nil {
		return Accepted{}, err
	}
	client, err := identify(caller, view.Token)
	if err != nil {
		return Accepted{}, err
	}
	if view.Paused {
		return Accepted{}, Paused()
	}
	if bodyErr != nil {
		return Accepted{}, bodyErr
	}
	s, err := parseSubmission(body, client)
	if err != nil {
		return Accepted{}, err
	}
	if s.Route == routeAuto {
		return l.launchAuto(ctx, client, s, view)
	}
	if err := checkRoute(s, view.Route); err != nil {
		return Accepted{}, err
	}
	if err := checkAudience(view.Route, s.Principal); err != nil {
		return Accepted{}, err
	}
	if view.Request != nil {
		return l.replay(ctx, client, s, *view.Request, view.Route)
	}
	return l.create(ctx, client, s, view)
}

// Paused is the answer while the kill switch is on: no `error` member (core §0.1).
func Paused() error {
	return apierr.New(apierr.Unavailable, "paused").With("error", nil).With("status", "paused")
}

func launchKeys(caller Caller, body canonical.Value) LaunchKeys {
	k := LaunchKeys{TokenHash: caller.TokenHash}
	if body.Kind() != canonical.Object {
		return k
	}
	if v, ok := body.Get("route"); ok && v.Kind() == canonical.String && len(v.Text()) <= routeKeyMax && v.Text() != routeAuto {
		k.Route = v.Text()
	}
	if v, ok := body.Get("request_id"); ok && v.Kind() == canonical.String && len(v.Text()) <= 4*requestIDMax {
		k.RequestID = v.Text()
	}
	return k
}

// identify returns the client behind the token; nil for an administrator (core §0.2).
func identify(caller Caller, t *registry.Token) (*registry.Client, error) {
	if caller.Admin {
		return nil, nil
	}
	if t == nil || !t.Client.Enabled {
		return nil, apierr.New(apierr.Unauthorized, "unauthorized")
	}
	return &t.Client, nil
}

func checkRoute(s Submission, r *registry.Route) error {
	switch {
	case s.Route == "":
		return apierr.New(apierr.Invalid, "route is required")
	case r == nil:
		return apierr.Newf(apierr.Invalid, "unknown route: %s", textlimit.Cut(s.Route, routeKeyMax))
	case !r.Enabled:
		return apierr.Newf(apierr.Invalid, "route is disabled: %s", s.Route)
	}
	return nil
}

func checkTarget(project string, r *registry.Route, t *registry.Target) error {
	switch {
	case t == nil:
		return apierr.Newf(apierr.Invalid, "route %s has the unknown target %s", r.RouteKey, r.Target)
	case !t.Enabled:
		return apierr.Newf(apierr.Invalid, "target is disabled: %s", t.Name)
	case t.NeedsProject && project == "" && r.Project == "":
		return apierr.Newf(apierr.Invalid, "target %s needs a project", t.Name)
	}
	return nil
}

// replay answers for a request id that has a job (core §1.2), after the checks that new work would have to pass too. The
// payload is not compared, except to say that it differs. r is the route that the caller named, nil when the hub was to choose.
func (l *Launcher) replay(ctx context.Context, client *registry.Client, s Submission, e RequestEntry, r *registry.Route) (Accepted, error) {
	name := ""
	if r != nil {
		name = r.Target
	}
	status, target, err := l.Store.ReadReplay(ctx, e.JobID, name)
	if err != nil {
		return Accepted{}, err
	}
	if r != nil {
		if err := checkTarget(s.Project, r, target); err != nil {
			return Accepted{}, err
		}
	}
	if client != nil && e.Owner != client.AppID {
		return Accepted{}, apierr.New(apierr.Conflict, "request_id is used by another client; use ids with a prefix of your own")
	}
	a := Accepted{JobID: e.JobID, Status: status, RequestID: e.RequestID, PayloadMismatch: e.Fingerprint != s.Fingerprint}
	if a.PayloadMismatch {
		ev := Event{
			ID: "mismatch-" + s.Fingerprint[:16], At: l.Clock.Now(), Name: "run_request_id_payload_mismatch",
			Stage: StageLaunch, Severity: Warning, Title: "Request id repeated with another payload",
		}
		if err := l.Store.AddEvent(ctx, e.JobID, ev); err != nil {
			l.Logger.WarnContext(ctx, "audit record lost", "event", ev.Name, "job_id", e.JobID, "error", err)
		}
	}
	return a, nil
}

func (l *Launcher) create(ctx context.Context, client *registry.Client, s Submission, view LaunchView) (Accepted, error) {
	now := l.Clock.Now()
	j, sess, err := l.draft(s, view.Route, now)
	if err != nil {
		return Accepted{}, err
	}
	a, err := l.admit(ctx, client, view, j, now)
	if apierr.CodeOf(err) == apierr.RateLimited {
		// A twin may have taken the last permit and created the job meanwhile: that is no new work.
		again, readErr := l.Store.ReadLaunch(ctx, LaunchKeys{RequestID: s.RequestID})
		if readErr == nil && again.Request != nil {
			return l.replay(ctx, client, s, *again.Request, named(s, view.Route))
		}
	}
	if err != nil {
		return Accepted{}, err
	}
	if err := l.place(ctx, s, j, sess, a, now); err != nil {
		l.giveBack(ctx, a.permit)
		var taken *RequestTaken
		if errors.As(err, &taken) {
			return l.replay(ctx, client, s, taken.Entry, named(s, view.Route))
		}
		return Accepted{}, err
	}
	if j.Head && j.Runnable() {
		if err := l.Queue.Enqueue(ctx, j.ID, 0); err != nil {
			l.Logger.WarnContext(ctx, "job not queued, the sweeper will", "job_id", j.ID, "error", err)
		}
	}
	return Accepted{
		JobID: j.ID, Status: j.Status, RequestID: j.RequestID, Route: &j.Snapshot.RouteKey, Target: &j.Snapshot.Target,
		SessionID: &j.SessionID, Continue: &j.Continue,
	}, nil
}

// admission is what a launch found out about the work that it lets in.
type admission struct {
	permit   limit.Permit
	target   *registry.Target
	thread   Thread
	rejected string // why the budgets refuse the job, "" when they do not
}

// admit charges the client's limit while it reads target, thread and budgets: all in the time of one trip. When limit or target
// refuses, the permit goes back.
func (l *Launcher) admit(ctx context.Context, client *registry.Client, view LaunchView, j *Job, now time.Time) (admission, error) {
	var a admission
	decision := ratelimit.Decision{Allowed: true}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if client != nil {
			a.permit, decision, err = limit.Take(gctx, l.Store, view.Limit, limit.PerMinute(client.RateLimitPerMin), now)
		}
		return err
	})
	g.Go(func() (err error) {
		a.target, a.thread, err = l.Store.ReadThread(gctx, view.Route.Target, j.ThreadKey)
		return err
	})
	g.Go(func() (err error) {
		a.rejected, err = l.overBudget(gctx, view.Route, client, now)
		return err
	})
	err := g.Wait()
	if err == nil {
		err = checkTarget(j.Project, view.Route, a.target)
	}
	if err == nil && !decision.Allowed {
		err = apierr.Newf(apierr.RateLimited, "more than %d requests in a minute; retry later with the same request_id", client.RateLimitPerMin).
			With("retry_after_ms", decision.RetryAfter.Milliseconds())
	}
	if err != nil {
		l.giveBack(ctx, a.permit)
		return admission{}, err
	}
	return a, nil
}

func (l *Launcher) giveBack(ctx context.Context, p limit.Permit) {
	if err := limit.GiveBack(ctx, l.Store, p); err != nil {
		l.Logger.WarnContext(ctx, "permit stays spent", "error", err)
	}
}

// draft is the job before its thread was read.
func (l *Launcher) draft(s Submission, r *registry.Route, now time.Time) (*Job, session, error) {
	sess, err := resolveSession(r, s.RequestID, s.Metadata)
	if err != nil {
		return nil, sess, err
	}
	metadata := s.Metadata.AppendCompact(nil)
	if s.Principal.Known() {
		if metadata, err = withPrincipal(s.Metadata, s.Principal); err != nil {
			return nil, sess, fmt.Errorf("job: principal: %w", err)
		}
	}
	if len(metadata) > metadataMax {
		return nil, sess, apierr.Newf(apierr.Invalid, "metadata is larger than %d bytes in its stored form", metadataMax)
	}
	j := &Job{
		ID: l.NewID(), RequestID: s.RequestID, Status: Queued, Owner: s.Owner, Source: s.Source,
		Profile: first(s.Profile, r.Profile), Project: first(s.Project, r.Project),
		CallbackURL: first(s.CallbackURL, r.DefaultCallbackURL), Input: s.Input, Metadata: metadata,
		ThreadKey: threadKey(r.RouteKey, s.Owner, sess), CreatedAt: now, UpdatedAt: now, QueuedAt: now,
		Snapshot: Snapshot{
			RouteKey: r.RouteKey, RouteName: r.Name, Target: r.Target, TargetConfig: r.TargetConfig, Retry: r.Retry,
			Delivery: r.Delivery,
		},
	}
	j.ThreadID = threadID(j.ThreadKey)
	return j, sess, nil
}

// place gives the job its session and its place in the thread, and stores it. A thread that moved meanwhile is decided
// again from what it is now.
func (l *Launcher) place(ctx context.Context, s Submission, j *Job, sess session, a admission, now time.Time) error {
	j.Snapshot.TargetKind, j.Snapshot.TargetTimeoutMS = a.target.Kind, a.target.TimeoutMS
	t := a.thread
	entry := RequestEntry{RequestID: j.RequestID, JobID: j.ID, Owner: j.Owner, Fingerprint: s.Fingerprint}
	for range threadAttempts {
		next := l.join(j, sess, t, a.rejected)
		err := l.Store.CreateJob(ctx, j, entry, next, received(j, s.Chosen, now))
		var moved *ThreadMoved
		if !errors.As(err, &moved) {
			return err
		}
		t = moved.Now
	}
	return apierr.New(apierr.Unavailable, "the thread is too busy; retry with the same request_id")
}

// join decides the job's place from the thread as it is (core §1.5); rejected is why it gets none, "" when the budgets let it in.
func (l *Launcher) join(j *Job, sess session, t Thread, rejected string) Thread {
	j.Continue = sess.resumes || (sess.remembers && t.Version > 0)
	j.SessionID = first(sess.id, t.SessionID)
	if j.SessionID == "" {
		j.SessionID = l.NewID()
	}
	t.Key = j.ThreadKey
	if sess.remembers {
		t.SessionID = j.SessionID
	}
	j.Status, j.Error, j.Head = Queued, "", false
	switch {
	case rejected != "":
		j.Status, j.Error = Rejected, rejected
	case t.InFlight() >= MaxInFlight:
		j.Status, j.Error = Rejected, ReasonThreadQuota
	case t.Head == "":
		t.Head, j.Head = j.ID, true
	default:
		t.Waiting = append(append([]string(nil), t.Waiting...), j.ID)
	}
	return t
}

// received is the audit record of a job; chosen is why the hub chose its route, nil when the caller did.
func received(j *Job, chosen *audience.Candidate, now time.Time) Event {
	ev := Event{
		ID: "received", At: now, Name: "received", Stage: StageLaunch, Severity: Info, Title: "Job accepted",
		Summary: j.Snapshot.Target + " · " + j.Profile + " · " + j.Source,
		Detail: map[string]any{
			"target": j.Snapshot.Target, "route": j.Snapshot.RouteKey, "profile": j.Profile, "source": j.Source,
			"client": j.Owner, "session": j.SessionID, "continue": j.Continue,
		},
	}
	if chosen != nil {
		ev.Detail["auto"] = map[string]any{"score": chosen.Score, "reasons": chosen.Reasons}
	}
	if j.Status == Rejected {
		ev.ID, ev.Name, ev.Severity, ev.Title = "rejected", "rejected", Warning, "Job rejected at launch"
		ev.Detail["reason"] = j.Error
	}
	return ev
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
