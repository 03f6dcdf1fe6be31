package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/registry"
)

// aList launches n jobs a second apart, the last one last; the first has the number 0.
func aList(t *testing.T, n int) *stand {
	t.Helper()
	s := open(t)
	for i := range n {
		j := jobIn(fmt.Sprint("t", i), listID(i))
		j.CreatedAt = start.Add(time.Duration(i) * time.Second)
		j.Snapshot.RouteKey = fmt.Sprint("r", i%100)
		if err := create(t.Context(), s.Store, j, job.Thread{}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func listID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// numbers are those of the listed jobs, the first as listed first.
func numbers(t *testing.T, p job.Page) string {
	t.Helper()
	var out []string
	for _, j := range p.Jobs {
		out = append(out, strings.TrimLeft(j.ID[24:], "0"))
	}
	return strings.Join(out, " ")
}

func TestListsOfJobsEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	s := aList(t, 5) // "", 1, 2, 3, 4: the number 0 has no digits left
	at := func(i int) job.Cursor {
		return job.Cursor(fmt.Sprintf("%015d.%s", start.Add(time.Duration(i)*time.Second).UnixMilli(), listID(i)))
	}
	for _, c := range []struct {
		q    job.ListQuery
		want string
		next job.Cursor
	}{
		{job.ListQuery{Limit: 4}, "4 3 2 1", at(1)},
		{job.ListQuery{Limit: 5}, "4 3 2 1 ", ""}, // exactly all of them: no next page
		{job.ListQuery{Limit: 6}, "4 3 2 1 ", ""},
		{job.ListQuery{Limit: 2, Offset: 2}, "2 1", at(1)},
		{job.ListQuery{Limit: 2, Offset: 3}, "1 ", ""},
		{job.ListQuery{Limit: 2, Offset: 5}, "", ""},
		{job.ListQuery{Limit: 2, Offset: 6}, "", ""},
		{job.ListQuery{Limit: 2, After: at(3)}, "2 1", at(1)},
		{job.ListQuery{Limit: 2, After: at(0)}, "", ""},
		{job.ListQuery{Limit: 1, Route: "r3"}, "3", at(3)},
		{job.ListQuery{Limit: 1, Route: "r3", After: at(3)}, "", ""},
		{job.ListQuery{Limit: 5, Status: job.Done}, "", ""},
	} {
		p, err := s.ListJobs(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, p); got != c.want || p.Next != c.next {
			t.Errorf("%+v: %q, next %q; want %q, next %q", c.q, got, p.Next, c.want, c.next)
		}
		if p.Next != "" {
			if _, err := job.ParseCursor(string(p.Next)); err != nil {
				t.Errorf("the cursor %q cannot be sent back", p.Next)
			}
		}
	}
}

// A filter that matches nothing looks at ListLookMax jobs and says where to go on.
func TestAFilterLooksAtABoundedNumberOfJobs(t *testing.T) {
	t.Parallel()
	s := aList(t, job.ListLookMax+1)
	q := job.ListQuery{Limit: 10, Status: job.Done}
	p, err := s.ListJobs(t.Context(), q)
	if err != nil || len(p.Jobs) != 0 || !strings.HasSuffix(string(p.Next), listID(1)) {
		t.Fatalf("%+v, %v", p, err)
	}
	q.After = p.Next
	if p, err = s.ListJobs(t.Context(), q); err != nil || len(p.Jobs) != 0 || p.Next != "" {
		t.Fatalf("%+v, %v", p, err)
	}
}

// A job from before the index enters it with its next end, and one from before briefs is listed all the same.
func TestAJobOfAnEarlierReleaseIsListedOnceItEnds(t *testing.T) {
	t.Parallel()
	s := open(t)
	aThread(s, t)
	_, err := s.backend.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(prefix + "jobs"), UpdateExpression: aws.String("REMOVE tpk, tsk, brief"),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "job#a"}, "sk": &types.AttributeValueMemberS{Value: "job"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := func() string {
		p, err := s.ListJobs(t.Context(), job.ListQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, j := range p.Jobs {
			out = append(out, j.ID+" "+j.RequestID+" "+j.Target+" "+j.Preview+" "+j.Summary)
		}
		return strings.Join(out, ", ")
	}
	if got := listed(); got != "b request-b llm in " {
		t.Errorf("before its end: %q", got)
	}
	if _, err := s.FinishJob(t.Context(), fenceA, job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"well"}`), Now: start}, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
	if got := listed(); got != "b request-b llm in , a request-a llm in well" {
		t.Errorf("after its end: %q", got)
	}
}

func TestALookAtTheQueueIsBounded(t *testing.T) {
	t.Parallel()
	s := aList(t, 5)
	for limit, truncated := range map[int]bool{4: true, 5: false, 6: false} {
		live, err := s.ReadLive(t.Context(), limit)
		if err != nil || live.Truncated != truncated || len(live.Jobs) != min(limit, 5) {
			t.Errorf("limit %d: %d jobs, truncated %v, %v", limit, len(live.Jobs), live.Truncated, err)
		}
	}
}

func TestConfigChangesComeLatestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 5 {
		c := registry.Change{At: start.Add(time.Duration(i) * time.Second), By: "token", Method: "POST", Path: fmt.Sprint(i)}
		if err := s.SetPaused(t.Context(), i%2 == 0, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limit, offset int
		want          string
	}{{2, 0, "4 3"}, {2, 3, "1 0"}, {2, 4, "0"}, {2, 5, ""}, {5, 0, "4 3 2 1 0"}, {6, 0, "4 3 2 1 0"}} {
		changes, err := s.ConfigChanges(t.Context(), c.limit, c.offset)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range changes {
			got = append(got, change.Path)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("limit %d, offset %d: %v, want %s", c.limit, c.offset, got, c.want)
		}
	}
	one, err := s.ConfigChanges(t.Context(), 1, 4)
	want := registry.Change{Event: "config_change", At: start, By: "token", Method: "POST", Path: "0"}
	if err != nil || len(one) != 1 || one[0] != want {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestProviderEventsComeLatestFirst(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, name := range []string{"first", "second", "third"} {
		ev := registry.Event{At: start.Add(time.Duration(i) * time.Second), Name: name, Summary: strings.Repeat("s", 40_000)} // larger than an item's share
		if err := s.Providers().Note(t.Context(), "shop", nil, ev); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{2: "third second", 3: "third second first", 4: "third second first"} {
		records, err := s.ProviderEvents(t.Context(), "shop", limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range records {
			var e struct{ Event string }
			if err := json.Unmarshal(r, &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Event)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if records, err := s.ProviderEvents(t.Context(), "sho", 9); err != nil || records == nil || len(records) != 0 {
		t.Errorf("another provider: %v, %v", records, err)
	}
}
