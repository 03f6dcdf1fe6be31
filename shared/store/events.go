package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
)

// Audit records of a job are items job#<id> / <nanoseconds>#<event id> of the ledger. Writing the same event again
// replaces it by itself.

// eventRecord is the wire form of an audit record (core §11.7).
type eventRecord struct {
	TS       string         `json:"ts"`
	JobID    string         `json:"job_id"`
	Event    string         `json:"event"`
	Stage    string         `json:"stage"`
	Severity string         `json:"severity"`
	Title    string         `json:"title"`
	Summary  string         `json:"summary"`
	Detail   map[string]any `json:"detail"`
}

func (s *Store) eventItem(ctx context.Context, jobID string, ev job.Event) (item, error) {
	detail := ev.Detail
	if detail == nil {
		detail = map[string]any{}
	}
	b, err := encode(eventRecord{
		TS: job.Timestamp(ev.At), JobID: jobID, Event: ev.Name, Stage: ev.Stage, Severity: ev.Severity,
		Title: ev.Title, Summary: ev.Summary, Detail: detail,
	})
	if err != nil {
		return nil, fmt.Errorf("store: audit record: %w", err)
	}
	it := newItem(jobPK(jobID), fmt.Sprintf("%019d#%s", ev.At.UnixNano(), ev.ID))
	return it, s.setLarge(ctx, it, "doc", b)
}

func (s *Store) putEvent(ctx context.Context, jobID string, ev job.Event) (types.TransactWriteItem, error) {
	it, err := s.eventItem(ctx, jobID, ev)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	return put(s.ledger(), it, "", nil, nil), nil
}

// AddEvent stores one audit record.
func (s *Store) AddEvent(ctx context.Context, jobID string, ev job.Event) error {
	it, err := s.eventItem(ctx, jobID, ev)
	if err != nil {
		return err
	}
	if _, err := single(ctx, s, s.db.PutItem, &dynamodb.PutItemInput{TableName: s.ledger(), Item: it}); err != nil {
		return fmt.Errorf("store: audit record: %w", err)
	}
	return nil
}

// JobAudit returns the audit records of a job as JSON, oldest first; nil when there is none. One trip per megabyte.
func (s *Store) JobAudit(ctx context.Context, jobID string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	err := s.query(ctx, &dynamodb.QueryInput{
		TableName: s.ledger(), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID))},
	}, func(it item) error {
		doc, err := s.getLarge(ctx, it, "doc")
		out = append(out, doc)
		return err
	})
	return out, err
}

// query pages through in and calls visit with each item.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput, visit func(item) error) error {
	for {
		page, err := s.db.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("store: query: %w", err)
		}
		for _, it := range page.Items {
			if err := checkVersion(it); err != nil {
				return err
			}
			if err := visit(it); err != nil {
				return err
			}
		}
		if len(page.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}
