package dynamodb

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestEveryTypeOfValueIsStoredAsItWasSent(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	item := with(keyOf("k", "1"), values{
		"s": str("é😀\x00\"\\"), "empty": str(""), "n": numText("-12.5"), "bin": &types.AttributeValueMemberB{Value: []byte{0, 255, 1}},
		"ebin": &types.AttributeValueMemberB{Value: []byte{}}, "t": &types.AttributeValueMemberBOOL{Value: true}, "nul": &types.AttributeValueMemberNULL{Value: true},
		"ss": strSet("x", "y"), "ns": &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l": listOf(num(1), listOf(), str("z")), "m": mapOf(values{"k": mapOf(values{}), "v": num(3)}),
	})
	b.put(t, item)
	got := b.get(t, keyOf("k", "1"))
	if len(got) != len(item) {
		t.Errorf("stored %d attributes, want %d", len(got), len(item))
	}
	for name, want := range item {
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s is stored as %#v, want %#v", name, got[name], want)
		}
	}
}

func TestAnItemThatDoesNotExistIsAbsent(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	if got := b.get(t, keyOf("no", "no")); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestGetItemProjects(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("k", "1"), values{"m": mapOf(values{"x": num(1), "y": num(2)}), "l": listOf(num(1), num(2))}))
	out, err := b.client.GetItem(b.ctx, &sdk.GetItemInput{TableName: aws.String(testTable), Key: keyOf("k", "1"), ProjectionExpression: aws.String("#m.x, l[1]"), ExpressionAttributeNames: map[string]string{"#m": "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (values{"m": mapOf(values{"x": num(1)}), "l": listOf(num(2))}); !reflect.DeepEqual(out.Item, want) {
		t.Errorf("got %v, want %v", out.Item, want)
	}
}

func TestPutAndDeleteReturnTheOldItem(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	item := with(keyOf("k", "1"), values{"v": num(1)})
	first, err := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: aws.String(testTable), Item: item, ReturnValues: types.ReturnValueAllOld})
	if err != nil || first.Attributes != nil {
		t.Errorf("first put returned %v, %v, want nothing", first.Attributes, err)
	}
	second, err := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: aws.String(testTable), Item: with(keyOf("k", "1"), values{"w": num(2)}), ReturnValues: types.ReturnValueAllOld})
	if err != nil || !reflect.DeepEqual(second.Attributes, item) {
		t.Errorf("second put returned %v, %v, want the first item", second.Attributes, err)
	}
	if got := b.get(t, keyOf("k", "1")); got["v"] != nil || text(got["w"]) != "2" {
		t.Errorf("a put merged into the old item: %v", got)
	}
	deleted, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("k", "1"), ReturnValues: types.ReturnValueAllOld})
	if err != nil || text(deleted.Attributes["w"]) != "2" {
		t.Errorf("delete returned %v, %v", deleted, err)
	}
	again, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("k", "1"), ReturnValues: types.ReturnValueAllOld})
	if err != nil || again.Attributes != nil {
		t.Errorf("delete of nothing returned %v, %v", again, err)
	}
}

func TestUpdateReturnValues(t *testing.T) {
	t.Parallel()
	key := keyOf("k", "1")
	before := with(key, values{"n": num(1), "gone": str("x"), "rest": str("r"), "m": mapOf(values{"x": num(1), "y": num(2)})})
	cases := []struct {
		returning types.ReturnValue
		want      values
	}{
		{types.ReturnValueNone, nil},
		{types.ReturnValueAllOld, before},
		{types.ReturnValueUpdatedOld, values{"n": num(1), "gone": str("x"), "m": mapOf(values{"x": num(1)})}},
		{types.ReturnValueAllNew, with(key, values{"n": num(3), "fresh": num(2), "rest": str("r"), "m": mapOf(values{"x": num(2), "y": num(2)})})},
		{types.ReturnValueUpdatedNew, values{"n": num(3), "fresh": num(2), "m": mapOf(values{"x": num(2)})}},
	}
	for _, c := range cases {
		b := setupTable(t)
		b.put(t, before)
		got, err := b.update(key, "SET fresh = :two, m.x = :two ADD n :two REMOVE gone", values{":two": num(2)}, c.returning)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s returned %v, %v, want %v", c.returning, got, err, c.want)
		}
	}
}

