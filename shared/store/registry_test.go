package store_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	standin "bailing/shared/awslocal/dynamodb"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
	"bailing/shared/store"
	"bailing/shared/topology"
)

// registryBundle is a store over a DynamoDB of its own, with values in memory.
type registryBundle struct {
	*store.Store
	db     *dynamodb.Client
	values *memoryValues
}

const registryPrefix = "test-"

func openRegistry(t *testing.T) *registryBundle {
	t.Helper()
	server := httptest.NewServer(standin.New(standin.Options{}))
	t.Cleanup(server.Close)
	b := &registryBundle{values: &memoryValues{byAddress: map[string][]byte{}}}
	b.db = dynamodb.NewFromConfig(aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	for _, table := range topology.System().Tables {
		if table.Name == topology.TableRegistry || table.Name == topology.TableLedger {
			createTable(t, b.db, table)
		}
	}
	b.Store = store.New(store.Options{DB: b.db, Values: b.values, Prefix: registryPrefix})
	return b
}

func createTable(t *testing.T, db *dynamodb.Client, table topology.Table) {
	t.Helper()
	attributes := map[string]bool{}
	schema := func(pk, sk string) []types.KeySchemaElement {
		attributes[pk], attributes[sk] = true, true
		return []types.KeySchemaElement{
			{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sk), KeyType: types.KeyTypeRange},
		}
	}
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(registryPrefix + table.Name), BillingMode: types.BillingModePayPerRequest, KeySchema: schema("pk", "sk"),
	}
	for _, index := range table.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(index.Name), KeySchema: schema(index.PartitionKey, index.SortKey),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	for name := range attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
		})
	}
	if _, err := db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// memoryValues is a store.Values that counts reads.
type memoryValues struct {
	mu        sync.Mutex
	byAddress map[string][]byte
	reads     int
}

func (m *memoryValues) PutValue(_ context.Context, b []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	address := store.Address(b)
	m.byAddress[address] = slices.Clone(b)
	return address, nil
}

func (m *memoryValues) GetValue(_ context.Context, address string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	b, ok := m.byAddress[address]
	if !ok {
		return nil, store.ErrValueMissing
	}
	return b, nil
}

func TestRegistryConforms(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T) registrytest.TokenStore { return openRegistry(t) })
}

var saveTime = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

// partition reads the items of one partition key.
func (b *registryBundle) partition(t *testing.T, table, pk string) []map[string]types.AttributeValue {
	t.Helper()
	out, err := b.db.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(registryPrefix + table), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Items
}

func attribute(it map[string]types.AttributeValue, name string) string {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func (b *registryBundle) saveTarget(t *testing.T, target registry.Target, revision int64) error {
	t.Helper()
	return b.Targets().Put(t.Context(), target.Name, registry.Versioned[registry.Target]{Value: target, Revision: revision},
		registry.Change{At: saveTime, By: "token", Method: "POST", Path: "targets"})
}

func TestEveryRegistryWriteLeavesOneAuditRecordAndARefusedOneNone(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	if err := b.saveTarget(t, registry.Target{Name: "a"}, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.saveTarget(t, registry.Target{Name: "a"}, 0); err == nil {
		t.Fatal("a stale write passed")
	}
	if err := b.SetPaused(t.Context(), true, registry.Change{At: saveTime.Add(time.Second), By: "token", Method: "POST", Path: "pause"}); err != nil {
		t.Fatal(err)
	}
	client := registry.Client{AppID: "c", TokenHash: "h"}
	err := b.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: client}, "",
		registry.Change{At: saveTime.Add(2 * time.Second), By: "token", Method: "POST", Path: "clients"})
	if err != nil {
		t.Fatal(err)
	}
	records := b.partition(t, topology.TableLedger, "system#config")
	want := []struct{ sk, at, path string }{
		{"2026-11-30T15:52:48.906Z#", "1796053968906", "targets"},
		{"2026-11-30T15:52:49.906Z#", "1796053969906", "pause"},
		{"2026-11-30T15:52:50.906Z#", "1796053970906", "clients"},
	}
	if len(records) != len(want) {
		t.Fatalf("%d audit records, want %d", len(records), len(want))
	}
	for i, w := range want {
		r := records[i]
		if !strings.HasPrefix(attribute(r, "sk"), w.sk) || attribute(r, "at") != w.at || attribute(r, "path") != w.path ||
			attribute(r, "event") != "config_change" || attribute(r, "by") != "token" || attribute(r, "method") != "POST" || attribute(r, "sv") != "1" {
			t.Errorf("record %d: %v", i, r)
		}
	}
}

