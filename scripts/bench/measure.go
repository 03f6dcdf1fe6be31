package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// rounds is how many runs a median is taken of. Value and baseline alternate, so that a machine that slows down slows both.
const rounds = 25

// compare returns the median time of one call of value and of baseline, measured for about d together.
func compare(ctx context.Context, d time.Duration, value, baseline func()) (v, b time.Duration, err error) {
	share := d / (2 * rounds)
	nv, nb := calls(value, share), calls(baseline, share)
	var vs, bs []time.Duration
	for range rounds {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		vs, bs = append(vs, timed(value, nv)), append(bs, timed(baseline, nb))
	}
	return median(vs), median(bs), nil
}

// calls is how many calls of f take about d. It also warms f up.
func calls(f func(), d time.Duration) int {
	for n := 1; ; n *= 2 {
		took := timed(f, n) * time.Duration(n)
		if took >= d/4 || n > 1<<28 {
			return max(1, int(int64(n)*int64(d)/int64(max(took, 1))))
		}
	}
}

// timed is the time of one of n calls.
func timed(f func(), n int) time.Duration {
	start := time.Now()
	for range n {
		f()
	}
	return time.Since(start) / time.Duration(n)
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// allocated is how many bytes one call of f allocates.
func allocated(f func()) uint64 {
	const n = 10
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / n
}

// keep stops the compiler from leaving out the work that made v.
func keep[T any](v T) { runtime.KeepAlive(v) }

func compared(name, against string, v, b time.Duration) row {
	return row{name: name, value: short(v), baseline: fmt.Sprintf("%s  %s", short(b), against), ratio: float64(v) / float64(b)}
}

// short is d with three significant digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	}
}
