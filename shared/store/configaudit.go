package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/registry"
)

// ConfigChanges returns limit changes of the configuration, latest first, after the latest offset ones. What is skipped is read:
// one trip per megabyte.
func (s *Store) ConfigChanges(ctx context.Context, limit, offset int) ([]registry.Change, error) {
	changes := []registry.Change{}
	skip := offset
	err := s.latest(ctx, changePK, limit+offset, func(it item) error {
		if skip > 0 {
			skip--
			return nil
		}
		changes = append(changes, registry.Change{
			Event: getStr(it, "event"), At: getTime(it, "at"), By: getStr(it, "by"), Method: getStr(it,
				"method"), Path: getStr(it, "path"),
		})
		return nil
	})
	return changes, err
}

// ProviderEvents returns what the hub noted about a provider as JSON in the form of core §11.7, latest first, at most limit;
// none for a provider that it knows nothing about. The records of a provider outlive it.
func (s *Store) ProviderEvents(ctx context.Context, name string, limit int) ([]json.RawMessage, error) {
	records := []json.RawMessage{}
	err := s.latest(ctx, kindProvider+"#"+name, limit, func(it item) error {
		doc, err := s.getLarge(ctx, it, "doc")
		records = append(records, doc)
		return err
	})
	return records, err
}

// latest visits the last n records of a partition of the ledger, the latest first.
func (s *Store) latest(ctx context.Context, pk string, n int, visit func(item) error) error {
	in := &dynamodb.QueryInput{
		TableName: s.ledger(), ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(pk)},
	}
	for n > 0 {
		in.Limit = aws.Int32(int32(n))
		page, err := s.db.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("store: ledger: %w", err)
		}
		for _, it := range page.Items {
			if err := checkVersion(it); err != nil {
				return err
			}
			if err := visit(it); err != nil {
				return err
			}
		}
		if n -= len(page.Items); len(page.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
	return nil
}
