package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailing/shared/plainjson"
)

// DueTicket marks a job whose approved call is to be made (core §6.7). The mark is dropped in the transaction that dispatches the
// call, or that records why it is not made; until then the job does not end.
type DueTicket struct {
	ID        int64
	ExpiresAt time.Time
}

// Mark is the stored form.
func (d DueTicket) Mark() string { return fmt.Sprintf("%d@%d", d.ID, d.ExpiresAt.UnixMilli()) }

// ParseDue reads marks, those with the earliest deadline first. What is no mark is left out.
func ParseDue(marks []string) []DueTicket {
	var due []DueTicket
	for _, m := range marks {
		id, at, _ := strings.Cut(m, "@")
		n, err := strconv.ParseInt(id, 10, 64)
		ms, err2 := strconv.ParseInt(at, 10, 64)
		if err == nil && err2 == nil {
			due = append(due, DueTicket{ID: n, ExpiresAt: time.UnixMilli(ms).UTC()})
		}
	}
	slices.SortFunc(due, func(a, b DueTicket) int { return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID)) })
	return due
}

// Waits reports whether any approved call of the job may still be made at now.
func (j *Job) Waits(now time.Time) bool {
	return slices.ContainsFunc(j.Due, func(d DueTicket) bool { return now.Before(d.ExpiresAt) })
}

// Peer is a job of the same thread, as far as the order of the thread needs it.
type Peer struct {
	Status    Status
	CreatedAt time.Time
}

// Seat is the place that a job takes in its thread when it is queued again for an approved call.
type Seat struct {
	Head    bool
	Demoted string // the queued head that has to wait behind it; "" for none
	Thread  Thread // with the job in it
}

// SeatOf finds the place of j, which has ended, in its thread: by age, before younger jobs and behind older ones, but never before
// a head that runs. It does not count against the thread's quota. A peer that cannot be read counts as older.
func SeatOf(j *Job, t Thread, peers map[string]Peer) Seat {
	t.Uncounted = append(slices.Clone(t.Uncounted), j.ID)
	if t.Head == "" {
		t.Head = j.ID
		return Seat{Head: true, Thread: t}
	}
	younger := func(id string) bool {
		p, ok := peers[id]
		return ok && (p.CreatedAt.After(j.CreatedAt) || p.CreatedAt.Equal(j.CreatedAt) && id > j.ID)
	}
	if younger(t.Head) && peers[t.Head].Status == Queued {
		s := Seat{Head: true, Demoted: t.Head}
		t.Waiting = slices.Concat([]string{t.Head}, t.Waiting)
		t.Head = j.ID
		s.Thread = t
		return s
	}
	at := slices.IndexFunc(t.Waiting, younger)
	if at < 0 {
		at = len(t.Waiting)
	}
	t.Waiting = slices.Insert(slices.Clone(t.Waiting), at, j.ID)
	return Seat{Thread: t}
}

// WithDelivery is metadata without the member by which the submitter wanted no delivery.
func WithDelivery(metadata json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &members); err != nil {
		return nil, fmt.Errorf("job: metadata: %w", err)
	}
	if _, ok := members["no_delivery"]; !ok {
		return metadata, nil
	}
	delete(members, "no_delivery")
	return plainjson.Marshal(members)
}
