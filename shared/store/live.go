package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"bailing/shared/job"
	"bailing/shared/topology"
)

// ReadLive reads the jobs of the index "due" that are due first, at most max, and the threads that they head. It costs one trip
// for all shards side by side, one per 100 jobs and one per 100 threads, however long the queue is.
func (s *Store) ReadLive(ctx context.Context, max int) (job.Live, error) {
	keys, err := s.dueKeys(ctx, max+1)
	if err != nil {
		return job.Live{}, err
	}
	live := job.Live{Jobs: []job.LiveJob{}, Truncated: len(keys) > max}
	refs := make([]ref, 0, min(max, len(keys)))
	for _, it := range keys[:min(max, len(keys))] {
		refs = append(refs, ref{s.jobs(), getStr(it, "pk"), getStr(it, "sk")})
	}
	rows, err := s.listRows(ctx, refs)
	if err != nil {
		return job.Live{}, err
	}
	var threads []ref
	for _, row := range rows {
		if row == nil || job.Status(getStr(row, "state")).Terminal() { // it ended since the index saw it
			continue
		}
		j := decodeState(row)
		live.Jobs = append(live.Jobs, job.LiveJob{
			Brief: s.decodeBrief(ctx, row), Head: j.Head, Worker: j.Worker, RunAfter: j.RunAfter, QueuedAt: j.QueuedAt,
			ClaimedAt: j.ClaimedAt, LeaseUntil: j.LeaseUntil,
		})
		threads = append(threads, s.threadRef(j.ThreadKey))
	}
	found, err := s.listRows(ctx, threads)
	if err != nil {
		return job.Live{}, err
	}
	for i := range live.Jobs {
		if t := decodeThread("", found[i]); t.Head == live.Jobs[i].ID {
			live.Jobs[i].Waiting = len(t.Waiting)
		}
	}
	return live, nil
}

// dueKeys reads the first n keys of the jobs in the index "due", by the time at which they are looked at.
func (s *Store) dueKeys(ctx context.Context, n int) ([]item, error) {
	var shards [dueShards][]item
	g, ctx := errgroup.WithContext(ctx)
	for i := range shards {
		g.Go(func() error {
			in := &dynamodb.QueryInput{
				TableName: s.jobs(), IndexName: aws.String(topology.IndexDue), Limit: aws.Int32(int32(n)),
				KeyConditionExpression:    aws.String("dpk = :dpk"),
				ExpressionAttributeValues: item{":dpk": str(fmt.Sprintf("due#%d", i))},
			}
			page, err := s.db.Query(ctx, in) // a key is far smaller than its share of a page's megabyte
			if err != nil {
				return fmt.Errorf("store: live jobs: %w", err)
			}
			shards[i] = page.Items
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(shards[:]...)
	slices.SortFunc(all, func(a, b item) int {
		if c := strings.Compare(getStr(a, "dsk"), getStr(b, "dsk")); c != 0 {
			return c
		}
		return strings.Compare(getStr(a, "pk"), getStr(b, "pk"))
	})
	return all[:min(n, len(all))], nil
}
