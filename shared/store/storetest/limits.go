package storetest

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

var limits = []promise{
	{"a bucket starts empty and comes back as it was written", bucketRoundTrip},
	{"a bucket write that lost its race brings the winner", bucketConflict},
	{"under contention a limit gives exactly its number of permits", bucketContention},
	{"the buckets of a tool and of its provider are shared by all callers", toolBuckets},
	{"a bucket that is not written any more expires after the longest window", bucketExpiry},
}

var perMinute = ratelimit.Policy{Count: 10, Window: time.Minute}

// clientBucket reads the bucket of a client by its token's hash.
func (b *bundle) clientBucket(t *testing.T, hash string) limit.Row {
	t.Helper()
	v, err := b.Store.ReadLaunch(t.Context(), job.LaunchKeys{TokenHash: hash})
	must(t, err)
	return v.Limit
}

// charged is row after one more call.
func (b *bundle) charged(t *testing.T, row limit.Row) limit.Row {
	t.Helper()
	next, _, d := row.Bucket.Take(b.now, perMinute)
	if !d.Allowed {
		t.Fatal("the bucket is full")
	}
	row.Bucket = next
	return row
}

func (b *bundle) write(t *testing.T, row limit.Row) (limit.Row, bool) {
	t.Helper()
	now, ok, err := b.Store.WriteBucket(t.Context(), row)
	must(t, err)
	return now, ok
}

func bucketRoundTrip(t *testing.T, b *bundle) {
	hash := "hash-" + b.draft().ID
	row := b.clientBucket(t, hash)
	wantEqual(t, "version of a new bucket", row.Version, 0)
	for version := range int64(3) {
		row = b.charged(t, row)
		now, ok := b.write(t, row)
		if !ok {
			t.Fatal("a write without a rival lost")
		}
		row.Version = version + 1
		wantEqual(t, "written", now, row)
		wantEqual(t, "read", b.clientBucket(t, hash), row)
	}
}

func bucketConflict(t *testing.T, b *bundle) {
	hash := "hash-" + b.draft().ID
	empty := b.clientBucket(t, hash)
	first, ok := b.write(t, b.charged(t, empty))
	wantEqual(t, "first write wins", ok, true)
	for name, stale := range map[string]limit.Row{
		"a second first write": b.charged(t, empty),
		"a write from a future": {
			Key: first.Key, Version: 7, Bucket: first.Bucket,
		},
	} {
		now, ok := b.write(t, stale)
		wantEqual(t, name+" wins", ok, false)
		wantEqual(t, name+" sees", now, first)
	}
	wantEqual(t, "stored", b.clientBucket(t, hash), first)
	// A row that expired meanwhile is as good as a new one.
	gone := b.charged(t, b.clientBucket(t, hash+"-gone"))
	gone.Version = 3
	now, ok := b.write(t, gone)
	wantEqual(t, "a write over an expired row wins", ok, false)
	wantEqual(t, "version after expiry", now.Version, 0)
}

func bucketContention(t *testing.T, b *bundle) {
	hash := "hash-" + b.draft().ID
	row := b.clientBucket(t, hash)
	const callers = 24
	var allowed atomic.Int32
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			_, d, err := limit.Take(t.Context(), b.Store, row, perMinute, b.now)
			if errs[i] = err; d.Allowed {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	wantEqual(t, "permits", int(allowed.Load()), perMinute.Count)
	if _, _, d := b.clientBucket(t, hash).Bucket.Take(b.now, perMinute); d.Allowed {
		t.Error("the stored bucket has room")
	}
}

func toolBuckets(t *testing.T, b *bundle) {
	provider := "biz-" + b.draft().ID
	read := func(owner, tool string) toolcall.View {
		t.Helper()
		v, err := b.Store.ReadCall(t.Context(), toolcall.Keys{Owner: owner, Route: "r-" + owner, Provider: provider, Tool: tool})
		must(t, err)
		return v
	}
	first := read("", "a")
	tool, _ := b.write(t, b.charged(t, first.ToolLimit))
	shared, _ := b.write(t, b.charged(t, first.ProviderLimit))

	again, other := read("shop", "a"), read("shop", "b")
	wantEqual(t, "tool's bucket", again.ToolLimit, tool)
	wantEqual(t, "provider's bucket", again.ProviderLimit, shared)
	wantEqual(t, "version of another tool's bucket", other.ToolLimit.Version, 0)
	wantEqual(t, "provider's bucket for another tool", other.ProviderLimit, shared)
}

func bucketExpiry(t *testing.T, b *bundle) {
	hash := "hash-" + b.draft().ID
	from := b.Clock.Now()
	b.write(t, b.charged(t, b.clientBucket(t, hash)))
	it := b.item(t, topology.TableJobs, "limit#client#"+hash, "limit")
	ttl, ok := it["ttl"].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("the row has no expiry: %v", it)
	}
	seconds, err := strconv.ParseInt(ttl.Value, 10, 64)
	must(t, err)
	const longest = 24 * time.Hour
	if got := time.Unix(seconds, 0); got.Before(from.Add(longest)) {
		t.Fatalf("expires after %s, before the longest window (%s) has passed", got.Sub(from), longest)
	}
}

// item reads a row as it is stored.
func (b *bundle) item(t *testing.T, table, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := b.DB.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(b.Prefix + table), Key: rowKey(pk, sk), ConsistentRead: aws.Bool(true),
	})
	must(t, err)
	return out.Item
}

func rowKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}
}