func TestUpdateMakesItemsOnlyWhenItSetsSomething(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	if _, err := b.client.UpdateItem(b.ctx, &sdk.UpdateItemInput{TableName: aws.String(testTable), Key: keyOf("k", "empty")}); err != nil {
		t.Fatal(err)
	}
	if got := b.get(t, keyOf("k", "empty")); !reflect.DeepEqual(got, keyOf("k", "empty")) {
		t.Errorf("an update without expression made %v, want the key", got)
	}
	if _, err := b.update(keyOf("k", "removed"), "REMOVE x", nil, ""); err != nil {
		t.Fatal(err)
	}
	if got := b.get(t, keyOf("k", "removed")); got != nil {
		t.Errorf("REMOVE made %v", got)
	}
}

func TestFailedConditions(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	item := with(keyOf("k", "1"), values{"v": num(1)})
	b.put(t, item)
	vals := values{":v": num(2)}
	table, condition := aws.String(testTable), aws.String("v = :v")
	for _, show := range []types.ReturnValuesOnConditionCheckFailure{"", types.ReturnValuesOnConditionCheckFailureAllOld} {
		_, put := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: table, Item: keyOf("k", "1"), ConditionExpression: condition, ExpressionAttributeValues: vals, ReturnValuesOnConditionCheckFailure: show})
		_, update := b.client.UpdateItem(b.ctx, &sdk.UpdateItemInput{TableName: table, Key: keyOf("k", "1"), UpdateExpression: aws.String("SET v = :v"), ConditionExpression: condition, ExpressionAttributeValues: vals, ReturnValuesOnConditionCheckFailure: show})
		_, del := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: table, Key: keyOf("k", "1"), ConditionExpression: condition, ExpressionAttributeValues: vals, ReturnValuesOnConditionCheckFailure: show})
		for name, err := range map[string]error{"put": put, "update": update, "delete": del} {
			var failed *types.ConditionalCheckFailedException
			if !errors.As(err, &failed) {
				t.Errorf("%s: %v, want ConditionalCheckFailedException", name, err)
				continue
			}
			if want := map[bool]values{true: item, false: nil}[show != ""]; !reflect.DeepEqual(failed.Item, want) {
				t.Errorf("%s with %q shows %v, want %v", name, show, failed.Item, want)
			}
		}
	}
	if got := b.get(t, keyOf("k", "1")); !reflect.DeepEqual(got, item) {
		t.Errorf("a failed condition changed the item to %v", got)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	long := func(n int) types.AttributeValue { return str(strings.Repeat("k", n)) }
	cases := []struct {
		name string
		item values
		ok   bool
	}{
		{"hash key of 2,048 bytes", values{"pk": long(2048), "sk": str("1")}, true},
		{"hash key of 2,049 bytes", values{"pk": long(2049), "sk": str("1")}, false},
		{"sort key of 1,024 bytes", values{"pk": str("k"), "sk": long(1024)}, true},
		{"sort key of 1,025 bytes", values{"pk": str("k"), "sk": long(1025)}, false},
		{"empty hash key", values{"pk": str(""), "sk": str("1")}, false},
		{"empty sort key", values{"pk": str("k"), "sk": str("")}, false},
		{"missing sort key", values{"pk": str("k")}, false},
		{"missing hash key", values{"sk": str("1")}, false},
		{"sort key of another type", values{"pk": str("k"), "sk": num(1)}, false},
		{"empty index key", with(keyOf("k", "1"), values{"a": str(""), "b": num(1)}), false},
		{"empty index key, without the other", with(keyOf("k", "1"), values{"a": str("")}), false},
		{"index key of another type", with(keyOf("k", "1"), values{"a": str("x"), "b": str("1")}), false},
		{"index hash key of 2,048 bytes", with(keyOf("k", "1"), values{"a": long(2048)}), true},
		{"index hash key of 2,049 bytes", with(keyOf("k", "1"), values{"a": long(2049)}), false},
		{"index sort key of 1,025 bytes", with(keyOf("k", "1"), values{"d": long(1025)}), false},
	}
	for _, c := range cases {
		if got := code(b.tryPut(c.item)); got != map[bool]string{true: "", false: "ValidationException"}[c.ok] {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	for name, key := range map[string]values{
		"missing attribute":         {"pk": str("k")},
		"extra attribute":           with(keyOf("k", "1"), values{"x": num(1)}),
		"another attribute instead": {"pk": str("k"), "x": str("1")},
		"another type":              {"pk": str("k"), "sk": num(1)},
		"empty":                     keyOf("", "1"),
		"none":                      {},
	} {
		_, get := b.client.GetItem(b.ctx, &sdk.GetItemInput{TableName: aws.String(testTable), Key: key})
		_, del := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: key})
		_, upd := b.update(key, "SET v = :v", values{":v": num(1)}, "")
		for op, err := range map[string]error{"get": get, "delete": del, "update": upd} {
			if code(err) != "ValidationException" {
				t.Errorf("%s with key of %s: %q", op, name, code(err))
			}
		}
	}
}

