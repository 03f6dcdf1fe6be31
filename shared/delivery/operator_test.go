package delivery_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"bailing/shared/delivery"
	"bailing/shared/job"
)

func (w *world) letters(resolved bool) []*delivery.Row {
	w.t.Helper()
	rows, err := w.service.Letters(w.t.Context(), resolved, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

// D44: one attempt at once, and its result.
func TestResend(t *testing.T) {
	t.Parallel()
	w := setup(t)
	if err := w.service.Resend(t.Context(), w.key, "token"); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("a pending row: %v", err)
	}
	w.letter()
	var refused *delivery.Refused
	w.answer(http.StatusInternalServerError, "")
	if err := w.service.Resend(t.Context(), w.key, "token"); !errors.As(err, &refused) || refused.Reason != "status 500" {
		t.Errorf("%v", err)
	}
	if rows := w.letters(false); len(rows) != 1 || rows[0].Reason != "status 500" || rows[0].State != delivery.Dead {
		t.Errorf("%+v", rows)
	}
	w.answer(http.StatusOK, "")
	if err := w.service.Resend(t.Context(), w.key, "token"); err != nil {
		t.Fatal(err)
	}
	sent := w.receiver.Sent()
	w.verify(sent[2], w.token)
	if string(sent[2].Body) != string(sent[0].Body) {
		t.Error("other bytes")
	}
	if err := w.service.Resend(t.Context(), w.key, "token"); !errors.Is(err, delivery.ErrResolved) || len(w.receiver.Sent()) != 3 {
		t.Errorf("resolved: %v", err)
	}
	if open, all := w.letters(false), w.letters(true); len(open) != 0 || len(all) != 1 || all[0].ResolvedAt.IsZero() {
		t.Errorf("open %v, all %v", open, all)
	}
	if n, m := len(w.Events(w.key.JobID, "dlq_resend_failed")), len(w.Events(w.key.JobID, "dlq_resend_ok")); n != 1 || m != 1 {
		t.Errorf("%d failed and %d good records", n, m)
	}
	absent := job.OutboxKey{JobID: w.key.JobID, Terminal: 2, Target: job.ToCallback}
	if err := w.service.Resend(t.Context(), absent, "token"); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := setup(t)
	if err := w.service.Resolve(t.Context(), w.key, "token"); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("a pending row: %v", err)
	}
	w.letter()
	for range 2 {
		if err := w.service.Resolve(t.Context(), w.key, "token"); err != nil {
			t.Error(err)
		}
	}
	if err := w.service.Resend(t.Context(), w.key, "token"); !errors.Is(err, delivery.ErrResolved) || len(w.receiver.Sent()) != 1 {
		t.Errorf("%v", err)
	}
	if n := len(w.Events(w.key.JobID, "dlq_resolved")); n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestReplayStartsOver(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.letter()
	other := w.end(w.token, "second")
	if n, err := w.service.Replay(t.Context(), []job.OutboxKey{w.key, other}, "token"); err != nil || n.Queued != 1 || n.More {
		t.Fatalf("%+v, %v; only one is a dead letter", n, err)
	}
	if m := w.takeOne(); m.Key != w.key {
		t.Errorf("message %+v", m)
	}
	if err := w.service.Resend(t.Context(), w.key, "token"); !errors.Is(err, delivery.ErrPending) {
		t.Errorf("under way: %v", err)
	}
	w.answer(http.StatusServiceUnavailable, "")
	w.deliver(w.key, delivery.OutcomeRetry)
	if row := w.row(w.key); row.Attempts != 1 || row.NextAt.Sub(w.Clock.Now()) != 2*time.Second {
		t.Errorf("row %+v", row)
	}
	w.Clock.Advance(2 * time.Second)
	w.answer(http.StatusOK, "")
	w.deliver(w.key, delivery.OutcomeDelivered)
	if rows := w.letters(true); len(rows) != 1 || rows[0].State != delivery.Delivered {
		t.Errorf("%+v", rows)
	}
}

func TestReplaySince(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.letter()
	w.Clock.Advance(time.Hour)
	since := w.Clock.Now()
	var later []job.OutboxKey
	for _, r := range []string{"a", "b", "c"} {
		w.key = w.end(w.token, r)
		w.letter()
		later = append(later, w.key)
	}
	if err := w.service.Resolve(t.Context(), later[0], "token"); err != nil {
		t.Fatal(err)
	}
	n, err := w.service.ReplaySince(t.Context(), since, "token")
	if err != nil || n.Queued != 2 || n.More || len(w.Notices.Take()) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	if rows := w.letters(false); len(rows) != 1 || rows[0].DiedAt.After(since.Add(-time.Minute)) {
		t.Errorf("left: %+v", rows)
	}
}
