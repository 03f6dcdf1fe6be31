package sfn

import (
	"container/heap"
	"time"
)

// agenda is a heap of executions by the moment at which each is to be looked at, and at the same moment by their starts.
type agenda []*execution

var _ heap.Interface = (*agenda)(nil)

func (a agenda) Len() int { return len(a) }

func (a agenda) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].seq < a[j].seq
	}
	return a[i].at.Before(a[j].at)
}

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

// Push is heap's.
func (a *agenda) Push(v any) {
	x := v.(*execution)
	x.index = len(*a)
	*a = append(*a, x)
}

// Pop is heap's.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	x.index = -1
	return x
}

// place puts x where its progress says, or takes it out.
func (a *agenda) place(x *execution) {
	at, ok := x.moment()
	switch {
	case !ok && x.index >= 0:
		heap.Remove(a, x.index)
	case ok && x.index >= 0:
		x.at = at
		heap.Fix(a, x.index)
	case ok:
		x.at = at
		heap.Push(a, x)
	}
}

// moment is when x is to be looked at next. The caller holds the service's mu.
func (x *execution) moment() (time.Time, bool) {
	if x.Status != running {
		return time.Time{}, false
	}
	at := x.started.Add(maxExecution)
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	if !x.Deadline.IsZero() {
		sooner(x.Deadline)
	}
	if x.callable() && !x.queued {
		sooner(x.ReadyAt)
	}
	return at, true
}

// callable reports whether the function of the attempt is still to be invoked. The caller holds the service's mu.
func (x *execution) callable() bool {
	return x.Status == running && !x.Answered && x.running != x.Attempt
}
