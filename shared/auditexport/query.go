package auditexport

import (
	"errors"
	"time"

	"bailing/shared/textlimit"
)

// Settled is how old the end of a range is at least: until then an index may not show every job, and another machine's clock may
// still write records of the time before.
const Settled = time.Minute

// Query says what to export.
type Query struct {
	JobID string // one job; "" = a range of time
	Since time.Time
	Until time.Time // not included; zero, or one that is not [Settled], is moved to the last moment that is
	By    string    // who exports
}

// ErrQuery is what every refusal of a query or cursor wraps.
var ErrQuery = errors.New("auditexport: not a query")

// ErrNoJob says that the job of a query does not exist.
var ErrNoJob = errors.New("auditexport: no such job")

// check brings the query into its final form at the time now.
func (q *Query) check(now time.Time) error {
	if q.JobID != "" {
		if id, ok := textlimit.NormalizeUUID(q.JobID); !ok || id != q.JobID || !q.Since.IsZero() || !q.Until.IsZero() {
			return ErrQuery
		}
		return nil
	}
	if last := now.Add(-Settled); q.Until.IsZero() || q.Until.After(last) {
		q.Until = last
	}
	q.Since, q.Until = q.Since.UTC().Truncate(time.Millisecond), q.Until.UTC().Truncate(time.Millisecond)
	if q.Since.Before(time.UnixMilli(0)) {
		q.Since = time.UnixMilli(0).UTC()
	}
	if !q.Since.Before(q.Until) {
		return ErrQuery
	}
	return nil
}

// scope is the query as the header of an export tells it.
func (q *Query) scope() map[string]any {
	if q.JobID != "" {
		return map[string]any{"job_id": q.JobID}
	}
	return map[string]any{"since": timestamp(q.Since), "until": timestamp(q.Until)}
}
