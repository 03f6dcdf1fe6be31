package limit

import (
	"context"
	"errors"
	"time"

	"bailing/shared/ratelimit"
)

// Row is a stored bucket and the version that a write must find.
type Row struct {
	Key     string
	Version int64 // 0 = not stored yet
	Bucket  ratelimit.Bucket
}

// Writer stores buckets.
type Writer interface {
	// WriteBucket stores row.Bucket if the stored version is still row.Version, and returns the row as it is stored
	// now: the new one with ok, else the one that won.
	WriteBucket(ctx context.Context, row Row) (now Row, ok bool, err error)
}

// PerMinute is the policy of a configured rate. Configuration may hold larger counts than a policy can (core §10.4, §5.6);
// passed on as they are they would be no valid policy, and refuse every call.
func PerMinute(count int) ratelimit.Policy {
	return ratelimit.Policy{Count: min(count, ratelimit.MaxCount), Window: time.Minute}
}

// Permit remembers what to give back.
type Permit struct {
	row    Row
	permit ratelimit.Permit
	taken  bool
}

// attempts bounds how often a lost race is decided again. Each lost race is a call of somebody else that got through, so
// this many of them arrive together before a caller is told to wait: that is what a limit is for.
const attempts = 64

// contended is the wait told to a caller that lost every race.
const contended = time.Second

// Take charges the bucket. A refused decision charges nothing.
func Take(ctx context.Context, w Writer, row Row, p ratelimit.Policy, now time.Time) (Permit, ratelimit.Decision, error) {
	if p.Count == 0 {
		return Permit{}, ratelimit.Decision{Allowed: true}, nil
	}
	for range attempts {
		next, permit, decision := row.Bucket.Take(now, p)
		if !decision.Allowed {
			return Permit{}, decision, nil
		}
		stored, ok, err := w.WriteBucket(ctx, Row{Key: row.Key, Version: row.Version, Bucket: next})
		if err != nil {
			return Permit{}, ratelimit.Decision{}, err
		}
		if ok {
			return Permit{row: stored, permit: permit, taken: true}, decision, nil
		}
		row = stored
	}
	return Permit{}, ratelimit.Decision{RetryAfter: contended}, nil
}

// GiveBack returns the permit. It does nothing for a permit that was never taken; a permit that cannot be given back stays
// spent, and the error says so.
func GiveBack(ctx context.Context, w Writer, p Permit) error {
	if !p.taken {
		return nil
	}
	row := p.row
	for range attempts {
		stored, ok, err := w.WriteBucket(ctx, Row{Key: row.Key, Version: row.Version, Bucket: row.Bucket.Return(p.permit)})
		if err != nil || ok {
			return err
		}
		row = stored
	}
	return errors.New("limit: the bucket is too contended to give a permit back")
}
