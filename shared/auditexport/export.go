package auditexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailing/shared/auditchain"
	"bailing/shared/canonical"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/redact"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// What belongs to one partition of the ledger.
const (
	OfConfig   = "config"
	OfProvider = "provider"
	OfJob      = "job"
)

// Partition is one partition of the ledger, or of one but a job's the part of it in a range of time.
type Partition struct {
	Kind         string
	Name         string // of the provider, or id of the job
	Since, Until time.Time
}

// Record is an audit record as it is kept.
type Record struct {
	Key string // its place within its partition
	Doc []byte // in the form of core §11.7
}

// Store reads the ledger; see package store.
type Store interface {
	AuditRecords(ctx context.Context, p Partition, after string, room int) (records []Record, more bool, err error)
	JobsLaunched(ctx context.Context, since, until time.Time, after job.Cursor, n int) ([]job.Cursor, error)
	ProvidersSince(ctx context.Context, since time.Time) ([]string, error)
	// ReadBrief is nil for an unknown job.
	ReadBrief(ctx context.Context, jobID string) (*job.Brief, error)
	Note(ctx context.Context, c registry.Change) error
}

// EventExported is the record of an export that began.
const EventExported = "audit_exported"

const (
	// pageMax ends a page, in bytes; one more line may follow. A Lambda's answer ends at 6 MB, in which every quotation mark takes two.
	pageMax = 1536 << 10
	// lineMax is the most bytes of one record; the detail of a longer one is replaced by its size.
	lineMax = 768 << 10
	// pageTime ends a page: the gateway waits 29 s, and one trip may be slow.
	pageTime = 12 * time.Second
	// jobsTrip is how many jobs are looked up at once.
	jobsTrip = 100
)

// Exporter writes exports.
type Exporter struct {
	Store Store
	Clock clock.Clock
}

// Page is a part of an export.
type Page struct {
	Lines []byte // whole lines
	Next  Cursor // "" = this was the last page, and its last line is the trailer
}

// Begin is the first page. That it was asked for is on record before it is read; who asks twice is on record twice. It fails with
// [ErrQuery] or [ErrNoJob].
func (e *Exporter) Begin(ctx context.Context, q Query, c registry.Change) (Page, error) {
	now := e.Clock.Now()
	if err := q.check(now); err != nil {
		return Page{}, err
	}
	if q.JobID != "" {
		if b, err := e.Store.ReadBrief(ctx, q.JobID); err != nil || b == nil {
			return Page{}, errors.Join(err, ErrNoJob)
		}
	}
	c.Event, c.At = EventExported, now
	if err := e.Store.Note(ctx, c); err != nil {
		return Page{}, err
	}
	header, err := canonical.FromGo(map[string]any{
		"kind": "bailing-audit-export", "version": 1, "exported_at": timestamp(now), "by": q.By, "scope": q.scope(),
	})
	if err != nil {
		return Page{}, fmt.Errorf("auditexport: header: %w", err)
	}
	chain := auditchain.New()
	lines, err := chain.AppendHeader(nil, header)
	if err != nil {
		return Page{}, err
	}
	p := place{Job: q.JobID, Phase: config}
	if q.JobID != "" {
		p.Phase, p.Open = jobs, true
	} else {
		p.Since, p.Until, p.Open = q.Since.UnixMilli(), q.Until.UnixMilli(), true
	}
	return e.page(ctx, &writer{place: &p, chain: chain, lines: lines})
}

// Continue is the page at c. Asking for it again gives the same lines as long as nothing was recorded or has expired behind it. It
// fails with [ErrQuery] for what is no cursor.
func (e *Exporter) Continue(ctx context.Context, c Cursor) (Page, error) {
	p, chain, err := c.parse()
	if err != nil {
		return Page{}, err
	}
	return e.page(ctx, &writer{place: p, chain: chain})
}

// page reads on until w is full, the time is up, or everything is read.
func (e *Exporter) page(ctx context.Context, w *writer) (Page, error) {
	deadline := e.Clock.Now().Add(pageTime)
	for steps := 0; w.place.Phase != ended; steps++ {
		// Each page comes on by a step at least, also one that has nothing to show.
		if len(w.lines) >= pageMax || steps > 0 && !e.Clock.Now().Before(deadline) {
			next, err := w.place.cursor(w.chain)
			return Page{w.lines, next}, err
		}
		if err := e.step(ctx, w); err != nil {
			return Page{}, err
		}
	}
	lines, err := w.chain.AppendTrailer(w.lines)
	return Page{Lines: lines}, err
}

