package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/delivery"
	"bailing/shared/topology"
)

// DeadLetters reads the latest keys of each shard from the index "dead", and then the rows strongly: one trip per shard and
// one per 100 rows. A row that changed since the index saw it is shown as it is, or left out.
func (s *Store) DeadLetters(ctx context.Context, l delivery.Letters) ([]*delivery.Row, error) {
	which := []string{deadOpen}
	if l.Resolved {
		which = append(which, deadClosed)
	}
	var found []item
	for _, w := range which {
		for shard := range deadShards {
			items, err := s.deadKeys(ctx, deadPartition(w, shard), l)
			if err != nil {
				return nil, err
			}
			found = append(found, items...)
		}
	}
	slices.SortFunc(found, func(a, b item) int {
		if n := strings.Compare(getStr(b, "xsk"), getStr(a, "xsk")); n != 0 {
			return n
		}
		return strings.Compare(getStr(a, "pk")+getStr(a, "sk"), getStr(b, "pk")+getStr(b, "sk"))
	})
	// The index may show a row that was just closed in both places.
	found = slices.CompactFunc(found, func(a, b item) bool {
		return getStr(a, "pk") == getStr(b, "pk") && getStr(a, "sk") == getStr(b, "sk")
	})
	refs := make([]ref, 0, min(len(found), l.Limit))
	for _, it := range found[:min(len(found), l.Limit)] {
		refs = append(refs, ref{s.jobs(), getStr(it, "pk"), getStr(it, "sk")})
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return nil, err
	}
	rows := make([]*delivery.Row, 0, len(items))
	for _, it := range items {
		open := getStr(it, "state") == string(delivery.Dead) && getTime(it, "resolved").IsZero()
		if it == nil || !open && (!l.Resolved || getTime(it, "resolved").IsZero()) {
			continue
		}
		row, err := decodeOutbox(it)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// deadKeys reads the latest keys of one partition, at most l.Limit.
func (s *Store) deadKeys(ctx context.Context, partition string, l delivery.Letters) (found []item, err error) {
	in := &dynamodb.QueryInput{
		TableName: s.jobs(), IndexName: aws.String(topology.IndexDead), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(l.Limit)),
		KeyConditionExpression:    aws.String("xpk = :xpk AND xsk >= :since"),
		ExpressionAttributeValues: item{":xpk": str(partition), ":since": str("0")},
	}
	if !l.Since.IsZero() {
		in.ExpressionAttributeValues[":since"] = str(dueKey(l.Since))
	}
	for len(found) < l.Limit {
		page, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("store: dead letters: %w", err)
		}
		found = append(found, page.Items...)
		if len(page.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
	return found, nil
}
