package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/registry"
)

// What the hub finds out about a provider is on record below the provider, in the form of core §11.7.
func TestProviderEventsAreRecorded(t *testing.T) {
	t.Parallel()
	s := open(t)
	at := time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)
	detail := map[string]any{"tools": 2}
	event := registry.Event{At: at, Name: "spec_refreshed", Severity: "info", By: "schedule", Summary: "2 tools", Detail: detail}
	v := registry.Versioned[registry.Provider]{Value: registry.Provider{Name: "shop"}}
	if err := s.Providers().Observe(t.Context(), v, &registry.Change{At: at, By: "token", Method: "POST", Path: "p"}, event, event); err != nil {
		t.Fatal(err)
	}
	if err := s.Providers().Observe(t.Context(), v, nil, event); err == nil {
		t.Fatal("a stale finding was written")
	}
	if len(detail) != 1 {
		t.Fatal("the caller's detail was changed")
	}
	rows := func(pk string) []map[string]types.AttributeValue {
		out, err := s.backend.DB.Query(t.Context(), &dynamodb.QueryInput{
			TableName: aws.String(prefix + "ledger"), KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Items
	}
	records := rows("provider#shop")
	if len(records) != 2 || len(rows("system#config")) != 1 {
		t.Fatalf("%d events, %d changes", len(records), len(rows("system#config")))
	}
	doc, ok := records[0]["doc"].(*types.AttributeValueMemberB)
	if !ok {
		t.Fatalf("%v", records[0])
	}
	var got map[string]any
	if err := json.Unmarshal(doc.Value, &got); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(got)
	want := `{"detail":{"by":"schedule","tools":2},"event":"spec_refreshed","job_id":"-","severity":"info","stage":"config","summary":"2 tools","title":"shop","ts":"2026-11-30T15:52:48.906Z"}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	if sk := records[0]["sk"].(*types.AttributeValueMemberS).Value; !strings.HasPrefix(sk, "2026-11-30T15:52:48.906Z#") {
		t.Errorf("key %s", sk)
	}
}