// step reads on in the partition that is open, or opens the next one.
func (e *Exporter) step(ctx context.Context, w *writer) error {
	p := w.place
	if p.Open {
		return e.read(ctx, w)
	}
	since, until := time.UnixMilli(p.Since), time.UnixMilli(p.Until)
	switch {
	case p.Job != "":
		p.Phase = ended
	case p.Phase == config:
		p.Phase = providers
	case p.Phase == providers:
		if w.names == nil {
			names, err := e.Store.ProvidersSince(ctx, since)
			if err != nil {
				return err
			}
			// A deletion is on record under any name that somebody asked for.
			names = slices.DeleteFunc(names, func(name string) bool { return !textlimit.ResourceName(name) })
			slices.Sort(names)
			w.names = append(names, "") // "" is never next
		}
		next := slices.IndexFunc(w.names, func(name string) bool { return name > p.Name })
		if next < 0 {
			p.Phase, p.Name = jobs, ""
			return nil
		}
		p.open(w.names[next])
	case p.Phase == jobs:
		if len(w.jobs) == 0 {
			var err error
			if w.jobs, err = e.Store.JobsLaunched(ctx, since, until, job.Cursor(p.Name), jobsTrip); err != nil {
				return err
			}
			if len(w.jobs) == 0 {
				p.Phase = ended
				return nil
			}
		}
		p.open(string(w.jobs[0]))
		w.jobs = w.jobs[1:]
	}
	return nil
}

func (p *place) open(name string) { p.Name, p.Open, p.After = name, true, "" }

// partition is the one that is open.
func (p *place) partition() Partition {
	switch p.Phase {
	case config:
		return Partition{OfConfig, "", time.UnixMilli(p.Since), time.UnixMilli(p.Until)}
	case providers:
		return Partition{OfProvider, p.Name, time.UnixMilli(p.Since), time.UnixMilli(p.Until)}
	}
	if p.Job != "" {
		return Partition{Kind: OfJob, Name: p.Job}
	}
	_, id, _ := strings.Cut(p.Name, ".")
	return Partition{Kind: OfJob, Name: id}
}

// read writes the next records of the open partition. What does not fit any more is read again by the next page.
func (e *Exporter) read(ctx context.Context, w *writer) error {
	p := w.place
	records, more, err := e.Store.AuditRecords(ctx, p.partition(), p.After, pageMax-len(w.lines))
	if err != nil {
		return err
	}
	for _, r := range records {
		if len(w.lines) >= pageMax {
			return nil
		}
		if err := w.record(r.Doc); err != nil {
			return err
		}
		p.After = r.Key
	}
	if !more {
		p.Open, p.After = false, ""
	}
	return nil
}

// writer is a page in the making.
type writer struct {
	place *place
	chain auditchain.Chain
	lines []byte
	names []string     // of the providers, in order; nil = not read
	jobs  []job.Cursor // the next ones
}

func (w *writer) record(doc []byte) error {
	shown, err := redact.JSON(doc)
	if err != nil {
		return fmt.Errorf("auditexport: audit record: %w", err)
	}
	if len(shown) <= lineMax {
		if err := w.line(shown); !errors.Is(err, auditchain.ErrTooLong) { // numbers grow in canonical form
			return err
		}
	}
	if shown, err = withoutDetail(shown); err != nil {
		return err
	}
	return w.line(shown)
}

func (w *writer) line(record []byte) error {
	v, err := canonical.Parse(record, canonical.Limits{MaxBytes: lineMax, MaxNodes: lineMax})
	if err != nil {
		return fmt.Errorf("auditexport: audit record: %w", err)
	}
	w.lines, err = w.chain.AppendRecord(w.lines, v)
	return err
}

func withoutDetail(record []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("auditexport: audit record: %w", err)
	}
	members["detail"] = fmt.Appendf(nil, `{"omitted_bytes":%d}`, len(members["detail"]))
	return json.Marshal(members)
}

func timestamp(t time.Time) string { return job.Timestamp(t) }
