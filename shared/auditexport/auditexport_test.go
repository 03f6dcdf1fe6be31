package auditexport_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/auditchain"
	"bailing/shared/auditexport"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/registry"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ledger is a store in memory.
type ledger struct {
	records   map[string][]auditexport.Record // by kind and name
	jobs      []job.Cursor
	providers []string
	notes     []registry.Change
	asked     []auditexport.Partition
	trip      int    // records in one trip; 0 = 100
	before    func() // each read
	err       error
}

func (l *ledger) AuditRecords(_ context.Context, p auditexport.Partition, after string, room int) ([]auditexport.Record, bool, error) {
	if l.before != nil {
		l.before()
	}
	l.asked = append(l.asked, p)
	all := l.records[p.Kind+" "+p.Name]
	all = all[slices.IndexFunc(append(slices.Clone(all), auditexport.Record{Key: "~"}), func(r auditexport.Record) bool { return r.Key > after }):]
	size := 0
	for i, r := range all {
		if i > 0 && size >= room || i == cmp.Or(l.trip, 100) {
			return all[:i], true, l.err
		}
		size += len(r.Doc)
	}
	return all, false, l.err
}

func (l *ledger) JobsLaunched(_ context.Context, since, until time.Time, after job.Cursor, n int) ([]job.Cursor, error) {
	var out []job.Cursor
	for _, c := range l.jobs {
		if c > after && string(c) >= fmt.Sprintf("%015d", since.UnixMilli()) && string(c) < fmt.Sprintf("%015d", until.UnixMilli()) && len(out) < n {
			out = append(out, c)
		}
	}
	return out, l.err
}

func (l *ledger) ProvidersSince(context.Context, time.Time) ([]string, error) {
	return slices.Clone(l.providers), l.err
}

func (l *ledger) ReadBrief(_ context.Context, id string) (*job.Brief, error) {
	if _, known := l.records["job "+id]; !known {
		return nil, l.err
	}
	return &job.Brief{ID: id}, l.err
}

func (l *ledger) Note(_ context.Context, c registry.Change) error {
	l.notes = append(l.notes, c)
	return l.err
}

func jobID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// add plants n records of a partition, each with a detail of size bytes.
func (l *ledger) add(partition string, n, size int) {
	for i := range n {
		doc := fmt.Sprintf(`{"job_id":"-","event":"e","summary":"%s %d","detail":{"text":%q,"token":"t"}}`, partition, i, strings.Repeat("x", size))
		l.records[partition] = append(l.records[partition], auditexport.Record{Key: fmt.Sprintf("%03d", i), Doc: []byte(doc)})
	}
}

func aLedger(jobs, each, size int) *ledger {
	l := &ledger{records: map[string][]auditexport.Record{}, providers: []string{"shop", "crm", "shop", "No Name"}}
	l.add("config ", 3, size)
	l.add("provider crm", 2, size)
	l.add("provider shop", 1, size)
	for i := range jobs {
		l.add("job "+jobID(i), each, size)
		l.jobs = append(l.jobs, job.Cursor(fmt.Sprintf("%015d.%s", now.Add(time.Duration(i-1000)*time.Second).UnixMilli(), jobID(i))))
	}
	return l
}

func exporter(l *ledger) *auditexport.Exporter {
	return &auditexport.Exporter{Store: l, Clock: clock.NewManual(now)}
}

