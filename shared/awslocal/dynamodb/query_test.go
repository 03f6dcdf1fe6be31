package dynamodb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// queryAll follows all pages and lists an attribute of the items, and the number of pages.
func (b *bundle) queryAll(t *testing.T, in sdk.QueryInput, attribute string) (got []string, pages int) {
	t.Helper()
	in.TableName = aws.String(testTable)
	for {
		out, err := b.client.Query(b.ctx, &in)
		if err != nil {
			t.Fatalf("query: %v", err)
		}
		pages++
		for _, item := range out.Items {
			got = append(got, text(item[attribute]))
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return got, pages
		}
	}
}

func TestQueryRestrictsTheSortKey(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for _, sk := range []string{"a", "b", "ba", "bb\x00", "bb", "c", "é"} {
		b.put(t, keyOf("p", sk), keyOf("p2", sk), keyOf("q", sk))
	}
	cases := []struct {
		name, condition string
		values          values
		want            string
	}{
		{"hash only", "pk = :p", nil, "a,b,ba,bb,bb\x00,c,é"},
		{"equal", "pk = :p AND sk = :x", values{":x": str("bb")}, "bb"},
		{"less", "pk = :p AND sk < :x", values{":x": str("bb")}, "a,b,ba"},
		{"less or equal", "pk = :p AND sk <= :x", values{":x": str("bb")}, "a,b,ba,bb"},
		{"greater", "pk = :p AND sk > :x", values{":x": str("bb")}, "bb\x00,c,é"},
		{"greater or equal", "pk = :p AND sk >= :x", values{":x": str("bb")}, "bb,bb\x00,c,é"},
		{"between", "pk = :p AND sk BETWEEN :x AND :y", values{":x": str("ba"), ":y": str("c")}, "ba,bb,bb\x00,c"},
		{"begins_with", "begins_with(sk, :x) AND pk = :p", values{":x": str("b")}, "b,ba,bb,bb\x00"},
		{"nothing", "pk = :p AND sk = :x", values{":x": str("zzz")}, ""},
	}
	for _, c := range cases {
		in := sdk.QueryInput{KeyConditionExpression: aws.String(c.condition), ExpressionAttributeValues: with(values{":p": str("p")}, c.values)}
		got, _ := b.queryAll(t, in, "sk")
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(2)
		back, _ := b.queryAll(t, in, "sk")
		slices.Reverse(back)
		if strings.Join(back, ",") != c.want {
			t.Errorf("%s, backward in pages of two: %q, want the reverse of %q", c.name, back, c.want)
		}
	}
}

