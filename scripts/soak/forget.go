package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/platform"
	"bailing/shared/topology"
)

// forgetter deletes the rows of jobs that ended long ago, so that the stand-ins, which hold everything in memory, do not need more of
// it with every job. The product itself never deletes a journal; here a job has long had its verdict when its rows go.
type forgetter struct {
	db   *dynamodb.Client
	keep int
	old  []string // ids of ended jobs, the oldest first
}

func newForgetter(c platform.Config, keep int) *forgetter {
	c.AccessKey = setup
	return &forgetter{db: dynamodb.NewFromConfig(platform.New(setup, c, platform.Options{}).AWS()), keep: keep}
}

// ended notes a job, and deletes the one that ended so many jobs before.
func (f *forgetter) ended(ctx context.Context, jobID string) error {
	f.old = append(f.old, jobID)
	if len(f.old) <= f.keep {
		return nil
	}
	first := f.old[0]
	f.old = f.old[1:]
	for _, table := range []string{topology.TableJobs, topology.TableLedger} {
		if err := f.forget(ctx, prefix+table, "job#"+first); err != nil {
			return fmt.Errorf("forget job %s: %w", first, err)
		}
	}
	return nil
}

// batchMax is how many items one request may delete.
const batchMax = 25

func (f *forgetter) forget(ctx context.Context, table, pk string) error {
	out, err := f.db.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		return err
	}
	for items := out.Items; len(items) > 0; {
		n := min(len(items), batchMax)
		var deletes []types.WriteRequest
		for _, it := range items[:n] {
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{
				Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]},
			}})
		}
		if _, err := f.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: deletes}}); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}
