package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"
)

const (
	reportEvery = 5 * time.Second
	// jump is how far the functions' clock goes ahead when nothing moves: leases end, and what is lost is looked for.
	jump = 21 * time.Minute
	// jumps is how often in a row without a job that ends.
	jumps = 12
	// warm is the part of the jobs after which the memory is measured for the first time.
	warm = 0.2
	// heapMay is what the memory may grow by beside half of what it was, in bytes: pools and caches vary.
	heapMay = 32 << 20
)

// soak runs the jobs and judges what came of them.
func soak(ctx context.Context, o options, stdout, stderr io.Writer) error {
	aws, err := startStandIns(ctx, o, stderr)
	if err != nil {
		return err
	}
	h, err := startHub(ctx, aws.endpoint)
	if err != nil {
		return err
	}
	w := newWorld(o.jobs)
	url, err := listen(ctx, w)
	if err != nil {
		return err
	}
	token, err := h.configure(ctx, url)
	if err != nil {
		return err
	}
	begun := time.Now()
	var clients sync.WaitGroup
	next := make(chan int)
	slots := make(chan struct{}, o.window)
	clients.Go(func() { // a new job for each that ended
		defer close(next)
		for n := range o.jobs {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case next <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	for range o.clients {
		clients.Go(func() {
			for n := range next {
				h.submit(ctx, w, token, url, n)
			}
		})
	}
	early, late, err := h.watch(ctx, o, w, slots, begun, stderr)
	if err != nil {
		return err
	}
	clients.Wait()
	took := time.Since(begun)
	if err := h.close(); err != nil {
		return err
	}
	faults, err := aws.close()
	if err != nil {
		return err
	}
	lost, twice, reconciliations, failed := w.verdict()
	for _, e := range w.errors {
		fmt.Fprintln(stdout, e)
	}
	fmt.Fprintf(stdout, "%d jobs in %s, %.0f a second; %d ended with an error other than a reconciliation\n", o.jobs, took.Round(time.Second),
		float64(o.jobs)/took.Seconds(), failed)
	fmt.Fprintf(stdout, "soak: jobs=%d faults=%d lost=%d twice=%d reconciliations=%d heap_mib=%.1f->%.1f\n", o.jobs, faults, lost, twice, reconciliations,
		mib(early), mib(late))
	switch {
	case lost+twice > 0:
		return errors.New("something was lost, or happened twice")
	case late > early+early/2+heapMay:
		return errors.New("the memory of the functions grows")
	}
	return nil
}

// submit sends a job until it is accepted.
func (h *hub) submit(ctx context.Context, w *world, token, url string, n int) {
	body := map[string]any{
		"request_id": fmt.Sprintf("soak-%d", n), "route": "route", "input": fmt.Sprint(n), "metadata": map[string]any{"operator": "u1"},
		"callback_url": fmt.Sprintf("%s/callback/%d", url, n),
	}
	for ctx.Err() == nil {
		status, answer := h.do(http.MethodPost, "/run", token, body)
		var v struct {
			JobID string `json:"job_id"`
		}
		if status == http.StatusAccepted && json.Unmarshal(answer, &v) == nil && v.JobID != "" {
			w.mu.Lock()
			w.jobs[n].accepted = true
			w.mu.Unlock()
			return
		}
	}
}

// watch waits until every job has ended, and measures the memory early and at the end.
func (h *hub) watch(ctx context.Context, o options, w *world, slots chan struct{}, begun time.Time, stderr io.Writer) (early, late uint64, err error) {
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	idle := time.NewTimer(o.stalled)
	defer idle.Stop()
	old := newForgetter(h.config, o.keep)
	for n, jumped := 0, 0; n < o.jobs; {
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case id := <-w.progress:
			<-slots
			if err := old.ended(ctx, id); err != nil {
				return 0, 0, err
			}
			if n++; n == max(1, int(warm*float64(o.jobs))) {
				early = heap()
			}
			jumped = 0
			idle.Reset(o.stalled)
		case <-report.C:
			fmt.Fprintf(stderr, "%5.0f s: %d of %d jobs, heap %.1f MiB\n", time.Since(begun).Seconds(), n, o.jobs, mib(heap()))
		case <-idle.C:
			if jumped++; jumped > jumps {
				return early, heap(), nil // what has not ended is lost
			}
			fmt.Fprintf(stderr, "%5.0f s: nothing moves, the clock goes ahead by %s\n", time.Since(begun).Seconds(), jump)
			h.clock.by.Add(int64(jump))
			idle.Reset(o.stalled)
		}
	}
	return early, heap(), nil
}

// heap is what the process holds, garbage aside.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
