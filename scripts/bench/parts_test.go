package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/outbound"
)

func TestNoCallsAndNoCallbacksStartNothing(t *testing.T) {
	t.Parallel()
	if rows, err := partRows(t.Context(), options{}, nil); len(rows) > 0 || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
}

// answering is a tap that has seen a request to a server that answers it with status, and how often that came.
func answering(t *testing.T, status int) (*tap, *atomic.Int32) {
	var got atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Bailing-Signature") == "s" {
			got.Add(1)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	seen := &tap{}
	seen.last.Store(&outbound.Request{Method: http.MethodGet, URL: s.URL, Header: http.Header{"X-Bailing-Signature": {"s"}}})
	return seen, &got
}

func TestEveryCallIsMadeOnceBetweenItsBaselines(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, turns - 1, turns, 3*turns + 1} {
		seen, got := answering(t, http.StatusOK)
		var mu sync.Mutex
		var made []int
		value, baseline, err := seen.compare(t.Context(), options{duration: time.Millisecond}, 2, n, func(_ context.Context, i int) error {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, i)
			return nil
		})
		slices.Sort(made)
		if err != nil || value <= 0 || baseline <= 0 || len(made) != n || made[0] != 0 || made[n-1] != n-1 {
			t.Errorf("%d calls: made %v, %f beside %f, %v", n, made, value, baseline, err)
		}
		if int(got.Load()) < min(n, turns) {
			t.Errorf("%d calls: the baseline sent %d signed requests", n, got.Load())
		}
	}
}

func TestARefusalMakesTheNumbersWorthless(t *testing.T) {
	t.Parallel()
	seen, _ := answering(t, http.StatusUnauthorized)
	fine := func(context.Context, int) error { return nil }
	if _, _, err := seen.compare(t.Context(), options{duration: time.Millisecond}, 1, 1, fine); err == nil {
		t.Error("the baseline was refused, and there is a number")
	}
	seen, _ = answering(t, http.StatusOK)
	broken := errors.New("refused")
	_, _, err := seen.compare(t.Context(), options{duration: time.Millisecond}, 1, 1, func(context.Context, int) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
}
