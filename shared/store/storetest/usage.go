package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

var usages = []promise{
	{"what a job used counts for its route and its client", usageCounts},
	{"a job of an administrator counts for its route alone", usageOfAdministrators},
	{"an end that comes twice counts once", usageOnce},
	{"jobs that end at once count exactly", usageRace},
	{"a job that goes on counts what is new, and a rerun counts anew", usageOfRuns},
	{"an approval lets a job go on with what it has counted", usageAfterApproval},
	{"an end that does not say what was used counts the saved rounds", usageOfRounds},
	{"an end without usage counts a job and nothing else", usageOfNothing},
	{"a usage that cannot be read keeps no job from its end", usageUnreadable},
	{"a window begins with a slot of ten minutes and has no end", usageWindows},
	{"windows of several scopes are read together", usageTogether},
	{"the cost report tells days, routes and targets apart", usageReport},
	{"what is counted per day expires after the longest window, what is counted per month never", usageExpiry},
	{"a counter of a newer release is added to and not read", usageOfNewerReleases},
}

// spender is a route and a client of a test's own.
type spender struct{ route, client string }

func newSpender() spender {
	id := uuid.NewString()
	return spender{"route-" + id, "client-" + id}
}

func (s spender) ofRoute() job.UsageScope {
	return job.UsageScope{Kind: job.UsageOfRoute, Name: s.route}
}

func (s spender) ofClient() job.UsageScope {
	return job.UsageScope{Kind: job.UsageOfClient, Name: s.client}
}

// start is a running job of the spender.
func (b *bundle) start(t *testing.T, s spender, target string) job.Fence {
	t.Helper()
	j := b.draft()
	j.Owner, j.Snapshot.RouteKey, j.Snapshot.Target = s.client, s.route, target
	must(t, b.join(t.Context(), j))
	return b.claim(t, j.ID)
}

