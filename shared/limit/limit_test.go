package limit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"bailing/shared/limit"
	"bailing/shared/ratelimit"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func perMinute(n int) ratelimit.Policy { return ratelimit.Policy{Count: n, Window: time.Minute} }

// memory is a Writer of one bucket.
type memory struct {
	mu     sync.Mutex
	row    limit.Row
	writes int
	fail   error
	before func(m *memory) // runs before each write, inside the lock
}

func (m *memory) WriteBucket(_ context.Context, row limit.Row) (limit.Row, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.fail != nil {
		return row, false, m.fail
	}
	if m.before != nil {
		m.before(m)
	}
	if row.Version != m.row.Version {
		return m.row, false, nil
	}
	m.row = limit.Row{Key: row.Key, Version: row.Version + 1, Bucket: row.Bucket}
	return m.row, true, nil
}

// somebodyElse makes one write of another process that takes a permit.
func somebodyElse(m *memory) {
	next, _, _ := m.row.Bucket.Take(start, perMinute(ratelimit.ExactLimit))
	m.row = limit.Row{Key: m.row.Key, Version: m.row.Version + 1, Bucket: next}
}

func (m *memory) held() int {
	for n := 1; ; n++ {
		if _, _, d := m.row.Bucket.Take(start, perMinute(n)); d.Allowed {
			return n - 1
		}
	}
}

func TestTakeChargesTheBucket(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i := range 3 {
		_, d, err := limit.Take(t.Context(), m, m.row, perMinute(2), start)
		if err != nil || d.Allowed != (i < 2) {
			t.Fatalf("call %d: %+v, %v", i+1, d, err)
		}
		if i == 2 && d.RetryAfter != time.Minute {
			t.Errorf("retry after %v, want a minute", d.RetryAfter)
		}
	}
	if m.held() != 2 || m.writes != 2 {
		t.Errorf("%d held after %d writes: a refusal charges nothing", m.held(), m.writes)
	}
}

func TestLimitOfZeroIsNone(t *testing.T) {
	t.Parallel()
	m := &memory{fail: errors.New("not to be asked")}
	p, d, err := limit.Take(t.Context(), m, m.row, ratelimit.Policy{}, start)
	if err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	if err := limit.GiveBack(t.Context(), m, p); err != nil {
		t.Errorf("give back: %v", err)
	}
}

func TestLostRaceIsDecidedAgain(t *testing.T) {
	t.Parallel()
	m := &memory{}
	seen := m.row
	somebodyElse(m)
	if _, d, err := limit.Take(t.Context(), m, seen, perMinute(2), start); err != nil || !d.Allowed || m.held() != 2 {
		t.Errorf("room for both: %+v, %v, %d held", d, err, m.held())
	}
	seen = limit.Row{}
	if _, d, err := limit.Take(t.Context(), m, seen, perMinute(2), start); err != nil || d.Allowed || m.held() != 2 {
		t.Errorf("no room: %+v, %v, %d held", d, err, m.held())
	}
}

func TestEndlessContentionIsARefusal(t *testing.T) {
	t.Parallel()
	m := &memory{before: somebodyElse}
	_, d, err := limit.Take(t.Context(), m, m.row, perMinute(ratelimit.ExactLimit), start)
	if err != nil || d.Allowed || d.RetryAfter <= 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestGiveBack(t *testing.T) {
	t.Parallel()
	m := &memory{}
	p, _, err := limit.Take(t.Context(), m, m.row, perMinute(5), start)
	if err != nil {
		t.Fatal(err)
	}
	somebodyElse(m)
	somebodyElse(m)
	if err := limit.GiveBack(t.Context(), m, p); err != nil || m.held() != 2 {
		t.Errorf("%v, %d held, want the two of the others", err, m.held())
	}
	if err := limit.GiveBack(t.Context(), m, limit.Permit{}); err != nil || m.held() != 2 {
		t.Errorf("a permit that was never taken: %v, %d held", err, m.held())
	}
}

func TestFailuresOfTheStore(t *testing.T) {
	t.Parallel()
	m := &memory{}
	p, _, err := limit.Take(t.Context(), m, m.row, perMinute(5), start)
	if err != nil {
		t.Fatal(err)
	}
	m.fail = errors.New("down")
	if _, d, err := limit.Take(t.Context(), m, m.row, perMinute(5), start); !errors.Is(err, m.fail) || d.Allowed {
		t.Errorf("take: %+v, %v", d, err)
	}
	if err := limit.GiveBack(t.Context(), m, p); !errors.Is(err, m.fail) {
		t.Errorf("give back: %v", err)
	}
	m.fail, m.before = nil, somebodyElse
	if err := limit.GiveBack(t.Context(), m, p); err == nil {
		t.Error("a permit that stays spent is not reported")
	}
}

// Two dozen callers that arrive together and fit all get through: identical submissions are answered alike.
func TestManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	const callers = 24
	m := &memory{}
	permits := make([]limit.Permit, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			p, d, err := limit.Take(t.Context(), m, limit.Row{}, perMinute(callers), start)
			if err != nil || !d.Allowed {
				t.Errorf("caller %d: %+v, %v", i, d, err)
			}
			permits[i] = p
		})
	}
	wg.Wait()
	if m.held() != callers {
		t.Errorf("%d held, want %d", m.held(), callers)
	}
	for _, p := range permits[1:] {
		wg.Go(func() {
			if err := limit.GiveBack(t.Context(), m, p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m.held() != 1 {
		t.Errorf("%d held, want 1", m.held())
	}
}