func TestKeyAttributesCannotBeUpdated(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	set := values{":v": str("x")}
	for expression, v := range map[string]values{"SET pk = :v": set, "SET sk = :v": set, "REMOVE sk": nil, "ADD pk :v": {":v": num(1)}, "DELETE sk :v": {":v": strSet("x")}, "SET pk.x = :v": set} {
		if _, err := b.update(keyOf("k", "1"), expression, v, ""); code(err) != "ValidationException" {
			t.Errorf("%s: %q", expression, code(err))
		}
	}
	if _, err := b.update(keyOf("k", "1"), "SET copied = :v, a = :a", values{":v": str("x"), ":a": str("index keys can")}, ""); err != nil {
		t.Errorf("update of other attributes: %v", err)
	}
	if _, err := b.update(keyOf("k", "1"), "SET b = :v", set, ""); code(err) != "ValidationException" {
		t.Errorf("update of an index key to another type: %q", code(err))
	}
}

func TestItemsMayHave400KB(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	// pk + k, sk + 1, z: 7 bytes of names and keys.
	fill := func(n int) values { return with(keyOf("k", "1"), values{"z": str(strings.Repeat("x", n-7))}) }
	if err := b.tryPut(fill(409_600)); err != nil {
		t.Errorf("409,600 bytes: %v", err)
	}
	if got := code(b.tryPut(fill(409_601))); got != "ValidationException" {
		t.Errorf("409,601 bytes: %q", got)
	}
	b.put(t, fill(409_000))
	if _, err := b.update(keyOf("k", "1"), "SET f = :f", values{":f": str(strings.Repeat("x", 599))}, ""); err != nil {
		t.Errorf("update to 409,600 bytes: %v", err)
	}
	if _, err := b.update(keyOf("k", "1"), "SET f = :f", values{":f": str(strings.Repeat("x", 600))}, ""); code(err) != "ValidationException" {
		t.Errorf("update to 409,601 bytes: %q", code(err))
	}
}

func TestUpdatesMayNest32Levels(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	deep := func(levels int) types.AttributeValue {
		v := str("x")
		for range levels - 1 {
			v = listOf(v)
		}
		return v
	}
	b.put(t, with(keyOf("k", "1"), values{"m": mapOf(values{})}))
	if _, err := b.update(keyOf("k", "1"), "SET m.x = :v", values{":v": deep(31)}, ""); err != nil {
		t.Errorf("32 levels: %v", err)
	}
	if _, err := b.update(keyOf("k", "1"), "SET m.x = :v", values{":v": deep(32)}, ""); code(err) != "ValidationException" {
		t.Errorf("33 levels: %q", code(err))
	}
}

func TestConsumedCapacityIsCountedWhenAsked(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	put, err := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: aws.String(testTable), Item: with(keyOf("k", "1"), values{"z": str(strings.Repeat("x", 5000))}), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil {
		t.Fatal(err)
	}
	if got := aws.ToFloat64(put.ConsumedCapacity.CapacityUnits); got != 5 {
		t.Errorf("put of 5,007 bytes: %v units, want 5", got)
	}
	for consistent, want := range map[bool]float64{true: 2, false: 1} {
		got, err := b.client.GetItem(b.ctx, &sdk.GetItemInput{TableName: aws.String(testTable), Key: keyOf("k", "1"), ConsistentRead: aws.Bool(consistent), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		if err != nil {
			t.Fatal(err)
		}
		if units := aws.ToFloat64(got.ConsumedCapacity.CapacityUnits); units != want {
			t.Errorf("get, consistent %v: %v units, want %v", consistent, units, want)
		}
	}
}
