package storetest

import (
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

var versions = []promise{
	{"every row carries its schema version", rowsCarryVersion},
	{"a row of a newer release is refused by whoever reads it", newerRows},
	{"a job of a newer release is not claimed", newerJob},
	{"a row of a newer release is not overwritten by a lost race", newerRivals},
}

// known is the schema version that this release writes.
const known = 1

// outdate gives a row the version of a release that does not exist yet.
func (b *bundle) outdate(t *testing.T, table, pk, sk string) {
	t.Helper()
	_, err := b.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(b.Prefix + table), Key: rowKey(pk, sk), UpdateExpression: aws.String("SET sv = :newer"),
		ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":newer": &types.AttributeValueMemberN{Value: strconv.Itoa(known + 1)},
		},
	})
	must(t, err)
}

func rowsCarryVersion(t *testing.T, b *bundle) {
	j, f := b.running(t)
	hash := "hash-" + j.ID
	must(t, b.Store.SaveRound(t.Context(), f, jobrun.Round{Number: 1}, b.event("round")))
	b.write(t, b.charged(t, b.clientBucket(t, hash)))
	b.finish(t, f)
	for _, key := range [][2]string{
		{"job#" + j.ID, "job"}, {"job#" + j.ID, "round#0001"}, {"request#" + j.RequestID, "request"},
		{"thread#" + j.ThreadKey, "thread"}, {"limit#client#" + hash, "limit"},
	} {
		sv, ok := b.item(t, topology.TableJobs, key[0], key[1])["sv"].(*types.AttributeValueMemberN)
		if !ok || sv.Value != strconv.Itoa(known) {
			t.Errorf("%s/%s has the version %v", key[0], key[1], sv)
		}
	}
}

func newerRows(t *testing.T, b *bundle) {
	ctx := t.Context()
	j, f := b.running(t)
	hash := "hash-" + j.ID
	must(t, b.Store.SaveRound(ctx, f, jobrun.Round{Number: 1}, b.event("round")))
	b.write(t, b.charged(t, b.clientBucket(t, hash)))
	route := registry.Route{RouteKey: "r-" + j.ID}
	must(t, b.Store.Routes().Put(ctx, route.RouteKey, registry.Versioned[registry.Route]{Value: route}, registry.Change{At: b.now}))

	audit := b.now.UnixNano()
	for _, row := range []struct{ table, pk, sk string }{
		{topology.TableJobs, "job#" + j.ID, "job"}, {topology.TableJobs, "job#" + j.ID, "round#0001"},
		{topology.TableJobs, "request#" + j.RequestID, "request"}, {topology.TableJobs, "thread#" + j.ThreadKey, "thread"},
		{topology.TableJobs, "limit#client#" + hash, "limit"}, {topology.TableRegistry, "route#" + route.RouteKey, "record"},
		{topology.TableLedger, "job#" + j.ID, pad19(audit) + "#received"},
	} {
		b.outdate(t, row.table, row.pk, row.sk)
	}
	for name, read := range map[string]func() error{
		"ReadJob":    func() error { _, err := b.Store.ReadJob(ctx, j.ID); return err },
		"ReadState":  func() error { _, err := b.Store.ReadState(ctx, j.ID); return err },
		"ReadOwned":  func() error { _, _, err := b.Store.ReadOwned(ctx, "", j.ID); return err },
		"ReadReplay": func() error { _, _, err := b.Store.ReadReplay(ctx, j.ID, "none"); return err },
		"ReadThread": func() error { _, _, err := b.Store.ReadThread(ctx, "none", j.ThreadKey); return err },
		"ReadLaunch, request": func() error {
			_, err := b.Store.ReadLaunch(ctx, job.LaunchKeys{RequestID: j.RequestID})
			return err
		},
		"ReadLaunch, limit": func() error { _, err := b.Store.ReadLaunch(ctx, job.LaunchKeys{TokenHash: hash}); return err },
		"ReadLaunch, route": func() error {
			_, err := b.Store.ReadLaunch(ctx, job.LaunchKeys{Route: route.RouteKey})
			return err
		},
		"ReadRun":    func() error { _, err := b.Store.ReadRun(ctx, route.RouteKey, "none"); return err },
		"LoadRounds": func() error { _, err := b.Store.LoadRounds(ctx, j.ID); return err },
		"JobAudit":   func() error { _, err := b.Store.JobAudit(ctx, j.ID); return err },
	} {
		if err := read(); err == nil || errors.Is(err, job.ErrNotFound) {
			t.Errorf("%s: err = %v, want a refusal", name, err)
		}
	}
}

// pad19 is the form of nanoseconds in sort keys.
func pad19(n int64) string {
	s := strconv.FormatInt(n, 10)
	for len(s) < 19 {
		s = "0" + s
	}
	return s
}

func newerJob(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	b.outdate(t, topology.TableJobs, "job#"+j.ID, "job")
	_, err := b.Store.ClaimJob(t.Context(), j.ID, "w", b.now, b.now.Add(lease))
	if err == nil || errors.Is(err, job.ErrNotClaimable) {
		t.Fatalf("err = %v, want a refusal that keeps the message", err)
	}
	state, ok := b.item(t, topology.TableJobs, "job#"+j.ID, "job")["state"].(*types.AttributeValueMemberS)
	if !ok || state.Value != string(job.Queued) {
		t.Fatalf("the job is %v, want it queued", state)
	}
}

func newerRivals(t *testing.T, b *bundle) {
	ctx := t.Context()
	first := b.launch(t, "")
	b.outdate(t, topology.TableJobs, "thread#"+first.ThreadKey, "thread")
	b.outdate(t, topology.TableJobs, "request#"+first.RequestID, "request")
	hash := "hash-" + first.ID
	stale := b.charged(t, b.clientBucket(t, hash))
	b.write(t, stale)
	b.outdate(t, topology.TableJobs, "limit#client#"+hash, "limit")

	late, again := b.draft(), b.draft()
	late.ThreadKey, again.RequestID = first.ThreadKey, first.RequestID
	var moved *job.ThreadMoved
	if err := b.create(ctx, late, job.Thread{}); err == nil || errors.As(err, &moved) {
		t.Errorf("thread: err = %v, want a refusal", err)
	}
	var taken *job.RequestTaken
	if err := b.create(ctx, again, job.Thread{}); err == nil || errors.As(err, &taken) {
		t.Errorf("request: err = %v, want a refusal", err)
	}
	if now, ok, err := b.Store.WriteBucket(ctx, stale); err == nil || ok {
		t.Errorf("limit: %+v, %v, %v, want a refusal", now, ok, err)
	}
	b.wantAbsent(t, late)
	b.wantAbsent(t, again)
}
