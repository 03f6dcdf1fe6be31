package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

const month = 30 * 24 * time.Hour

// keeping is a store beside s that keeps audit records for a time.
func keeping(s *stand, retention time.Duration) *store.Store {
	return store.New(store.Options{
		DB: s.backend.DB, Values: &store.S3Values{Client: s.backend.S3, Bucket: s.backend.Bucket}, Prefix: prefix, Clock: s.backend.Clock,
		AuditRetention: retention,
	})
}

// Every kind of audit record ends with the retention, counted from its own time; nothing else that is written beside it does.
func TestOnlyAuditRecordsEndWithTheRetention(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		retention time.Duration
		want      string
	}{{0, ""}, {month, "1798645968"}} { // 30 days after start
		s := open(t)
		db := keeping(s, tc.retention)
		change := registry.Change{At: start, By: "ada", Method: "POST", Path: "routes"}
		ev := job.Event{ID: "received", At: start, Name: "received", Stage: job.StageLaunch, Severity: job.Info}
		j := &job.Job{
			ID: "145ff952-5b7f-4081-bda4-8f4a2e6ade2b", RequestID: "r", Status: job.Queued, ThreadKey: "k", Head: true, CreatedAt: start,
			UpdatedAt: start, QueuedAt: start, Snapshot: job.Snapshot{TargetKind: registry.InHub},
		}
		entry := job.RequestEntry{RequestID: "r", JobID: j.ID}
		if err := db.CreateJob(t.Context(), j, entry, job.Thread{Key: "k", Head: j.ID}, ev); err != nil {
			t.Fatal(err)
		}
		if err := db.Providers().Note(t.Context(), "shop", &change, registry.Event{Name: "probe", At: start}); err != nil {
			t.Fatal(err)
		}
		for _, pk := range []string{"job#" + j.ID, "system#config", "provider#shop"} {
			rows := s.rows(t, topology.TableLedger, pk)
			if len(rows) != 1 || attribute(rows[0], "ttl") != tc.want {
				t.Errorf("%v: %s has %d records, until %q", tc.retention, pk, len(rows), attribute(rows[0], "ttl"))
			}
		}
		for _, pk := range []string{"job#" + j.ID, "request#r", "thread#k"} {
			for _, row := range s.rows(t, topology.TableJobs, pk) {
				if attribute(row, "ttl") != "" {
					t.Errorf("%v: a row of %s ends", tc.retention, pk)
				}
			}
		}
	}
}

// rows reads the items of one partition key.
func (s *stand) rows(t *testing.T, table, pk string) []map[string]types.AttributeValue {
	t.Helper()
	out, err := s.backend.DB.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(prefix + table), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Items
}

// A record that ends takes what it says with it, up to 256 KiB; past that, and when records are kept, a value beside it holds it.
func TestWhatAnEndingRecordSaysEndsWithIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, tc := range []struct {
		retention time.Duration
		size      int
		inside    bool
	}{{0, 32 << 10, true}, {0, 32<<10 + 1, false}, {month, 256 << 10, true}, {month, 256<<10 + 1, false}} {
		db := keeping(s, tc.retention)
		id := strings.Repeat(string(rune('a'+i)), 8)
		ev := job.Event{ID: "e", At: start, Name: "n", Detail: map[string]any{"text": ""}}
		empty := len(mustRecord(t, s, db, id+"-empty", ev)[0])
		ev.Detail["text"] = strings.Repeat("x", tc.size-empty+len("-empty"))
		if records := mustRecord(t, s, db, id, ev); len(records) != 1 || len(records[0]) != tc.size {
			t.Fatalf("%v: %d records", tc, len(records))
		}
		row := s.rows(t, topology.TableLedger, "job#"+id)[0]
		if inside := row["doc"] != nil && row["doc_ref"] == nil; inside != tc.inside {
			t.Errorf("%v: inside its item: %v", tc, inside)
		}
	}
}

func mustRecord(t *testing.T, s *stand, db *store.Store, id string, ev job.Event) (records []string) {
	t.Helper()
	if err := db.AddEvent(t.Context(), id, ev); err != nil {
		t.Fatal(err)
	}
	docs, err := s.JobAudit(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		records = append(records, string(doc))
	}
	return records
}
