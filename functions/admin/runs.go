package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/redact"
	"bailing/shared/textlimit"
)

// Runs reads jobs and what is stored about them; see package store.
type Runs interface {
	ListJobs(ctx context.Context, q job.ListQuery) (job.Page, error)
	// ReadBrief is nil for an unknown job, RequestJob "" for an unknown request id.
	ReadBrief(ctx context.Context, jobID string) (*job.Brief, error)
	RequestJob(ctx context.Context, requestID string) (jobID string, err error)
	// ReadJob fails with job.ErrNotFound for an unknown job.
	ReadJob(ctx context.Context, jobID string) (*job.Job, error)
	JobTickets(ctx context.Context, jobID string, limit int) ([]approval.Ticket, error)
	ReadLive(ctx context.Context, max int) (job.Live, error)
	ReadPaused(ctx context.Context) (bool, error)
}

// Reruns queues ended jobs again; see [job.Rerunner].
type Reruns interface {
	Rerun(ctx context.Context, jobID, by string) error
}

// defaultLimit is how much a list shows unless it is asked for more.
const defaultLimit = 50

// runItem is a job as lists show it (core §10.3; the members are those of the reference). Texts pass through the display rules
// of core §11.7.
type runItem struct {
	JobID        string     `json:"job_id"`
	RequestID    string     `json:"request_id"`
	Status       job.Status `json:"status"`
	Route        string     `json:"route"`
	Target       string     `json:"target"`
	Profile      string     `json:"profile"`
	Project      string     `json:"project"`
	Source       string     `json:"source"`
	ClientAppID  *string    `json:"client_app_id"` // null for a job of an administrator
	SessionID    string     `json:"session_id"`
	InputPreview string     `json:"input_preview"`
	VisitorUID   *string    `json:"visitor_uid"` // null: there are no visitors yet
	ThreadID     int64      `json:"thread_id"`
	Severity     *string    `json:"severity"` // null: there are no reports yet
	Summary      *string    `json:"summary"`  // null until the job ended
	CreatedAt    string     `json:"created_at"`
	UpdatedAt    string     `json:"updated_at"`
}

func itemOf(b job.Brief) runItem {
	return runItem{
		JobID: b.ID, RequestID: b.RequestID, Status: b.Status, Route: b.Route, Target: b.Target, Profile: b.Profile, Project: b.Project,
		Source: b.Source, ClientAppID: orNull(b.Owner), SessionID: b.SessionID, ThreadID: b.ThreadID,
		InputPreview: redact.Text(b.Preview), Summary: orNull(redact.Text(b.Summary)),
		CreatedAt: job.Timestamp(b.CreatedAt), UpdatedAt: job.Timestamp(b.UpdatedAt),
	}
}

// orNull is s, or null for nothing.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ListRuns serves GET /admin/api/runs: jobs by their launch, latest first. An offset counts from the latest job, so that jobs
// which arrive between two pages show some twice; the cursor of the Link header stays where it is.
func (h *Handler) ListRuns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	query, requestID, err := parseList(q)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	var page job.Page
	if requestID != "" {
		page, err = h.runOfRequest(r.Context(), requestID, query)
	} else {
		page, err = h.d.Runs.ListJobs(r.Context(), query)
	}
	items := make([]runItem, 0, len(page.Jobs))
	for _, b := range page.Jobs {
		items = append(items, itemOf(b))
	}
	if page.Next != "" {
		q.Del("offset")
		q.Set("cursor", string(page.Next))
		w.Header().Set("Link", `<?`+q.Encode()+`>; rel="next"`)
	}
	answer(w, r, items, err)
}

// runOfRequest is the list of the one job that a request id belongs to.
func (h *Handler) runOfRequest(ctx context.Context, requestID string, q job.ListQuery) (job.Page, error) {
	id, err := h.d.Runs.RequestJob(ctx, requestID)
	if err != nil || id == "" {
		return job.Page{}, err
	}
	b, err := h.d.Runs.ReadBrief(ctx, id)
	if err != nil || b == nil || !q.Match(*b) {
		return job.Page{}, err
	}
	return job.Page{Jobs: []job.Brief{*b}}, nil
}

var statuses = map[job.Status]bool{
	job.Queued: true, job.Running: true, job.Dispatched: true, job.Done: true, job.Failed: true, job.Rejected: true,
}

