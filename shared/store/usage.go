package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"bailing/shared/job"
	"bailing/shared/money"
)

// Usage is counted in the transaction that ends a job, in two items for each scope (a route, a client): one of the day, in slots of
// ten minutes, and one of the month, in days. A window of any length is then one item of a day, for the day in which it begins, and
// the items of the months after that.
//
//	usage#<scope>#<2006-01-02>#<shard>   day       "t" and "c" with the number of a slot: tokens, cost
//	usage#<2006-01>#<shard>              <scope>   "t", "c" and "n" with a day: tokens, cost, jobs that ended for the first time
//
// The members of a route's month go on with "#<target>": the cost report tells targets apart, and a budget takes all of them. Each
// item exists once per shard; a job's shard follows from its id, so that of the jobs of one route that end together few meet.
//
// The items of days are no more needed once no window reaches them, and vanish then. Those of months are the cost report, and stay.

const (
	usageShards = 8
	// usageSlot is the precision with which a window begins: it may be up to one slot longer than it says.
	usageSlot = 10 * time.Minute
	// usageDayTTL is how long the item of a day is kept, counted from its beginning: the longest window has 366 days.
	usageDayTTL = 369 * 24 * time.Hour

	skUsageDay = "day"
	dayFormat  = "2006-01-02"
)

func usageShard(jobID string) int {
	h := fnv.New32a()
	h.Write([]byte(jobID))
	return int(h.Sum32() % usageShards)
}

func usageName(s job.UsageScope) string { return string(s.Kind) + "#" + s.Name }

func (s *Store) usageDayRef(scope job.UsageScope, at time.Time, shard int) ref {
	return ref{s.jobs(), fmt.Sprintf("usage#%s#%s#%d", usageName(scope), at.UTC().Format(dayFormat), shard), skUsageDay}
}

func usageMonthPK(at time.Time, shard int) string {
	return fmt.Sprintf("usage#%s#%d", at.UTC().Format("2006-01"), shard)
}