func TestNumericSortKeysAreOrderedByValue(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	want := []string{"-1000", "-100", "-20", "-0.5", "0", "0.001", "0.5", "1", "9", "10", "1000"}
	for i, n := range []string{"10", "9", "-0.5", "1000", "-20", "0", "0.5", "-100", "1", "0.001", "-1e3"} {
		b.put(t, with(keyOf("p", fmt.Sprint(i)), values{"a": str("x"), "b": numText(n)}))
	}
	in := sdk.QueryInput{IndexName: aws.String("all"), KeyConditionExpression: aws.String("a = :x"), ExpressionAttributeValues: values{":x": str("x")}}
	if got, _ := b.queryAll(t, in, "b"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	in.KeyConditionExpression = aws.String("a = :x AND b BETWEEN :lo AND :hi")
	in.ExpressionAttributeValues = values{":x": str("x"), ":lo": numText("-20.0"), ":hi": numText("1e0")}
	if got, _ := b.queryAll(t, in, "b"); !slices.Equal(got, want[2:8]) {
		t.Errorf("between -20 and 1: %v, want %v", got, want[2:8])
	}
}

func TestPagesSeeEveryItemOnceAlsoWithEqualIndexKeys(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	var want []string
	for i := range 23 {
		sk := fmt.Sprintf("%02d", i)
		want = append(want, sk)
		b.put(t, with(keyOf("p", sk), values{"a": str("x"), "b": num(1), "c": str("y"), "d": str("same"), "e": str("z")}))
	}
	queries := map[string]sdk.QueryInput{
		"table":    {KeyConditionExpression: aws.String("pk = :v"), ExpressionAttributeValues: values{":v": str("p")}},
		"all":      {IndexName: aws.String("all"), KeyConditionExpression: aws.String("a = :v AND b = :one"), ExpressionAttributeValues: values{":v": str("x"), ":one": num(1)}},
		"keys":     {IndexName: aws.String("keys"), KeyConditionExpression: aws.String("c = :v"), ExpressionAttributeValues: values{":v": str("y")}},
		"hash key": {IndexName: aws.String("some"), KeyConditionExpression: aws.String("e = :v"), ExpressionAttributeValues: values{":v": str("z")}},
	}
	keyAttributes := map[string]int{"table": 2, "all": 4, "keys": 4, "hash key": 3}
	for name, in := range queries {
		for _, forward := range []bool{true, false} {
			for limit := int32(1); limit <= 24; limit += 5 {
				in.ScanIndexForward, in.Limit = aws.Bool(forward), aws.Int32(limit)
				got, _ := b.queryAll(t, in, "sk")
				if !forward {
					slices.Reverse(got)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, forward %v, limit %d: %v", name, forward, limit, got)
				}
			}
		}
		in.TableName, in.Limit, in.ExclusiveStartKey = aws.String(testTable), aws.Int32(3), nil
		out, err := b.client.Query(b.ctx, &in)
		if err != nil || len(out.LastEvaluatedKey) != keyAttributes[name] {
			t.Errorf("%s: LastEvaluatedKey %v, %v, want %d attributes", name, out.LastEvaluatedKey, err, keyAttributes[name])
		}
	}
}

func TestPagingGoesOnWhenTheItemOfTheKeyIsGone(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for i := range 6 {
		b.put(t, keyOf("p", fmt.Sprint(i)))
	}
	in := &sdk.QueryInput{TableName: aws.String(testTable), KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": str("p")}, Limit: aws.Int32(3)}
	out, err := b.client.Query(b.ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("p", "2")}); err != nil {
		t.Fatal(err)
	}
	in.ExclusiveStartKey = out.LastEvaluatedKey
	if out, err = b.client.Query(b.ctx, in); err != nil || len(out.Items) != 3 || text(out.Items[0]["sk"]) != "3" {
		t.Errorf("second page %v, %v", out, err)
	}
}

func TestIndexesAreSparseAndFollowTheirItems(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	count := func(index, attribute, value string) int {
		got, _ := b.queryAll(t, sdk.QueryInput{IndexName: aws.String(index), KeyConditionExpression: aws.String(attribute + " = :v"), ExpressionAttributeValues: values{":v": str(value)}}, "sk")
		return len(got)
	}
	key := keyOf("p", "1")
	b.put(t, with(key, values{"a": str("x")}))
	if got := count("all", "a", "x"); got != 0 {
		t.Errorf("an item without the sort key of the index is in it: %d", got)
	}
	steps := []struct {
		expression string
		values     values
		x, y       int
	}{
		{"SET b = :v", values{":v": num(1)}, 1, 0},
		{"SET a = :v", values{":v": str("y")}, 0, 1},
		{"REMOVE b", nil, 0, 0},
		{"SET b = :v", values{":v": num(5)}, 0, 1},
	}
	for _, s := range steps {
		if _, err := b.update(key, s.expression, s.values, ""); err != nil {
			t.Fatal(err)
		}
		if x, y := count("all", "a", "x"), count("all", "a", "y"); x != s.x || y != s.y {
			t.Errorf("after %s: x %d, y %d, want %d, %d", s.expression, x, y, s.x, s.y)
		}
	}
	if _, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: key}); err != nil {
		t.Fatal(err)
	}
	if got := count("all", "a", "y"); got != 0 {
		t.Errorf("a deleted item is still in the index")
	}
}

func TestIndexesCarryTheirProjection(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("p", "1"), values{"a": str("v"), "b": num(1), "c": str("v"), "d": str("w"), "e": str("v"), "x": num(1), "y": num(2)}))
	for index, want := range map[string]struct{ attribute, names string }{
		"all":  {"a", "a b c d e pk sk x y"},
		"keys": {"c", "c d pk sk"},
		"some": {"e", "e pk sk x"},
	} {
		out, err := b.client.Query(b.ctx, &sdk.QueryInput{TableName: aws.String(testTable), IndexName: aws.String(index), KeyConditionExpression: aws.String(want.attribute + " = :v"), ExpressionAttributeValues: values{":v": str("v")}})
		if err != nil || len(out.Items) != 1 {
			t.Fatalf("%s: %v, %v", index, out, err)
		}
		var names []string
		for n := range out.Items[0] {
			names = append(names, n)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want.names {
			t.Errorf("%s carries %q, want %q", index, got, want.names)
		}
	}
}