func TestThePauseRowTurns(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	for _, want := range []bool{true, false} {
		if err := b.SetPaused(t.Context(), want, registry.Change{At: saveTime}); err != nil {
			t.Fatal(err)
		}
		got, err := b.ReadPaused(t.Context())
		if err != nil || got != want {
			t.Fatalf("paused = %v, %v; want %v", got, err, want)
		}
	}
}

func TestTokenRowsAreNotInTheIndex(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	err := b.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: registry.Client{AppID: "c", TokenHash: "h"}}, "", registry.Change{At: saveTime})
	if err != nil {
		t.Fatal(err)
	}
	rows := b.partition(t, topology.TableRegistry, "token#h")
	if len(rows) != 1 || rows[0]["gk"] != nil || rows[0]["gs"] != nil {
		t.Fatalf("token row %v", rows)
	}
	rows = b.partition(t, topology.TableRegistry, "client#c")
	if len(rows) != 1 || attribute(rows[0], "gk") != "client" || attribute(rows[0], "gs") != "c" {
		t.Fatalf("client row %v", rows)
	}
}

func TestOnlyAnOutsizedRecordIsAValue(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	// A target's JSON with an empty description, measured by hand: it grows by one byte per character.
	const empty = len(`{"name":"a","kind":"","stateless":false,"needs_project":false,"timeout_ms":0,"enabled":false,"description":""}`)
	const max = 300 << 10
	revision := int64(0)
	for _, c := range []struct{ size, values int }{{max, 0}, {max + 1, 1}} {
		target := registry.Target{Name: "a", Description: strings.Repeat("x", c.size-empty)}
		if err := b.saveTarget(t, target, revision); err != nil {
			t.Fatal(err)
		}
		b.values.reads = 0
		got, err := b.Targets().Get(t.Context(), "a")
		if err != nil || got.Value.Description != target.Description {
			t.Fatalf("%d bytes: %v", c.size, err)
		}
		revision = got.Revision
		if len(b.values.byAddress) != c.values || b.values.reads != c.values {
			t.Fatalf("%d bytes: %d values, %d reads; want %d", c.size, len(b.values.byAddress), b.values.reads, c.values)
		}
	}
}

func TestARecordOfANewerReleaseIsRefused(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(registryPrefix + topology.TableRegistry),
		Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "target#a"}, "sk": &types.AttributeValueMemberS{Value: "record"},
			"sv": &types.AttributeValueMemberN{Value: "2"}, "doc": &types.AttributeValueMemberS{Value: "{}"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Targets().Get(t.Context(), "a"); err == nil {
		t.Fatal("read without an error")
	}
}

// A record that was deleted leaves nothing behind: not its row, not its place in the index, not the row of a token.
func TestADeletionIsOneTransactionWithItsAuditRecord(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	ctx := t.Context()
	c := registry.Client{AppID: "c", TokenHash: "h"}
	if err := b.Clients().Put(ctx, registry.Versioned[registry.Client]{Value: c}, "", registry.Change{At: saveTime}); err != nil {
		t.Fatal(err)
	}
	v, err := b.Clients().Get(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	gone := registry.Change{At: saveTime, By: "ada", Method: "DELETE", Path: "clients/c"}
	if err := b.Clients().Delete(ctx, *v, gone); err != nil {
		t.Fatal(err)
	}
	shown := registry.Change{At: saveTime, Event: registry.EventTokenRevealed, By: "ada", Method: "GET", Path: "clients/c/token"}
	if err := b.Note(ctx, shown); err != nil {
		t.Fatal(err)
	}
	if rows := append(b.partition(t, topology.TableRegistry, "token#h"), b.partition(t, topology.TableRegistry, "client#c")...); len(rows) != 0 {
		t.Fatalf("left behind: %v", rows)
	}
	events := map[string]int{}
	for _, row := range b.partition(t, topology.TableLedger, "system#config") {
		events[attribute(row, "event")+" "+attribute(row, "method")+" "+attribute(row, "path")]++
	}
	if len(events) != 3 || events["config_change DELETE clients/c"] != 1 || events["client_token_revealed GET clients/c/token"] != 1 {
		t.Fatalf("audit records %v", events)
	}
	if err := b.Clients().Delete(ctx, *v, gone); !errors.Is(err, registry.ErrStale) {
		t.Fatalf("deleted twice: %v", err)
	}
	if rows := b.partition(t, topology.TableLedger, "system#config"); len(rows) != 3 {
		t.Fatalf("a refused deletion is on record: %d records", len(rows))
	}
}