func (s *Store) usageMonthRef(scope job.UsageScope, at time.Time, shard int) ref {
	return ref{s.jobs(), usageMonthPK(at, shard), usageName(scope)}
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func slotOf(t time.Time) int { return int(t.UTC().Sub(dayOf(t)) / usageSlot) }

// countUsage adds to the transaction that ends the job of row what the job used, and lets the job's row remember how much of it is
// counted. A job may end several times: after an approval it goes on, and its usage grows; after a rerun it begins anew. What the row
// remembers belongs to a run, which "since_claim" names, so each end counts what came since the end before it in the same run, and
// all of it in a new one. The transaction is conditional on the claim of the job, so that an end counts once however often it is
// tried. Nothing is counted anywhere else: no crash counts twice, or half.
//
// The counters have no condition and cannot fail the end; nor can a usage that nobody can read, which counts as nothing.
func (s *Store) countUsage(ctx context.Context, actions []types.TransactWriteItem, row item, o job.Outcome) []types.TransactWriteItem {
	id := strings.TrimPrefix(getStr(row, "pk"), "job#")
	before := countedUsage(row)
	fresh := s.usageAt(ctx, id, row, o).Since(before)
	if !fresh.IsZero() {
		actions[0] = remembering(actions[0], row, before.Add(fresh))
	}
	first := getNum(row, "term") == 0
	if !first && fresh.IsZero() {
		return actions
	}
	shard, slot, day := usageShard(id), fmt.Sprintf("%03d", slotOf(o.Now)), o.Now.UTC().Format("02")
	if route, target := s.ranOn(ctx, row); route != "" {
		scope := job.UsageScope{Kind: job.UsageOfRoute, Name: route}
		month := adding(day+"#"+target, fresh)
		if first {
			month["n"+day+"#"+target] = num(1)
		}
		actions = append(actions, addUsage(s.usageMonthRef(scope, o.Now, shard), month, time.Time{}))
		actions = s.countDay(actions, scope, o.Now, shard, adding(slot, fresh))
	}
	if owner := getStr(row, "owner"); owner != "" && !fresh.IsZero() {
		scope := job.UsageScope{Kind: job.UsageOfClient, Name: owner}
		actions = append(actions, addUsage(s.usageMonthRef(scope, o.Now, shard), adding(day, fresh), time.Time{}))
		actions = s.countDay(actions, scope, o.Now, shard, adding(slot, fresh))
	}
	return actions
}

// usageAt is what the run of row used until its end. An end that does not say so is one whose worker was lost, or that nobody took:
// the rounds that are saved were paid for all the same, and are read.
func (s *Store) usageAt(ctx context.Context, id string, row item, o job.Outcome) job.Usage {
	used, err := job.UsageIn(o.Usage)
	if len(o.Usage) == 0 && getNum(row, "claim") > getNum(row, "since_claim") {
		used, err = s.usageOfRounds(ctx, id)
	}
	if err != nil {
		s.log.WarnContext(ctx, "usage not counted", slog.String("job_id", id), slog.Any("error", err))
	}
	return used
}

func (s *Store) usageOfRounds(ctx context.Context, id string) (used job.Usage, err error) {
	rounds, err := s.LoadRounds(ctx, id)
	for _, r := range rounds {
		used = used.Add(job.Usage{Tokens: int64(max(0, r.Usage.TotalTokens))})
	}
	return used, err
}

func (s *Store) countDay(actions []types.TransactWriteItem, scope job.UsageScope, at time.Time, shard int, adds item) []types.TransactWriteItem {
	if len(adds) == 0 {
		return actions
	}
	return append(actions, addUsage(s.usageDayRef(scope, at, shard), adds, dayOf(at).Add(usageDayTTL)))
}

// ranOn is the route and the target of a job. A row from before briefs says so in what was asked, if that is in the row.
func (s *Store) ranOn(ctx context.Context, row item) (route, target string) {
	var b brief
	if json.Unmarshal(getBytes(row, "brief"), &b) == nil {
		return b.Route, b.Target
	}
	var a ask
	if json.Unmarshal(getBytes(row, "ask"), &a) != nil {
		s.log.WarnContext(ctx, "usage not counted for the route: the job does not say which it was", slog.String("job_id", getStr(row, "pk")))
	}
	return a.Snapshot.RouteKey, a.Snapshot.Target
}

// countedUsage is what earlier ends of the run of row have counted.
func countedUsage(row item) job.Usage {
	if row["counted_since"] == nil || getNum(row, "counted_since") != getNum(row, "since_claim") {
		return job.Usage{}
	}
	return job.Usage{Tokens: saturated(row["counted_tokens"]), CostUSD: dollars(row["counted_usd"])}
}

// remembering lets the end of the job of row say how much of its usage is counted.
func remembering(end types.TransactWriteItem, row item, counted job.Usage) types.TransactWriteItem {
	u := *end.Update
	u.UpdateExpression = aws.String("SET counted_tokens = :counted_tokens, counted_usd = :counted_usd, counted_since = :counted_since, " +
		strings.TrimPrefix(*u.UpdateExpression, "SET "))
	u.ExpressionAttributeValues = maps.Clone(u.ExpressionAttributeValues)
	u.ExpressionAttributeValues[":counted_tokens"] = num(counted.Tokens)
	u.ExpressionAttributeValues[":counted_usd"] = &types.AttributeValueMemberN{Value: counted.CostUSD.String()}
	u.ExpressionAttributeValues[":counted_since"] = num(getNum(row, "since_claim"))
	return types.TransactWriteItem{Update: &u}
}

// adding names the members of a counter and what is added to each.
func adding(suffix string, u job.Usage) item {
	adds := item{}
	if u.Tokens > 0 {
		adds["t"+suffix] = num(u.Tokens)
	}
	if !u.CostUSD.IsZero() {
		adds["c"+suffix] = &types.AttributeValueMemberN{Value: u.CostUSD.String()}
	}
	return adds
}

// addUsage adds to the members of a counter, which need not exist.
func addUsage(r ref, adds item, expires time.Time) types.TransactWriteItem {
	names, values := map[string]string{}, item{":sv": num(schemaVersion)}
	expr := "SET sv = if_not_exists(sv, :sv)"
	if !expires.IsZero() {
		expr += ", #ttl = :ttl"
		names["#ttl"], values[":ttl"] = "ttl", num(expires.Unix())
	}
	sep := " ADD "
	for i, member := range slices.Sorted(maps.Keys(adds)) {
		name := strconv.Itoa(i)
		expr += sep + "#a" + name + " :a" + name
		names["#a"+name], values[":a"+name] = member, adds[member]
		sep = ", "
	}
	a := update(r.table, key(r.pk, r.sk), expr, "", values)
	a.Update.ExpressionAttributeNames = names
	return a
}

// saturated is a number of tokens; one that no int64 holds is the largest.
func saturated(v types.AttributeValue) int64 {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	tokens, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64 // no whole number: it errs towards refusing
	}
	return tokens
}

// dollars is an amount; a sum that no job can reach is the largest amount.
func dollars(v types.AttributeValue) money.USD {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return money.USD{}
	}
	a, err := money.Parse(n.Value)
	if err != nil {
		a, _ = money.Parse(strconv.FormatInt(money.Max, 10))
	}
	return a
}

// usageRead is one item of a window and which of its members count.
type usageRead struct {
	window int
	ref    ref
	counts func(number int) bool // a slot of a day, or a day of a month
}