func parseList(q url.Values) (query job.ListQuery, requestID string, err error) {
	refuse := func(message string) (job.ListQuery, string, error) {
		return job.ListQuery{}, "", apierr.New(apierr.Invalid, message)
	}
	if query.Limit, query.Offset, err = parsePage(q, job.ListMax, job.ListOffsetMax); err != nil {
		return query, "", err
	}
	query.Status, query.Route, query.Owner = job.Status(q.Get("status")), q.Get("route"), q.Get("client_app_id")
	requestID = q.Get("request_id")
	switch {
	case query.Status != "" && !statuses[query.Status]:
		return refuse("status must be queued, running, dispatched, done, error or rejected")
	case query.Route != "" && !textlimit.RouteKey(query.Route):
		return refuse("route must be a route key")
	case query.Owner != "" && !textlimit.ResourceName(query.Owner):
		return refuse("client_app_id must be the id of a client")
	case len(requestID) > maxRequestID:
		return refuse("request_id is too long")
	case query.Offset > 0 && (query.Filtered() || requestID != ""):
		return refuse("offset counts all jobs and cannot be combined with a filter; follow the Link header instead")
	}
	if text := q.Get("cursor"); text != "" {
		if query.Offset > 0 {
			return refuse("cursor and offset exclude each other")
		}
		if query.After, err = job.ParseCursor(text); err != nil {
			return refuse("cursor must be one that the Link header gave")
		}
	}
	return query, requestID, nil
}

// maxRequestID is the longest request id that a row could have, in bytes.
const maxRequestID = 1024

// parsePage reads limit, which is cut to most, and offset, which must not be larger than mostOffset.
func parsePage(q url.Values, most, mostOffset int) (limit, offset int, err error) {
	limit = defaultLimit
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return 0, 0, apierr.New(apierr.Invalid, "limit must be a positive integer")
		}
	}
	if text := q.Get("offset"); text != "" {
		if offset, err = strconv.Atoi(text); err != nil || offset < 0 || offset > mostOffset {
			return 0, 0, apierr.Newf(apierr.Invalid, "offset must be an integer from 0 to %d", mostOffset)
		}
	}
	return min(limit, most), offset, nil
}

// jobID is the job that the path names.
func jobID(r *http.Request) (string, error) {
	id, ok := textlimit.NormalizeUUID(r.PathValue("job"))
	if !ok {
		return "", apierr.New(apierr.NotFound, "not found")
	}
	return id, nil
}

// notFound maps the store's word for an unknown job.
func notFound(err error) error {
	if errors.Is(err, job.ErrNotFound) {
		return apierr.New(apierr.NotFound, "not found")
	}
	return err
}

// GetRun serves GET /admin/api/runs/{job}.
func (h *Handler) GetRun(w http.ResponseWriter, r *http.Request) {
	id, err := jobID(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	j, err := h.d.Runs.ReadJob(r.Context(), id)
	if err != nil {
		lambdahttp.WriteError(w, r, notFound(err))
		return
	}
	view, err := runViewOf(j, runMax)
	answer(w, r, view, err)
}

// RerunRun serves POST /admin/api/runs/{job}/rerun.
func (h *Handler) RerunRun(w http.ResponseWriter, r *http.Request) {
	id, err := jobID(r)
	if err == nil {
		err = h.d.Reruns.Rerun(r.Context(), id, change(r).By)
	}
	if err != nil {
		lambdahttp.WriteError(w, r, rerunError(err))
		return
	}
	apierr.WriteJSON(w, http.StatusOK, struct {
		OK     bool       `json:"ok"`
		JobID  string     `json:"job_id"`
		Status job.Status `json:"status"`
	}{true, id, job.Queued})
}

func rerunError(err error) error {
	switch {
	case errors.Is(err, job.ErrInFlight):
		return apierr.New(apierr.Invalid, "the job is in flight; only a job that has ended can be rerun")
	case errors.Is(err, job.ErrThreadFull):
		return apierr.New(apierr.Conflict, job.ReasonThreadQuota).
			With("message", "the thread of this job has as many jobs in flight as it may have; rerun it later")
	case errors.Is(err, job.ErrRunsUsedUp):
		return apierr.Newf(apierr.Conflict, "the job has ended %d times, which is as often as it can be told", job.RunsMax)
	case errors.Is(err, job.ErrMoved):
		return apierr.New(apierr.Conflict, "the job's thread is too busy; try again")
	}
	return notFound(err)
}
