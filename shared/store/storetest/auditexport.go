package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/auditchain"
	"bailing/shared/auditexport"
	"bailing/shared/job"
	"bailing/shared/registry"
)

var exports = []promise{
	{"records of a job are exported in order, in trips of any size", exportedRecords},
	{"records of no job are exported by their time", exportedOfNoJob},
	{"jobs are found by a range of their launches, the earliest first", launchedWithin},
	{"an export holds the providers that were deleted meanwhile", exportedDeleted},
	{"an export of a job is one chain of all that its audit shows", exportedJob},
}

// partition reads a whole partition, in trips of room bytes.
func (b *bundle) partition(t *testing.T, p auditexport.Partition, room int) (docs []string, trips int) {
	t.Helper()
	after := ""
	for {
		records, more, err := b.Store.AuditRecords(t.Context(), p, after, room)
		must(t, err)
		trips++
		for _, r := range records {
			if r.Key <= after {
				t.Errorf("key %q follows %q", r.Key, after)
			}
			after = r.Key
			docs = append(docs, string(r.Doc))
		}
		if !more {
			return docs, trips
		}
		if len(records) == 0 && trips > 1000 {
			t.Fatal("there is always more, and never anything")
		}
	}
}

func exportedRecords(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	for i := range 250 {
		ev := b.event(fmt.Sprintf("%d", i))
		ev.At = b.now.Add(time.Duration(i+1) * time.Second)
		ev.Detail = map[string]any{"text": strings.Repeat("t", i)}
		if i == 100 {
			ev.Detail["text"] = strings.Repeat("t", 200<<10) // beside its item
		}
		must(t, b.Store.AddEvent(t.Context(), j.ID, ev))
	}
	all, err := b.Store.JobAudit(t.Context(), j.ID)
	must(t, err)
	want := make([]string, len(all))
	for i, doc := range all {
		want[i] = string(doc)
	}
	for _, room := range []int{1, 10_000, 4 << 20} {
		got, trips := b.partition(t, auditexport.Partition{Kind: auditexport.OfJob, Name: j.ID}, room)
		wantEqual(t, "records", got, want)
		if least := map[int]int{1: 251, 10_000: 5, 4 << 20: 3}[room]; trips < least || room > 10_000 && trips > 4 {
			t.Errorf("%d trips with %d bytes each", trips, room)
		}
	}
	got, _ := b.partition(t, auditexport.Partition{Kind: auditexport.OfJob, Name: uuid.NewString()}, 1)
	wantEqual(t, "records of another job", len(got), 0)
}

func exportedOfNoJob(t *testing.T, b *bundle) {
	name := "p-" + uuid.NewString()
	at := func(n int) time.Time { return b.now.Add(time.Duration(n) * time.Millisecond) }
	for n := range 5 {
		change := registry.Change{At: at(n), By: "ada", Method: "PUT", Path: "tool-providers/" + name}
		must(t, b.Store.Providers().Note(t.Context(), name, &change, registry.Event{
			Name: "probe", At: at(n), By: "ada", Severity: job.Info, Summary: fmt.Sprintf("note %d", n),
		}))
	}
	got, _ := b.partition(t, auditexport.Partition{Kind: auditexport.OfProvider, Name: name, Since: at(1), Until: at(4)}, 1)
	var summaries []string
	for _, doc := range got {
		var r struct{ Summary string }
		must(t, json.Unmarshal([]byte(doc), &r))
		summaries = append(summaries, r.Summary)
	}
	wantEqual(t, "notes", summaries, []string{"note 1", "note 2", "note 3"})
	var changes []string
	docs, _ := b.partition(t, auditexport.Partition{Kind: auditexport.OfConfig, Since: at(1), Until: at(4)}, 1)
	for _, doc := range docs {
		if strings.Contains(doc, name) {
			changes = append(changes, doc)
		}
	}
	wantEqual(t, "changes", len(changes), 3)
	wantEqual(t, "a change", changes[0], `{"ts":"`+job.Timestamp(at(1))+`","job_id":"-","event":"config_change","stage":"config","severity":"info",`+
		`"title":"Configuration","summary":"PUT tool-providers/`+name+`","detail":{"by":"ada","method":"PUT","path":"tool-providers/`+name+`"}}`)
	none, _ := b.partition(t, auditexport.Partition{Kind: auditexport.OfProvider, Name: name, Since: at(4), Until: at(3)}, 1)
	wantEqual(t, "notes of a range backwards", len(none), 0)
}

func launchedWithin(t *testing.T, b *bundle) {
	_, jobs := b.owned(t, 4)
	mine := map[string]bool{}
	for _, j := range jobs {
		mine[j.ID] = true
	}
	at := func(i int) time.Time { return b.now.Add(time.Duration(i) * time.Second) }
	within := func(since, until time.Time) (ids []string) {
		for after := job.Cursor(""); ; {
			page, err := b.Store.JobsLaunched(t.Context(), since, until, after, 2)
			must(t, err)
			if len(page) == 0 {
				return ids
			}
			for _, c := range page {
				if _, id, _ := strings.Cut(string(c), "."); mine[id] {
					ids = append(ids, id)
				}
				after = c
			}
		}
	}
	wantEqual(t, "jobs", within(at(1), at(3)), []string{jobs[1].ID, jobs[2].ID})
	wantEqual(t, "all jobs", within(time.UnixMilli(0), at(4)), []string{jobs[0].ID, jobs[1].ID, jobs[2].ID, jobs[3].ID})
	wantEqual(t, "no job", within(at(3).Add(time.Millisecond), at(4)), []string(nil))
}

func exportedDeleted(t *testing.T, b *bundle) {
	kept, deleted, before := "k-"+uuid.NewString(), "d-"+uuid.NewString(), "b-"+uuid.NewString()
	providers := b.Store.Providers()
	must(t, providers.Put(t.Context(), kept, registry.Versioned[registry.Provider]{Value: registry.Provider{Name: kept}}, registry.Change{At: b.now}))
	for name, at := range map[string]time.Time{deleted: b.now, before: b.now.Add(-time.Second)} {
		must(t, b.Store.Note(t.Context(), registry.Change{At: at, Method: "DELETE", Path: "tool-providers/" + name}))
	}
	if b.Settle != nil {
		b.Settle()
	}
	names, err := b.Store.ProvidersSince(t.Context(), b.now)
	must(t, err)
	for name, want := range map[string]bool{kept: true, deleted: true, before: false} {
		if got := slices.Contains(names, name); got != want {
			t.Errorf("%s is named: %v", name, got)
		}
	}
}

func exportedJob(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	for i := range 30 {
		ev := b.event(fmt.Sprintf("%d", i))
		ev.At, ev.Detail = b.now.Add(time.Second), map[string]any{"text": strings.Repeat("t", 100<<10)}
		must(t, b.Store.AddEvent(t.Context(), j.ID, ev))
	}
	e := auditexport.Exporter{Store: b.Store, Clock: b.Clock}
	page, err := e.Begin(t.Context(), auditexport.Query{JobID: j.ID, By: "ada"}, registry.Change{By: "ada"})
	must(t, err)
	lines, pages := string(page.Lines), 1
	for ; page.Next != ""; pages++ {
		page, err = e.Continue(t.Context(), page.Next)
		must(t, err)
		lines += string(page.Lines)
	}
	r, err := auditchain.Verify(strings.NewReader(lines))
	must(t, err)
	wantEqual(t, "records", r.Count, 31)
	wantEqual(t, "pages", pages, 2)
}