// whole joins the pages of an export and verifies them.
func whole(t *testing.T, e *auditexport.Exporter, q auditexport.Query) (summaries []string, r auditchain.Result, pages int, text string) {
	t.Helper()
	page, err := e.Begin(t.Context(), q, registry.Change{By: "ada", Method: "GET", Path: "audit-export"})
	lines := page.Lines
	for pages = 1; err == nil && page.Next != ""; pages++ {
		if page, err = e.Continue(t.Context(), page.Next); err == nil {
			lines = append(lines, page.Lines...)
		}
		if len(page.Lines) > 3<<20 {
			t.Errorf("page %d has %d bytes", pages, len(page.Lines))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err = auditchain.Verify(bytes.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var l struct {
			Record *struct{ Summary string } `json:"record"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Record != nil {
			summaries = append(summaries, l.Record.Summary)
		}
	}
	return summaries, r, pages, string(lines)
}

func TestARangeHoldsTheConfigurationTheProvidersAndTheJobs(t *testing.T) {
	t.Parallel()
	l := aLedger(2, 2, 1)
	got, r, pages, text := whole(t, exporter(l), auditexport.Query{Since: now.Add(-time.Hour), By: "ada"})
	want := []string{"config  0", "config  1", "config  2", "provider crm 0", "provider crm 1", "provider shop 0"}
	for i := range 2 {
		want = append(want, "job "+jobID(i)+" 0", "job "+jobID(i)+" 1")
	}
	if !slices.Equal(got, want) || r.Count != 10 || pages != 1 {
		t.Errorf("%d pages with %d records: %q", pages, r.Count, got)
	}
	const header = `{"by":"ada","exported_at":"2026-11-30T12:00:00.000Z","kind":"bailing-audit-export",` +
		`"scope":{"since":"2026-11-30T11:00:00.000Z","until":"2026-11-30T11:59:00.000Z"},"version":1}`
	if string(r.Header.Canonical()) != header {
		t.Errorf("header %s", r.Header.Canonical())
	}
	if strings.Contains(text, `"token":"t"`) || !strings.Contains(text, "[REDACTED_SECRET]") {
		t.Errorf("a secret: %s", text)
	}
	if want := []registry.Change{{Event: "audit_exported", By: "ada", Method: "GET", Path: "audit-export", At: now}}; !slices.Equal(l.notes, want) {
		t.Errorf("noted %v", l.notes)
	}
}

func TestOneJobHoldsItsRecordsAlone(t *testing.T) {
	t.Parallel()
	l := aLedger(3, 2, 1)
	got, r, _, _ := whole(t, exporter(l), auditexport.Query{JobID: jobID(1)})
	if !slices.Equal(got, []string{"job " + jobID(1) + " 0", "job " + jobID(1) + " 1"}) {
		t.Errorf("%q", got)
	}
	if scope, _ := r.Header.Get("scope"); string(scope.Canonical()) != `{"job_id":"`+jobID(1)+`"}` {
		t.Errorf("scope %s", scope.Canonical())
	}
}

// However pages are cut, within a partition too, they make the same records.
func TestPagesAreJoinedToOneChain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ jobs, each, size, trip, pages int }{
		{40, 5, 100, 2, 1},
		{8, 8, 60 << 10, 0, 3},   // pages end between jobs and within them
		{1, 120, 20 << 10, 7, 2}, // a job of more than a page
		{2, 1, 600 << 10, 0, 3},  // records of almost half a page
		{250, 1, 1, 0, 1},        // more jobs than one look-up
		{1, 1, 767 << 10, 0, 3},  // records of almost the largest size
	} {
		l := aLedger(tc.jobs, tc.each, tc.size)
		l.trip = tc.trip
		got, _, pages, _ := whole(t, exporter(l), auditexport.Query{})
		if len(got) != 6+tc.jobs*tc.each || pages < tc.pages {
			t.Errorf("%v: %d records on %d pages", tc, len(got), pages)
		}
		slices.Sort(got)
		if n := len(slices.Compact(got)); n != 6+tc.jobs*tc.each {
			t.Errorf("%v: %d different records", tc, n)
		}
	}
}

// The time of a page is bounded even when nothing is found, and every page comes on.
func TestAPageEndsInTime(t *testing.T) {
	t.Parallel()
	l := aLedger(5, 1, 1)
	c := clock.NewManual(now)
	l.before = func() { c.Advance(13 * time.Second) }
	e := &auditexport.Exporter{Store: l, Clock: c}
	got, _, pages, _ := whole(t, e, auditexport.Query{})
	if len(got) != 11 || pages < 8 {
		t.Errorf("%d records on %d pages", len(got), pages)
	}
}

func TestARecordTooLongIsShownWithoutItsDetail(t *testing.T) {
	t.Parallel()
	l := aLedger(0, 0, 1)
	l.add("job "+jobID(0), 1, 768<<10)
	got, _, _, text := whole(t, exporter(l), auditexport.Query{JobID: jobID(0)})
	if len(got) != 1 || !strings.Contains(text, `"detail":{"omitted_bytes":786`) {
		t.Errorf("%d records in %d bytes", len(got), len(text))
	}
}

// Numbers grow in canonical form. A record that only then is too long for a line must not end all exports before it.
func TestARecordThatGrowsTooLongIsShownWithoutItsDetail(t *testing.T) {
	t.Parallel()
	l := &ledger{records: map[string][]auditexport.Record{"job " + jobID(1): {
		{Key: "000", Doc: []byte(`{"event":"e","summary":"grows","detail":{"n":[1e20` + strings.Repeat(",1e20", 100_000) + `]}}`)},
		{Key: "001", Doc: []byte(`{"event":"e","summary":"next","detail":{}}`)},
	}}}
	got, _, _, text := whole(t, exporter(l), auditexport.Query{JobID: jobID(1)})
	if !slices.Equal(got, []string{"grows", "next"}) || !strings.Contains(text, `"detail":{"omitted_bytes":500012}`) {
		t.Errorf("%q, %d bytes", got, len(text))
	}
}

func TestRangesAreCheckedAndSettled(t *testing.T) {
	t.Parallel()
	settled := now.Add(-auditexport.Settled)
	for _, tc := range []struct {
		name  string
		query auditexport.Query
		until time.Time // zero = refused
	}{
		{"everything", auditexport.Query{}, settled},
		{"the last millisecond", auditexport.Query{Since: settled.Add(-time.Millisecond)}, settled},
		{"nothing", auditexport.Query{Since: settled}, time.Time{}},
		{"the wrong way round", auditexport.Query{Since: now.Add(-time.Hour), Until: now.Add(-2 * time.Hour)}, time.Time{}},
		{"an end that is not settled", auditexport.Query{Until: now}, settled},
		{"an end in the future", auditexport.Query{Until: now.Add(time.Hour)}, settled},
		{"an end in the past", auditexport.Query{Until: now.Add(-time.Hour)}, now.Add(-time.Hour)},
		{"a beginning before time", auditexport.Query{Since: time.UnixMilli(-5)}, settled},
		{"a job and a range", auditexport.Query{JobID: jobID(0), Since: now.Add(-time.Hour)}, time.Time{}},
		{"no job's id", auditexport.Query{JobID: "x"}, time.Time{}},
	} {
		l := aLedger(1, 1, 1)
		_, err := exporter(l).Begin(t.Context(), tc.query, registry.Change{})
		if tc.until.IsZero() {
			if !errors.Is(err, auditexport.ErrQuery) || len(l.notes) > 0 {
				t.Errorf("%s: %v, noted %v", tc.name, err, l.notes)
			}
			continue
		}
		if err != nil || !l.asked[0].Until.Equal(tc.until) {
			t.Errorf("%s: until %v, %v", tc.name, l.asked, err)
		}
	}
}

func TestNothingIsReadWithoutARecordOfIt(t *testing.T) {
	t.Parallel()
	l := aLedger(1, 1, 1)
	if _, err := exporter(l).Begin(t.Context(), auditexport.Query{JobID: jobID(7)}, registry.Change{}); !errors.Is(err, auditexport.ErrNoJob) {
		t.Error(err)
	}
	l.err = errors.New("down")
	if _, err := exporter(l).Begin(t.Context(), auditexport.Query{}, registry.Change{}); !errors.Is(err, l.err) || len(l.asked) > 0 {
		t.Errorf("%v, read %v", err, l.asked)
	}
}

func TestCursorsAreChecked(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("a", 64)
	good := `"seq":3,"prev":"` + hash + `"}`
	for _, tc := range []struct {
		name, text string
		fine       bool
	}{
		{"a range", `{"until":5,"phase":"config","open":true,` + good, true},
		{"a provider", `{"until":5,"phase":"providers","name":"crm","open":true,"after":"k",` + good, true},
		{"the first provider", `{"until":5,"phase":"providers",` + good, true},
		{"a job of a range", `{"until":5,"phase":"jobs","name":"000000000000001.` + jobID(1) + `","open":true,` + good, true},
		{"a job", `{"job":"` + jobID(1) + `","phase":"jobs","open":true,` + good, true},
		{"a job with a range", `{"job":"` + jobID(1) + `","until":5,"phase":"jobs",` + good, false},
		{"a job of another phase", `{"job":"` + jobID(1) + `","phase":"config",` + good, false},
		{"no job's id", `{"job":"1","phase":"jobs",` + good, false},
		{"no range", `{"phase":"config",` + good, false},
		{"a range backwards", `{"since":6,"until":5,"phase":"config",` + good, false},
		{"a provider without a name", `{"until":5,"phase":"providers","open":true,` + good, false},
		{"a provider that is a key", `{"until":5,"phase":"providers","name":"a#b","open":true,` + good, false},
		{"a job's place that is none", `{"until":5,"phase":"jobs","name":"x","open":true,` + good, false},
		{"the end", `{"until":5,"phase":"ended",` + good, false},
		{"no phase", `{"until":5,` + good, false},
		{"a long key", `{"until":5,"phase":"config","open":true,"after":"` + strings.Repeat("k", 257) + `",` + good, false},
		{"the header's place", `{"until":5,"phase":"config","seq":0,"prev":"` + hash + `"}`, false},
		{"no hash", `{"until":5,"phase":"config","seq":1,"prev":"a"}`, false},
		{"another member", `{"until":5,"x":1,"phase":"config",` + good, false},
		{"two values", `{"until":5,"phase":"config",` + good + `{}`, false},
	} {
		_, err := exporter(aLedger(1, 1, 1)).Continue(t.Context(), auditexport.Cursor(base64.RawURLEncoding.EncodeToString([]byte(tc.text))))
		if fine := err == nil; fine != tc.fine || !fine && !errors.Is(err, auditexport.ErrQuery) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for _, text := range []string{"", "?", "e30=", strings.Repeat("a", 2049)} {
		if _, err := exporter(aLedger(1, 1, 1)).Continue(t.Context(), auditexport.Cursor(text)); !errors.Is(err, auditexport.ErrQuery) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	l := aLedger(2, 2, 1)
	l.trip = 1
	f.Add(`{"until":5,"phase":"config","open":true,"seq":3,"prev":"` + strings.Repeat("a", 64) + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		e := exporter(l)
		page, err := e.Continue(t.Context(), auditexport.Cursor(base64.RawURLEncoding.EncodeToString([]byte(text))))
		if err != nil {
			if !errors.Is(err, auditexport.ErrQuery) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if page.Next != "" {
			t.Errorf("%q: a small export has a second page", text)
		}
	})
}