func TestFilterComesAfterLimit(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for i := range 20 {
		b.put(t, with(keyOf("p", fmt.Sprintf("%02d", i)), values{"odd": &types.AttributeValueMemberBOOL{Value: i%2 == 1}}))
	}
	in := &sdk.QueryInput{
		TableName: aws.String(testTable), KeyConditionExpression: aws.String("pk = :p"), FilterExpression: aws.String("odd = :t"), Limit: aws.Int32(10),
		ExpressionAttributeValues: values{":p": str("p"), ":t": &types.AttributeValueMemberBOOL{Value: true}},
	}
	out, err := b.client.Query(b.ctx, in)
	if err != nil || out.Count != 5 || out.ScannedCount != 10 || len(out.Items) != 5 || text(out.LastEvaluatedKey["sk"]) != "09" {
		t.Errorf("got %+v, %v", out, err)
	}
	in.Select = types.SelectCount
	if out, err = b.client.Query(b.ctx, in); err != nil || out.Count != 5 || out.Items != nil {
		t.Errorf("COUNT: %+v, %v", out, err)
	}
}

func TestPagesEndAt1MB(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	// 8 items of 262,144 bytes: exactly four fill a page.
	for i := range 8 {
		b.put(t, with(keyOf("p", fmt.Sprint(i)), values{"z": str(strings.Repeat("x", 262_144-7))}))
	}
	in := sdk.QueryInput{KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": str("p")}}
	if got, pages := b.queryAll(t, in, "sk"); len(got) != 8 || pages != 2 {
		t.Errorf("%d items in %d pages, want 8 in 2", len(got), pages)
	}
	b.put(t, with(keyOf("p", "1"), values{"z": str(strings.Repeat("x", 262_144-6))}))
	if got, pages := b.queryAll(t, in, "sk"); len(got) != 8 || pages != 3 {
		t.Errorf("one byte more: %d items in %d pages, want 8 in 3", len(got), pages)
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("p", "1"), values{"c": str("y"), "d": str("1")}))
	p := values{":p": str("p")}
	pk, ck := aws.String("pk = :p"), aws.String("c = :p")
	keys, some := aws.String("keys"), aws.String("some")
	cases := map[string]sdk.QueryInput{
		"no hash key":                         {KeyConditionExpression: aws.String("sk = :p"), ExpressionAttributeValues: p},
		"hash key not with =":                 {KeyConditionExpression: aws.String("pk > :p"), ExpressionAttributeValues: p},
		"no key attribute":                    {KeyConditionExpression: aws.String("pk = :p AND x = :p"), ExpressionAttributeValues: p},
		"wrong type":                          {KeyConditionExpression: pk, ExpressionAttributeValues: values{":p": num(1)}},
		"empty value":                         {KeyConditionExpression: pk, ExpressionAttributeValues: values{":p": str("")}},
		"unknown index":                       {IndexName: aws.String("nope"), KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"consistent read of an index":         {IndexName: keys, ConsistentRead: aws.Bool(true), KeyConditionExpression: ck, ExpressionAttributeValues: p},
		"all attributes of KEYS_ONLY":         {IndexName: keys, Select: types.SelectAllAttributes, KeyConditionExpression: ck, ExpressionAttributeValues: p},
		"attribute that KEYS_ONLY lacks":      {IndexName: keys, ProjectionExpression: aws.String("x"), KeyConditionExpression: ck, ExpressionAttributeValues: p},
		"attribute that INCLUDE lacks":        {IndexName: some, ProjectionExpression: aws.String("y"), KeyConditionExpression: aws.String("e = :p"), ExpressionAttributeValues: p},
		"filter on the key":                   {KeyConditionExpression: pk, FilterExpression: aws.String("sk = :p"), ExpressionAttributeValues: p},
		"filter on the key of the index":      {IndexName: keys, KeyConditionExpression: ck, FilterExpression: aws.String("d = :p"), ExpressionAttributeValues: p},
		"limit 0":                             {Limit: aws.Int32(0), KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"projected attributes of a table":     {Select: types.SelectAllProjectedAttributes, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"specific attributes without any":     {Select: types.SelectSpecificAttributes, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"projection and COUNT":                {Select: types.SelectCount, ProjectionExpression: aws.String("x"), KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"start key without sort key":          {ExclusiveStartKey: values{"pk": str("p")}, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"start key with another attribute":    {ExclusiveStartKey: with(keyOf("p", "1"), p), KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"start key of another type":           {ExclusiveStartKey: values{"pk": str("p"), "sk": num(1)}, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"start key of another partition":      {ExclusiveStartKey: keyOf("q", "1"), KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"start key outside the range":         {ExclusiveStartKey: keyOf("p", "1"), KeyConditionExpression: aws.String("pk = :p AND sk > :x"), ExpressionAttributeValues: values{":p": str("p"), ":x": str("1")}},
		"start key of an index without table": {IndexName: keys, ExclusiveStartKey: values{"c": str("p"), "d": str("1")}, KeyConditionExpression: ck, ExpressionAttributeValues: p},
		"legacy AttributesToGet":              {AttributesToGet: []string{"x"}, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"legacy QueryFilter":                  {QueryFilter: map[string]types.Condition{"x": {ComparisonOperator: types.ComparisonOperatorNull}}, KeyConditionExpression: pk, ExpressionAttributeValues: p},
		"legacy KeyConditions":                {KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: types.ComparisonOperatorEq, AttributeValueList: []types.AttributeValue{str("p")}}}},
		"index capacity":                      {ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes, KeyConditionExpression: pk, ExpressionAttributeValues: p},
	}
	for name, in := range cases {
		in.TableName = aws.String(testTable)
		if _, err := b.client.Query(b.ctx, &in); code(err) != "ValidationException" {
			t.Errorf("%s: %q", name, code(err))
		}
	}
}

func TestScanSegmentsShareTheTable(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	want := map[string]bool{}
	for i := range 100 {
		b.put(t, with(keyOf(fmt.Sprintf("p%d", i%20), fmt.Sprint(i)), values{"v": num(i), "c": str(fmt.Sprint(i % 3)), "d": str("x")}))
		want[fmt.Sprint(i)] = true
	}
	for _, index := range []*string{nil, aws.String("keys")} {
		for _, segments := range []int32{1, 3, 7} {
			got, parts := map[string]bool{}, 0
			for segment := range segments {
				in := &sdk.ScanInput{TableName: aws.String(testTable), IndexName: index, Segment: aws.Int32(segment), TotalSegments: aws.Int32(segments), Limit: aws.Int32(9)}
				seen := 0
				for {
					out, err := b.client.Scan(b.ctx, in)
					if err != nil {
						t.Fatal(err)
					}
					for _, item := range out.Items {
						sk := text(item["sk"])
						if got[sk] {
							t.Errorf("item %s came twice", sk)
						}
						got[sk] = true
						seen++
					}
					if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
						break
					}
				}
				if seen > 0 {
					parts++
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d segments gave %d items, want %d", segments, len(got), len(want))
			}
			if index == nil && segments > 1 && parts < 2 {
				t.Errorf("all items lie in one of %d segments", segments)
			}
		}
	}
	filtered, err := b.client.Scan(b.ctx, &sdk.ScanInput{TableName: aws.String(testTable), FilterExpression: aws.String("pk = :p AND v > :v"), ExpressionAttributeValues: values{":p": str("p3"), ":v": num(50)}})
	if err != nil || filtered.Count != 2 || filtered.ScannedCount != 100 {
		t.Errorf("filtered scan: %+v, %v, want 2 of 100", filtered, err)
	}
	for name, in := range map[string]sdk.ScanInput{
		"segment alone":       {Segment: aws.Int32(0)},
		"total alone":         {TotalSegments: aws.Int32(2)},
		"segment beyond":      {Segment: aws.Int32(2), TotalSegments: aws.Int32(2)},
		"no segments":         {Segment: aws.Int32(0), TotalSegments: aws.Int32(0)},
		"legacy ScanFilter":   {ScanFilter: map[string]types.Condition{"x": {ComparisonOperator: types.ComparisonOperatorNull}}},
		"unknown index":       {IndexName: aws.String("nope")},
		"unused placeholders": {ExpressionAttributeValues: values{":x": num(1)}},
	} {
		in.TableName = aws.String(testTable)
		if _, err := b.client.Scan(b.ctx, &in); code(err) != "ValidationException" {
			t.Errorf("%s: %q", name, code(err))
		}
	}
}
