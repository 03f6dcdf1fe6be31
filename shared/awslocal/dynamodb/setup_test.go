package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
)

type values = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue    { return numText(strconv.Itoa(n)) }
func numText(n string) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: n}
}
func mapOf(m values) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }
func listOf(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: append([]types.AttributeValue{}, v...)}
}
func strSet(s ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: s} }

func keyOf(pk, sk string) values { return values{"pk": str(pk), "sk": str(sk)} }

// with returns an item of a key and more attributes.
func with(key values, more values) values {
	out := values{}
	for k, v := range key {
		out[k] = v
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// text shows a scalar, so that tests can compare it.
func text(v types.AttributeValue) string {
	switch x := v.(type) {
	case *types.AttributeValueMemberS:
		return x.Value
	case *types.AttributeValueMemberN:
		return x.Value
	case nil:
		return "absent"
	}
	return fmt.Sprintf("%T", v)
}

func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return "no API error: " + err.Error()
}

// memoryJournal keeps records, or fails.
type memoryJournal struct {
	mu      sync.Mutex
	records [][]byte
	fail    error
	// gate, when set, is received from before an append returns.
	gate    chan struct{}
	entered chan struct{}
}

func (j *memoryJournal) Append(rec []byte) error {
	if j.gate != nil {
		j.entered <- struct{}{}
		<-j.gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.records = append(j.records, append([]byte(nil), rec...))
	return nil
}

func (j *memoryJournal) setFailure(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail = err
}

// bundle is a running service and a client of it.
type bundle struct {
	ctx     context.Context
	service *Service
	client  *sdk.Client
	clock   *clock.Manual
	faults  *fault.Injector
	url     string
}

const testTable = "things"

var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// setup starts a service without tables.
func setup(t testing.TB, journal Journal) *bundle {
	t.Helper()
	b := &bundle{ctx: t.Context(), clock: clock.NewManual(testStart), faults: &fault.Injector{}}
	b.service = New(Options{Clock: b.clock, Faults: b.faults, Log: journal})
	server := httptest.NewServer(b.service)
	t.Cleanup(server.Close)
	b.url = server.URL
	b.client = sdk.NewFromConfig(aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", ""),
		BaseEndpoint: aws.String(server.URL),
		Retryer:      func() aws.Retryer { return retry.AddWithMaxAttempts(retry.NewStandard(), 1) },
	})
	return b
}

// setupTable starts a service with the table things: key pk and sk, index all (a, b; everything), keys (c, d; keys only), some (e; with x).
func setupTable(t testing.TB) *bundle {
	t.Helper()
	b := setup(t, nil)
	b.createTable(t, testTable)
	return b
}

func (b *bundle) createTable(t testing.TB, name string) {
	t.Helper()
	if _, err := b.client.CreateTable(b.ctx, tableInput(name)); err != nil {
		t.Fatalf("create table: %v", err)
	}
}

func tableInput(name string) *sdk.CreateTableInput {
	var definitions []types.AttributeDefinition
	for _, n := range []string{"pk", "sk", "a", "b", "c", "d", "e"} {
		kind := types.ScalarAttributeTypeS
		if n == "b" {
			kind = types.ScalarAttributeTypeN
		}
		definitions = append(definitions, types.AttributeDefinition{AttributeName: aws.String(n), AttributeType: kind})
	}
	schema := func(hash string, sort ...string) []types.KeySchemaElement {
		out := []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}}
		for _, s := range sort {
			out = append(out, types.KeySchemaElement{AttributeName: aws.String(s), KeyType: types.KeyTypeRange})
		}
		return out
	}
	return &sdk.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: definitions,
		KeySchema:            schema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("all"), KeySchema: schema("a", "b"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("keys"), KeySchema: schema("c", "d"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
			{IndexName: aws.String("some"), KeySchema: schema("e"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"x"}}},
		},
	}
}

func (b *bundle) put(t testing.TB, items ...values) {
	t.Helper()
	for _, item := range items {
		if _, err := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: aws.String(testTable), Item: item}); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
}

func (b *bundle) tryPut(item values) error {
	_, err := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: aws.String(testTable), Item: item})
	return err
}

// get returns nil for an item that does not exist.
func (b *bundle) get(t testing.TB, key values) values {
	t.Helper()
	out, err := b.client.GetItem(b.ctx, &sdk.GetItemInput{TableName: aws.String(testTable), Key: key})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return out.Item
}

func (b *bundle) update(key values, expression string, v values, returning types.ReturnValue) (values, error) {
	out, err := b.client.UpdateItem(b.ctx, &sdk.UpdateItemInput{
		TableName: aws.String(testTable), Key: key, UpdateExpression: aws.String(expression), ExpressionAttributeValues: v, ReturnValues: returning,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}
