package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/chance"
	"bailing/shared/limit"
)

var _ limit.Writer = (*Store)(nil)

// limitTTL is how long an untouched bucket is kept: longer than the longest window, a day.
const limitTTL = 48 * time.Hour

// clientLimit names the bucket of a client by its token's hash, so that it can be read before the client is known. A
// rotated token starts a fresh window.
func clientLimit(tokenHash string) string { return "client#" + tokenHash }

// toolLimit and providerLimit name the buckets of core §5.6, shared by all routes, clients and jobs.
func toolLimit(provider, tool string) string { return "tool#" + provider + "#" + tool }
func providerLimit(provider string) string   { return "provider#" + provider }

func (s *Store) limitRef(name string) ref { return ref{s.jobs(), "limit#" + name, "limit"} }

func decodeLimit(name string, it item) (limit.Row, error) {
	row := limit.Row{Key: name, Version: getNum(it, "ver")}
	if b := getBytes(it, "bucket"); b != nil {
		if err := row.Bucket.UnmarshalBinary(b); err != nil {
			return row, fmt.Errorf("store: limit %s: %w", name, err)
		}
	}
	return row, nil
}

// WriteBucket is one conditional write. Losing is an answer: the row that won comes back with it. Each write is marked, so
// that one which the SDK repeated because its answer was lost does not take itself for a rival: the caller would charge,
// or give back, a second time.
func (s *Store) WriteBucket(ctx context.Context, row limit.Row) (limit.Row, bool, error) {
	return s.writeBucket(ctx, s.limitRef(row.Key), row)
}

// writeBucket is WriteBucket for a bucket of any table.
func (s *Store) writeBucket(ctx context.Context, r ref, row limit.Row) (limit.Row, bool, error) {
	b, err := row.Bucket.MarshalBinary()
	if err != nil {
		return row, false, fmt.Errorf("store: limit: %w", err)
	}
	it := newItem(r.pk, r.sk)
	it["bucket"], it["ver"] = binary(b), num(row.Version+1)
	it["ttl"] = num(s.clock.Now().Add(limitTTL).Unix())
	mark := fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
	it["mark"] = str(mark)
	in := &dynamodb.PutItemInput{
		TableName: r.table, Item: it,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if row.Version == 0 {
		in.ConditionExpression = aws.String("attribute_not_exists(pk)")
	} else {
		in.ConditionExpression = aws.String("ver = :ver")
		in.ExpressionAttributeValues = item{":ver": num(row.Version)}
	}
	_, err = single(ctx, s, s.db.PutItem, in)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if err := checkVersion(failed.Item); err != nil {
			return row, false, err
		}
		now, err := decodeLimit(row.Key, failed.Item)
		return now, getStr(failed.Item, "mark") == mark, err
	}
	if err != nil {
		return row, false, fmt.Errorf("store: limit: %w", err)
	}
	row.Version++
	return row, true, nil
}