// stop ends a job at a time with a usage.
func (b *bundle) stop(t *testing.T, f job.Fence, at time.Time, usage string) {
	t.Helper()
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`), Usage: json.RawMessage(usage), Now: at}
	_, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
}

// spend is a job that ends at a time with a usage.
func (b *bundle) spend(t *testing.T, s spender, at time.Time, usage string) {
	t.Helper()
	b.stop(t, b.start(t, s, registry.TargetLLM), at, usage)
}

func (b *bundle) used(t *testing.T, scope job.UsageScope, now time.Time, hours int) string {
	t.Helper()
	w := job.UsageWindow{Scope: scope, Since: now.Add(-time.Duration(hours) * time.Hour), Now: now}
	used, err := b.Store.ReadUsage(t.Context(), []job.UsageWindow{w})
	must(t, err)
	return fmt.Sprint(used[0].Tokens, " ", used[0].CostUSD)
}

// noon is far from every edge of a window.
var noon = time.Date(2031, 3, 15, 12, 0, 0, 0, time.UTC)

func usageCounts(t *testing.T, b *bundle) {
	s, other := newSpender(), newSpender()
	wantEqual(t, "nothing", b.used(t, s.ofRoute(), noon, 24), "0 0")
	b.spend(t, s, noon, `{"tokens":30,"num_turns":2}`)
	b.spend(t, s, noon, `{"tokens":12,"cost_usd":0.1}`)
	b.spend(t, s, noon, `{"cost_usd":0.2}`)
	b.spend(t, other, noon, `{"tokens":5}`)
	for _, scope := range []job.UsageScope{s.ofRoute(), s.ofClient()} {
		wantEqual(t, "used by "+string(scope.Kind), b.used(t, scope, noon, 24), "42 0.3")
	}
	wantEqual(t, "used by another", b.used(t, other.ofClient(), noon, 24), "5 0")
}

func usageOfAdministrators(t *testing.T, b *bundle) {
	s := newSpender()
	s.client = ""
	b.spend(t, s, noon, `{"tokens":3}`)
	wantEqual(t, "used by the route", b.used(t, s.ofRoute(), noon, 1), "3 0")
	wantEqual(t, "used by nobody", b.used(t, s.ofClient(), noon, 1), "0 0")
}

func usageOnce(t *testing.T, b *bundle) {
	s := newSpender()
	f := b.start(t, s, "llm")
	b.stop(t, f, noon, `{"tokens":7}`)
	for range 2 {
		_, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Usage: json.RawMessage(`{"tokens":7}`), Now: noon}, b.event("again"))
		wantErr(t, err, job.ErrLostClaim)
	}
	wantEqual(t, "used", b.used(t, s.ofRoute(), noon, 1), "7 0")
	wantEqual(t, "report", b.cost(t, s, noon, noon), []string{"2031-03-15 llm 1 7 0"})
}

func usageRace(t *testing.T, b *bundle) {
	const jobs = 20
	s := newSpender()
	var fences []job.Fence
	for range jobs {
		fences = append(fences, b.start(t, s, "llm"))
	}
	var errs [jobs]error
	var wg sync.WaitGroup
	for i, f := range fences {
		wg.Go(func() {
			o := job.Outcome{Status: job.Done, Usage: json.RawMessage(`{"tokens":3,"cost_usd":0.1}`), Now: noon}
			_, errs[i] = b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
		})
	}
	wg.Wait()
	for _, err := range errs {
		must(t, err)
	}
	for _, scope := range []job.UsageScope{s.ofRoute(), s.ofClient()} {
		wantEqual(t, "used by "+string(scope.Kind), b.used(t, scope, noon, 720), "60 2")
	}
	wantEqual(t, "report", b.cost(t, s, noon, noon), []string{"2031-03-15 llm 20 60 2"})
}

// goOn queues an ended job again as an approval does: the run goes on, and its row shows no usage until the next end.
func (b *bundle) goOn(t *testing.T, id string) job.Fence {
	t.Helper()
	_, err := b.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(b.Prefix + topology.TableJobs), Key: rowKey("job#"+id, "job"),
		UpdateExpression:         aws.String("SET #state = :queued, head = :true REMOVE #usage"),
		ExpressionAttributeNames: map[string]string{"#state": "state", "#usage": "usage"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":queued": &types.AttributeValueMemberS{Value: string(job.Queued)}, ":true": &types.AttributeValueMemberBOOL{Value: true},
		},
	})
	must(t, err)
	return b.claim(t, id)
}

func usageOfRuns(t *testing.T, b *bundle) {
	s := newSpender()
	f := b.start(t, s, "llm")
	want := func(step, used string) {
		t.Helper()
		wantEqual(t, step, b.used(t, s.ofRoute(), noon, 1), used)
		wantEqual(t, step+", client", b.used(t, s.ofClient(), noon, 1), used)
	}
	b.stop(t, f, noon, `{"tokens":100,"cost_usd":0.5}`)
	want("first end", "100 0.5")
	b.stop(t, b.goOn(t, f.JobID), noon, `{"tokens":130,"cost_usd":0.75}`)
	want("it went on", "130 0.75")
	b.stop(t, b.goOn(t, f.JobID), noon, `{"tokens":130,"cost_usd":0.75}`)
	want("it went on and used nothing", "130 0.75")
	b.stop(t, b.goOn(t, f.JobID), noon, ``)
	want("it went on and does not say", "130 0.75")
	b.stop(t, b.goOn(t, f.JobID), noon, `{"tokens":90,"cost_usd":0.8}`)
	want("it says less of one and more of the other", "130 0.8")
	b.stop(t, b.goOn(t, f.JobID), noon, `{"tokens":131}`)
	want("it went on from the most that it said", "131 0.8")

	b.rerun(t, f.JobID, noon)
	b.stop(t, b.claim(t, f.JobID), noon, `{"tokens":100,"cost_usd":0.5}`)
	want("rerun", "231 1.3")
	b.stop(t, b.goOn(t, f.JobID), noon, `{"tokens":101,"cost_usd":0.5}`)
	want("the rerun went on", "232 1.3")
	b.rerun(t, f.JobID, noon)
	b.stop(t, b.claim(t, f.JobID), noon, `{"tokens":1}`)
	want("second rerun", "233 1.3")
	wantEqual(t, "report", b.cost(t, s, noon, noon), []string{"2031-03-15 llm 1 233 1.3"})
}

func usageAfterApproval(t *testing.T, b *bundle) {
	s := newSpender()
	s.client = "shop" // of the tickets
	before := b.used(t, s.ofClient(), noon, 1)
	f := b.start(t, s, "llm")
	ticket := b.ask(t, f, "h")
	b.stop(t, f, noon, `{"tokens":100,"cost_usd":0.5}`)
	b.approve(t, ticket)
	wantEqual(t, "usage that is shown", b.read(t, f.JobID).Usage, nil)
	f = b.claim(t, f.JobID)
	o := job.Outcome{
		Status: job.Done, Result: json.RawMessage(`{}`), Usage: json.RawMessage(`{"tokens":120,"cost_usd":0.75}`), Now: noon, DueLapsed: true,
	}
	_, err := b.Store.FinishJob(t.Context(), f, o, b.event("went on"))
	must(t, err)
	wantEqual(t, "used by the route", b.used(t, s.ofRoute(), noon, 1), "120 0.75")
	wantEqual(t, "report", b.cost(t, s, noon, noon), []string{"2031-03-15 llm 1 120 0.75"})
	if after := b.used(t, s.ofClient(), noon, 1); after == before {
		t.Errorf("the client used %s before and after", after)
	}
}

func usageOfRounds(t *testing.T, b *bundle) {
	s := newSpender()
	round := func(f job.Fence, n, tokens int) {
		t.Helper()
		must(t, b.Store.SaveRound(t.Context(), f, jobrun.Round{Number: n, Usage: model.Usage{TotalTokens: tokens}}, b.event(fmt.Sprint("round-", n))))
	}
	f := b.start(t, s, "llm")
	round(f, 1, 10)
	round(f, 2, 5)
	b.stop(t, f, noon, ``)
	wantEqual(t, "lost worker", b.used(t, s.ofRoute(), noon, 1), "15 0")
	f = b.goOn(t, f.JobID)
	round(f, 3, 1)
	b.stop(t, f, noon, `{"tokens":16}`)
	wantEqual(t, "it went on", b.used(t, s.ofRoute(), noon, 1), "16 0")

	b.rerun(t, f.JobID, noon)
	f = b.claim(t, f.JobID)
	round(f, 1, 100)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: noon}, b.event("released")))
	o := job.Outcome{Status: job.Failed, Error: job.ReasonQueueTimeout, Result: json.RawMessage(`{}`), Now: noon}
	_, err := b.Store.ExpireJob(t.Context(), f.JobID, noon, o, b.event("expired"))
	must(t, err)
	wantEqual(t, "nobody took it up again", b.used(t, s.ofRoute(), noon, 1), "116 0")
	b.rerun(t, f.JobID, noon)
	b.stop(t, b.claim(t, f.JobID), noon, ``)
	wantEqual(t, "a rerun without rounds", b.used(t, s.ofClient(), noon, 1), "116 0")
}

func usageOfNothing(t *testing.T, b *bundle) {
	s := newSpender()
	b.spend(t, s, noon, ``)
	b.spend(t, s, noon, `{"num_turns":0}`)
	b.spend(t, s, noon, `{"tokens":0,"cost_usd":0}`)
	b.spend(t, s, noon, `{"tokens":null,"cost_usd":null}`)
	wantEqual(t, "used", b.used(t, s.ofRoute(), noon, 1), "0 0")
	wantEqual(t, "report", b.cost(t, s, noon, noon), []string{"2031-03-15 llm 4 0 0"})
}

func usageUnreadable(t *testing.T, b *bundle) {
	s := newSpender()
	for _, usage := range []string{
		`[]`, `{"tokens":"3"}`, `{"tokens":-1}`, `{"tokens":1.5}`, `{"tokens":9007199254740992}`, `{"cost_usd":"1"}`, `{"cost_usd":-1}`, `{"cost_usd":1e300}`,
	} {
		b.spend(t, s, noon, usage)
	}
	wantEqual(t, "used", b.used(t, s.ofRoute(), noon, 1), "0 0")
	b.spend(t, s, noon, `{"tokens":"3","cost_usd":0.5}`)
	b.spend(t, s, noon, `{"tokens":9007199254740991,"cost_usd":"1"}`)
	wantEqual(t, "what can be read", b.used(t, s.ofRoute(), noon, 1), "9007199254740991 0.5")
}

func usageWindows(t *testing.T, b *bundle) {
	now := time.Date(2031, 3, 1, 0, 5, 0, 0, time.UTC)
	at := func(text string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05.000", text)
		must(t, err)
		return v
	}
	for _, w := range []struct {
		hours       int
		before, out []string
	}{
		// In ascending order: what is outside, and then what is inside.
		{1, []string{"2031-02-28 22:59:59.999", "2031-01-31 23:30:00.000"}, []string{"2031-02-28 23:00:00.000", "2031-02-28 23:59:59.999", "2031-03-01 00:00:00.000"}},
		{2, []string{"2031-02-28 21:59:59.999"}, []string{"2031-02-28 22:00:00.000"}},
		{24, []string{"2031-02-27 23:59:59.999", "2031-01-28 12:00:00.000"}, []string{"2031-02-28 00:00:00.000", "2031-02-28 12:00:00.000"}},
		{720, []string{"2031-01-29 23:59:59.999", "2031-01-01 00:00:00.000"}, []string{"2031-01-30 00:00:00.000", "2031-01-31 12:00:00.000", "2031-02-01 00:00:00.000"}},
		{8784, []string{"2030-02-27 23:59:59.999", "2029-06-01 00:00:00.000"}, []string{"2030-02-28 00:00:00.000", "2030-03-01 00:00:00.000", "2030-12-31 23:59:59.999"}},
	} {
		s := newSpender()
		for _, when := range w.before {
			b.spend(t, s, at(when), `{"tokens":1000}`)
		}
		wantEqual(t, fmt.Sprint(w.hours, " h, before it"), b.used(t, s.ofRoute(), now, w.hours), "0 0")
		in := append(w.out, "2031-03-01 00:05:00.000", "2031-03-01 00:20:00.000") // another clock may be ahead
		for i, when := range in {
			b.spend(t, s, at(when), `{"tokens":1}`)
			wantEqual(t, fmt.Sprint(w.hours, " h, with ", when), b.used(t, s.ofRoute(), now, w.hours), fmt.Sprint(i+1, " 0"))
		}
	}
}

func usageTogether(t *testing.T, b *bundle) {
	first, second := newSpender(), newSpender()
	b.spend(t, first, noon, `{"tokens":1}`)
	b.spend(t, second, noon.AddDate(0, -3, 0), `{"tokens":2}`)
	year := noon.Add(-8784 * time.Hour) // more items than one request may ask for
	used, err := b.Store.ReadUsage(t.Context(), []job.UsageWindow{
		{Scope: first.ofRoute(), Since: year, Now: noon}, {Scope: second.ofClient(), Since: year, Now: noon},
		{Scope: second.ofClient(), Since: noon.Add(-time.Hour), Now: noon}, {Scope: first.ofClient(), Since: year, Now: noon},
	})
	must(t, err)
	tokens := make([]int64, len(used))
	for i, u := range used {
		tokens[i] = u.Tokens
	}
	wantEqual(t, "tokens", tokens, []int64{1, 2, 0, 1})
	none, err := b.Store.ReadUsage(t.Context(), nil)
	must(t, err)
	wantEqual(t, "no windows", len(none), 0)
}

// cost is what the report shows of the spender's route.
func (b *bundle) cost(t *testing.T, s spender, from, to time.Time) []string {
	t.Helper()
	rows, err := b.Store.ReadCost(t.Context(), from, to)
	must(t, err)
	shown := []string{}
	for _, r := range rows {
		if r.Route == s.route {
			shown = append(shown, fmt.Sprint(r.Day, " ", r.Target, " ", r.Jobs, " ", r.Tokens, " ", r.CostUSD))
		}
	}
	return shown
}

func usageReport(t *testing.T, b *bundle) {
	s := newSpender()
	day := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		must(t, err)
		return v
	}
	b.stop(t, b.start(t, s, "llm"), day("2031-01-31T23:59:59Z"), `{"tokens":1}`)
	b.stop(t, b.start(t, s, "llm"), day("2031-02-01T00:00:00Z"), `{"tokens":2}`)
	b.stop(t, b.start(t, s, "exec-1"), day("2031-02-01T08:00:00+08:00"), `{"cost_usd":0.015}`)
	f := b.start(t, s, "exec-1")
	b.stop(t, f, day("2031-02-28T12:00:00Z"), `{"tokens":4}`)
	b.stop(t, b.goOn(t, f.JobID), day("2031-03-01T12:00:00Z"), `{"tokens":9}`) // the job counts on the day of its first end
	all := []string{"2031-01-31 llm 1 1 0", "2031-02-01 exec-1 1 0 0.015", "2031-02-01 llm 1 2 0", "2031-02-28 exec-1 1 4 0", "2031-03-01 exec-1 0 5 0"}
	wantEqual(t, "all", b.cost(t, s, day("2031-01-31T00:00:00Z"), day("2031-03-01T00:00:00Z")), all)
	wantEqual(t, "February", b.cost(t, s, day("2031-02-01T23:00:00Z"), day("2031-02-28T01:00:00Z")), all[1:4])
	wantEqual(t, "one day", b.cost(t, s, day("2031-02-28T00:00:00Z"), day("2031-02-28T23:00:00Z")), all[3:4])
	wantEqual(t, "none", b.cost(t, s, day("2031-02-02T00:00:00Z"), day("2031-02-27T00:00:00Z")), []string{})
}

// counters are the items that count for the spender, those of days and those of months.
func (b *bundle) counters(t *testing.T, s spender, at time.Time) (days, months []map[string]types.AttributeValue) {
	t.Helper()
	for shard := range 8 {
		for _, scope := range []string{"route#" + s.route, "client#" + s.client} {
			if it := b.item(t, topology.TableJobs, fmt.Sprintf("usage#%s#%s#%d", scope, at.Format("2006-01-02"), shard), "day"); it != nil {
				days = append(days, it)
			}
			if it := b.item(t, topology.TableJobs, fmt.Sprintf("usage#%s#%d", at.Format("2006-01"), shard), scope); it != nil {
				months = append(months, it)
			}
		}
	}
	return days, months
}

func usageExpiry(t *testing.T, b *bundle) {
	s := newSpender()
	b.spend(t, s, noon, `{"tokens":1}`)
	days, months := b.counters(t, s, noon)
	if len(days) != 2 || len(months) != 2 {
		t.Fatalf("%d items of days and %d of months, want 2 and 2", len(days), len(months))
	}
	last := noon.Truncate(24 * time.Hour).Add(24*time.Hour + 8784*time.Hour) // when the last window leaves the day
	for _, it := range days {
		expires, ok := it["ttl"].(*types.AttributeValueMemberN)
		if !ok || expires.Value <= fmt.Sprint(last.Unix()) || len(expires.Value) != len(fmt.Sprint(last.Unix())) {
			t.Errorf("a day expires at %v, want a time after %d", it["ttl"], last.Unix())
		}
	}
	for _, it := range append(days, months...) {
		if sv, ok := it["sv"].(*types.AttributeValueMemberN); !ok || sv.Value != fmt.Sprint(known) {
			t.Errorf("version %v", it["sv"])
		}
	}
	for _, it := range months {
		if it["ttl"] != nil {
			t.Errorf("a month expires: %v", it["ttl"])
		}
	}
}

func usageOfNewerReleases(t *testing.T, b *bundle) {
	s := newSpender()
	at := noon.AddDate(2, 0, 0) // no other promise reads that month, and a store may be shared
	f := b.start(t, s, "llm")
	b.stop(t, f, at, `{"tokens":1}`)
	days, months := b.counters(t, s, at)
	for _, it := range append(days, months...) {
		pk, _ := it["pk"].(*types.AttributeValueMemberS)
		sk, _ := it["sk"].(*types.AttributeValueMemberS)
		b.outdate(t, topology.TableJobs, pk.Value, sk.Value)
	}
	b.stop(t, b.goOn(t, f.JobID), at, `{"tokens":3}`) // of the same job: the same shard
	days, months = b.counters(t, s, at)
	for _, it := range append(days, months...) {
		if sv, ok := it["sv"].(*types.AttributeValueMemberN); !ok || sv.Value == fmt.Sprint(known) {
			t.Errorf("version %v", it["sv"])
		}
		sum := ""
		for member, v := range it {
			if n, ok := v.(*types.AttributeValueMemberN); ok && strings.HasPrefix(member, "t") && member != "ttl" {
				sum += n.Value
			}
		}
		wantEqual(t, "tokens", sum, "3")
	}
	_, err := b.Store.ReadUsage(t.Context(), []job.UsageWindow{{Scope: s.ofRoute(), Since: at.Add(-time.Hour), Now: at}})
	if err == nil {
		t.Error("the usage was read")
	}
	if _, err = b.Store.ReadCost(t.Context(), at, at); err == nil {
		t.Error("the report was read")
	}
}
