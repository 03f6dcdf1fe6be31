package dynamodb

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/awslocal/fault"
)

func putRequests(n int) (out []types.WriteRequest) {
	for i := range n {
		out = append(out, types.WriteRequest{PutRequest: &types.PutRequest{Item: with(keyOf("b", fmt.Sprintf("%03d", i)), values{"v": num(i)})}})
	}
	return out
}

func batchKeys(n int) (out []values) {
	for i := range n {
		out = append(out, keyOf("b", fmt.Sprintf("%03d", i)))
	}
	return out
}

func (b *bundle) batchWrite(requests ...types.WriteRequest) (*sdk.BatchWriteItemOutput, error) {
	return b.client.BatchWriteItem(b.ctx, &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{testTable: requests}})
}

func (b *bundle) batchGet(k types.KeysAndAttributes) (*sdk.BatchGetItemOutput, error) {
	return b.client.BatchGetItem(b.ctx, &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{testTable: k}})
}

func TestBatchWritePutsAndDeletes(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, keyOf("b", "old"))
	requests := append(putRequests(24), types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: keyOf("b", "old")}})
	out, err := b.batchWrite(requests...)
	if err != nil || len(out.UnprocessedItems) != 0 {
		t.Fatalf("25 requests: %+v, %v", out, err)
	}
	if b.get(t, keyOf("b", "old")) != nil || text(b.get(t, keyOf("b", "023"))["v"]) != "23" {
		t.Error("not every request had its effect")
	}
}

func TestBatchesThatAreRefusedHaveNoEffect(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	bad := types.WriteRequest{PutRequest: &types.PutRequest{Item: values{"pk": str("b"), "sk": num(1)}}}
	del := types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: keyOf("b", "000")}}
	for name, requests := range map[string][]types.WriteRequest{
		"26 requests":       putRequests(26),
		"none":              {},
		"put and delete":    append(putRequests(2), del),
		"a wrong key":       append(putRequests(2), bad),
		"neither of both":   {{}},
		"the same put":      append(putRequests(1), putRequests(1)...),
		"an item too large": {{PutRequest: &types.PutRequest{Item: with(keyOf("b", "x"), values{"z": str(strings.Repeat("z", 409_600))})}}},
	} {
		if _, err := b.batchWrite(requests...); code(err) != "ValidationException" {
			t.Errorf("write of %s: %q", name, code(err))
		}
	}
	if b.get(t, keyOf("b", "000")) != nil {
		t.Error("a refused batch had an effect")
	}
	for name, k := range map[string]types.KeysAndAttributes{
		"101 keys":               {Keys: batchKeys(101)},
		"no keys":                {Keys: []values{}},
		"a key twice":            {Keys: append(batchKeys(1), batchKeys(1)...)},
		"a wrong key":            {Keys: []values{{"pk": str("b")}}},
		"legacy AttributesToGet": {Keys: batchKeys(1), AttributesToGet: []string{"v"}},
		"an unused name":         {Keys: batchKeys(1), ProjectionExpression: aws.String("v"), ExpressionAttributeNames: map[string]string{"#x": "x"}},
	} {
		if _, err := b.batchGet(k); code(err) != "ValidationException" {
			t.Errorf("get of %s: %q", name, code(err))
		}
	}
}

func TestBatchGetProjectsAndLeavesOutWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for i := range 4 {
		if _, err := b.batchWrite(putRequests(100)[i*25 : (i+1)*25]...); err != nil {
			t.Fatal(err)
		}
	}
	out, err := b.batchGet(types.KeysAndAttributes{Keys: append(batchKeys(99), keyOf("b", "none")), ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#v"), ExpressionAttributeNames: map[string]string{"#v": "v"}})
	if err != nil || len(out.UnprocessedKeys) != 0 {
		t.Fatal(out, err)
	}
	got := map[string]bool{}
	for _, item := range out.Responses[testTable] {
		if len(item) != 1 {
			t.Errorf("an item has %d attributes, want 1", len(item))
		}
		got[text(item["v"])] = true
	}
	if len(got) != 99 || len(out.Responses[testTable]) != 99 {
		t.Errorf("%d items, %d different, want 99", len(out.Responses[testTable]), len(got))
	}
}

func TestBatchGetStopsAt16MB(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	// 65 items of 262,144 bytes: 64 make 16 MB.
	for i := range 65 {
		b.put(t, with(keyOf("b", fmt.Sprintf("%03d", i)), values{"z": str(strings.Repeat("z", 262_144-9))}))
	}
	out, err := b.batchGet(types.KeysAndAttributes{Keys: batchKeys(65), ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk")})
	if err != nil {
		t.Fatal(err)
	}
	rest := out.UnprocessedKeys[testTable]
	if len(out.Responses[testTable]) != 64 || !reflect.DeepEqual(rest.Keys, batchKeys(65)[64:]) {
		t.Errorf("%d items and %d unprocessed keys, want 64 and the last", len(out.Responses[testTable]), len(rest.Keys))
	}
	if !aws.ToBool(rest.ConsistentRead) || aws.ToString(rest.ProjectionExpression) != "sk" {
		t.Errorf("the unprocessed part lost its settings: %+v", rest)
	}
}

func TestAThrottledBatchDoesItsFirstHalf(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	throttle := true
	b.faults.Set(func(fault.Op) fault.Fault {
		if throttle {
			return fault.Fault{Kind: fault.Throttle}
		}
		return fault.Fault{}
	})
	out, err := b.batchWrite(putRequests(5)...)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.UnprocessedItems[testTable]; !reflect.DeepEqual(got, putRequests(5)[3:]) {
		t.Errorf("unprocessed %v, want the last two of five", got)
	}
	if out, err = b.client.BatchWriteItem(b.ctx, &sdk.BatchWriteItemInput{RequestItems: out.UnprocessedItems}); err != nil || len(out.UnprocessedItems[testTable]) != 1 {
		t.Fatalf("the rest again: %+v, %v, want one left", out, err)
	}
	if _, err := b.client.BatchWriteItem(b.ctx, &sdk.BatchWriteItemInput{RequestItems: out.UnprocessedItems}); code(err) != "ProvisionedThroughputExceededException" {
		t.Errorf("a throttled batch of one: %q", code(err))
	}
	names := map[string]string{"#v": "v"}
	got, err := b.batchGet(types.KeysAndAttributes{Keys: batchKeys(4), ProjectionExpression: aws.String("#v"), ExpressionAttributeNames: names})
	if err != nil {
		t.Fatal(err)
	}
	rest := got.UnprocessedKeys[testTable]
	if len(got.Responses[testTable]) != 2 || !reflect.DeepEqual(rest.Keys, batchKeys(4)[2:]) || !reflect.DeepEqual(rest.ExpressionAttributeNames, names) {
		t.Errorf("throttled get: %d items, rest %+v", len(got.Responses[testTable]), rest)
	}
	throttle = false
	if got, err = b.client.BatchGetItem(b.ctx, &sdk.BatchGetItemInput{RequestItems: got.UnprocessedKeys}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, item := range got.Responses[testTable] {
		seen = append(seen, text(item["v"]))
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"2", "3"}) {
		t.Errorf("the rest gave %v, want 2 and 3", seen)
	}
}