// ReadUsage reads all windows at once: one trip. A window has one item of a day and one for each month that it reaches into after
// that day, in each shard: 8 or 16 items for an hour or a day, at most 32 for a month and 112 for 366 days. What is more than one
// request may ask for goes into requests that are under way together.
func (s *Store) ReadUsage(ctx context.Context, windows []job.UsageWindow) ([]job.Usage, error) {
	var reads []usageRead
	for i, w := range windows {
		reads = append(reads, s.usageReads(i, w)...)
	}
	found := make([]item, len(reads))
	g, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(reads); from += batchGetMax {
		part := reads[from:min(from+batchGetMax, len(reads))]
		g.Go(func() error {
			refs := make([]ref, len(part))
			for i, r := range part {
				refs[i] = r.ref
			}
			items, err := s.batchGet(ctx, refs...)
			copy(found[from:], items)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("store: usage: %w", err)
	}
	sums := make([]job.Usage, len(windows))
	for i, r := range reads {
		for member, v := range found[i] {
			kind, number, _, ok := usageMember(member)
			if !ok || !r.counts(number) {
				continue
			}
			sums[r.window] = sums[r.window].Add(usageValue(kind, v))
		}
	}
	return sums, nil
}

// usageReads are the items of a window. It counts what is later than Now, too: clocks differ.
func (s *Store) usageReads(window int, w job.UsageWindow) (reads []usageRead) {
	first, slot := dayOf(w.Since), slotOf(w.Since)
	for shard := range usageShards {
		reads = append(reads, usageRead{window, s.usageDayRef(w.Scope, first, shard), func(n int) bool { return n >= slot }})
	}
	for at := first.AddDate(0, 0, 1); !at.After(dayOf(w.Now)); at = at.AddDate(0, 1, 1-at.Day()) {
		from := at.Day()
		for shard := range usageShards {
			reads = append(reads, usageRead{window, s.usageMonthRef(w.Scope, at, shard), func(n int) bool { return n >= from }})
		}
	}
	return reads
}

// usageMember takes the name of a counter's member apart; ok is false for members of other kinds.
func usageMember(member string) (kind byte, number int, target string, ok bool) {
	name, target, _ := strings.Cut(member, "#")
	if len(name) < 3 || strings.IndexByte("tcn", name[0]) < 0 {
		return 0, 0, "", false
	}
	number, err := strconv.Atoi(name[1:])
	return name[0], number, target, err == nil
}

func usageValue(kind byte, v types.AttributeValue) job.Usage {
	switch kind {
	case 't':
		return job.Usage{Tokens: saturated(v)}
	case 'c':
		return job.Usage{CostUSD: dollars(v)}
	}
	return job.Usage{}
}

// costQueries is how many queries of the cost report are under way together.
const costQueries = 8

// ReadCost returns what all routes used on the days from the one of from to the one of to, in UTC, by day, route and target: one
// query per month and shard.
func (s *Store) ReadCost(ctx context.Context, from, to time.Time) ([]job.CostRow, error) {
	first, last := dayOf(from), dayOf(to)
	type place struct{ day, route, target string }
	var mu sync.Mutex
	sums := map[place]*job.CostRow{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(costQueries)
	for month := first.AddDate(0, 0, 1-first.Day()); !month.After(last); month = month.AddDate(0, 1, 0) {
		for shard := range usageShards {
			g.Go(func() error {
				return s.query(ctx, &dynamodb.QueryInput{
					TableName: s.jobs(), ConsistentRead: aws.Bool(true),
					KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :route)"),
					ExpressionAttributeValues: item{
						":pk": str(usageMonthPK(month, shard)), ":route": str(string(job.UsageOfRoute) + "#"),
					},
				}, func(it item) error {
					mu.Lock()
					defer mu.Unlock()
					for member, v := range it {
						kind, number, target, ok := usageMember(member)
						day := month.AddDate(0, 0, number-1)
						if !ok || day.Before(first) || day.After(last) {
							continue
						}
						p := place{day.Format(dayFormat), strings.TrimPrefix(getStr(it, "sk"), string(job.UsageOfRoute)+"#"), target}
						if sums[p] == nil {
							sums[p] = &job.CostRow{Day: p.day, Route: p.route, Target: p.target}
						}
						if kind == 'n' {
							sums[p].Jobs += saturated(v)
						}
						sums[p].Usage = sums[p].Add(usageValue(kind, v))
					}
					return nil
				})
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("store: cost: %w", err)
	}
	rows := make([]job.CostRow, 0, len(sums))
	for _, r := range sums {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b job.CostRow) int {
		return strings.Compare(a.Day+"\x00"+a.Route+"\x00"+a.Target, b.Day+"\x00"+b.Route+"\x00"+b.Target)
	})
	return rows, nil
}
