package store

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/auditexport"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/topology"
)

var _ auditexport.Store = (*Store)(nil)

// exportTrip is how many audit records one trip of an export reads.
const exportTrip = 100

// AuditRecords reads records of a partition behind the key after, in order, until they have room bytes; at least one when there is one.
// One trip, and one for each record that an item could not hold.
func (s *Store) AuditRecords(ctx context.Context, p auditexport.Partition, after string, room int) (records []auditexport.Record, more bool, err error) {
	in := &dynamodb.QueryInput{TableName: s.ledger(), ConsistentRead: aws.Bool(true), Limit: aws.Int32(exportTrip)}
	if p.Kind == auditexport.OfJob {
		in.KeyConditionExpression = aws.String("pk = :pk AND sk > :after")
		in.ExpressionAttributeValues = item{":pk": str(jobPK(p.Name)), ":after": str(cmp.Or(after, "0"))}
	} else {
		pk, from := changePK, p.Since.UTC().Format(changeTime)
		if p.Kind == auditexport.OfProvider {
			pk = kindProvider + "#" + p.Name
		}
		if after != "" {
			from = after + " " // what follows it: all keys are of one length
		}
		in.KeyConditionExpression = aws.String("pk = :pk AND sk BETWEEN :from AND :to")
		in.ExpressionAttributeValues = item{":pk": str(pk), ":from": str(from), ":to": str(p.Until.UTC().Format(changeTime))}
		if from > p.Until.UTC().Format(changeTime) {
			return nil, false, nil // DynamoDB refuses a range that ends before it begins
		}
	}
	page, err := s.db.Query(ctx, in)
	if err != nil {
		return nil, false, fmt.Errorf("store: audit records: %w", err)
	}
	size := 0
	for i, it := range page.Items {
		if size >= room && i > 0 {
			return records, true, nil
		}
		if err := checkVersion(it); err != nil {
			return nil, false, err
		}
		doc, err := s.auditDoc(ctx, p, it)
		if err != nil {
			return nil, false, err
		}
		size += len(doc)
		records = append(records, auditexport.Record{Key: getStr(it, "sk"), Doc: doc})
	}
	return records, len(page.LastEvaluatedKey) > 0, nil
}

// auditDoc is a record in the form of core §11.7. Changes of the configuration are kept in attributes.
func (s *Store) auditDoc(ctx context.Context, p auditexport.Partition, it item) ([]byte, error) {
	if p.Kind != auditexport.OfConfig {
		return s.getLarge(ctx, it, "doc")
	}
	by, method, path := getStr(it, "by"), getStr(it, "method"), getStr(it, "path")
	doc, err := plainjson.Marshal(eventRecord{
		TS: job.Timestamp(getTime(it, "at")), JobID: "-", Event: getStr(it, "event"), Stage: "config", Severity: job.Info,
		Title: "Configuration", Summary: method + " " + path, Detail: map[string]any{"by": by, "method": method, "path": path},
	})
	if err != nil {
		return nil, fmt.Errorf("store: audit record: %w", err)
	}
	return doc, nil
}

// JobsLaunched reads the next n jobs that were launched from since until before until, earliest first, behind after: one trip. A job
// that the index has not seen yet is missing for a moment.
func (s *Store) JobsLaunched(ctx context.Context, since, until time.Time, after job.Cursor, n int) ([]job.Cursor, error) {
	from, to := dueKey(since), dueKey(until)
	if after != "" {
		from = string(after) + " " // what follows it: all keys are of one length
	}
	if from > to {
		return nil, nil
	}
	page, err := s.db.Query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), IndexName: aws.String(topology.IndexTime), Limit: aws.Int32(int32(n)),
		KeyConditionExpression:    aws.String("tpk = :tpk AND tsk BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":tpk": str(timePartition), ":from": str(from), ":to": str(to)},
	})
	if err != nil {
		return nil, fmt.Errorf("store: jobs by launch: %w", err)
	}
	var jobs []job.Cursor
	for _, it := range page.Items {
		jobs = append(jobs, job.Cursor(getStr(it, "tsk")))
	}
	return jobs, nil
}

// ProvidersSince names the tool providers of which there can be records from since on: those there are, and those that were deleted
// after it, which the changes of the configuration tell. One trip, and one for each megabyte of such changes. Names may occur twice.
func (s *Store) ProvidersSince(ctx context.Context, since time.Time) ([]string, error) {
	refs, err := s.listKind(ctx, kindProvider)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range refs {
		names = append(names, strings.TrimPrefix(r.pk, kindProvider+"#"))
	}
	err = s.query(ctx, &dynamodb.QueryInput{
		TableName: s.ledger(), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND sk >= :from"),
		ExpressionAttributeValues: item{":pk": str(changePK), ":from": str(since.UTC().Format(changeTime))},
	}, func(it item) error {
		if name, ok := strings.CutPrefix(getStr(it, "path"), "tool-providers/"); ok && getStr(it, "method") == http.MethodDelete {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}
