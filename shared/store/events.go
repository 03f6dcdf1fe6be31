package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/plainjson"
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
	b, err := plainjson.Marshal(eventRecord{
		TS: job.Timestamp(ev.At), JobID: jobID, Event: ev.Name, Stage: ev.Stage, Severity: ev.Severity,
		Title: ev.Title, Summary: ev.Summary, Detail: detail,
	})
	if err != nil {
		return nil, fmt.Errorf("store: audit record: %w", err)
	}
	it := s.auditItem(jobPK(jobID), fmt.Sprintf("%019d#%s", ev.At.UnixNano(), ev.ID), ev.At)
	return it, s.setAudit(ctx, it, b)
}

// auditItem starts the item of an audit record that was made at the time at. It alone of what the ledger holds may vanish, after the
// retention: nothing is decided by what it says. A record keeps the time that it was written with.
func (s *Store) auditItem(pk, sk string, at time.Time) item {
	it := newItem(pk, sk)
	if s.auditRetention > 0 {
		it["ttl"] = num(at.Add(s.auditRetention).Unix())
	}
	return it
}

// expiringMax is the largest audit record that is kept inside its item when it shall vanish with it: a value beside the item would
// stay. What is larger than that has arguments or a response made of little but control characters.
const expiringMax = 256 << 10

func (s *Store) setAudit(ctx context.Context, it item, doc []byte) error {
	if it["ttl"] != nil && len(doc) <= expiringMax {
		it["doc"] = binary(doc)
		return nil
	}
	return s.setLarge(ctx, it, "doc", doc)
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
