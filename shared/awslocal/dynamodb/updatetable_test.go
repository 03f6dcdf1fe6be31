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
)

// lateIndex asks for an index of everything by the string attribute hash, and of the same name.
func lateIndex(hash string) *sdk.UpdateTableInput {
	return &sdk.UpdateTableInput{
		TableName:            aws.String(testTable),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(hash), AttributeType: types.ScalarAttributeTypeS}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:  aws.String(hash),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}},
	}
}

// sorted makes a request for an index one for an index with a sort key.
func sorted(in *sdk.UpdateTableInput, by string, kind types.ScalarAttributeType) *sdk.UpdateTableInput {
	in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(by), AttributeType: kind})
	create := in.GlobalSecondaryIndexUpdates[0].Create
	create.KeySchema = append(create.KeySchema, types.KeySchemaElement{AttributeName: aws.String(by), KeyType: types.KeyTypeRange})
	return in
}

func (b *bundle) addIndex(in *sdk.UpdateTableInput) error {
	_, err := b.client.UpdateTable(b.ctx, in)
	return err
}

// byIndex lists the sort keys, in the index's order, of the items with a hash key of the index.
func (b *bundle) byIndex(t *testing.T, index, value string) []string {
	t.Helper()
	sks, _ := b.queryAll(t, sdk.QueryInput{
		IndexName: aws.String(index), KeyConditionExpression: aws.String("#h = :v"),
		ExpressionAttributeNames: map[string]string{"#h": index}, ExpressionAttributeValues: values{":v": str(value)},
	}, "sk")
	return sks
}

func TestANewIndexHoldsOldItemsAndNewOnes(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t,
		with(keyOf("p", "1"), values{"late": str("x"), "at": num(10)}),
		with(keyOf("p", "2"), values{"late": str("x"), "at": num(9)}),
		with(keyOf("p", "half"), values{"late": str("x")}),
		with(keyOf("p", "gone"), values{"late": str("x"), "at": num(1)}),
		keyOf("p", "none"))
	if err := b.addIndex(sorted(lateIndex("late"), "at", types.ScalarAttributeTypeN)); err != nil {
		t.Fatal(err)
	}
	if got := b.byIndex(t, "late", "x"); !slices.Equal(got, []string{"gone", "2", "1"}) {
		t.Errorf("old items %v", got)
	}
	b.put(t, with(keyOf("p", "3"), values{"late": str("x"), "at": num(0)}), with(keyOf("p", "1"), values{"late": str("y"), "at": num(1)}))
	if _, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("p", "gone")}); err != nil {
		t.Fatal(err)
	}
	if got := b.byIndex(t, "late", "x"); !slices.Equal(got, []string{"3", "2"}) {
		t.Errorf("after writes %v", got)
	}
	if code := code(b.tryPut(with(keyOf("p", "4"), values{"late": num(1)}))); code != "ValidationException" {
		t.Errorf("a new item whose index key has another type: %q", code)
	}
	contents(t, b.service)
}

func TestANewIndexIsDescribedAsActive(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("p", "1"), values{"late": str("x")}), keyOf("p", "2"))
	out, err := b.client.UpdateTable(b.ctx, lateIndex("late"))
	if err != nil {
		t.Fatal(err)
	}
	described, err := b.client.DescribeTable(b.ctx, &sdk.DescribeTableInput{TableName: aws.String(testTable)})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out.TableDescription, described.Table) {
		t.Errorf("the answer is %+v, DescribeTable says %+v", out.TableDescription, described.Table)
	}
	d := described.Table
	if d.TableStatus != types.TableStatusActive || len(d.GlobalSecondaryIndexes) != 4 || len(d.AttributeDefinitions) != 8 {
		t.Fatalf("status %s, %d indexes, %d attributes", d.TableStatus, len(d.GlobalSecondaryIndexes), len(d.AttributeDefinitions))
	}
	ix := d.GlobalSecondaryIndexes[3]
	if aws.ToString(ix.IndexName) != "late" || ix.IndexStatus != types.IndexStatusActive || aws.ToInt64(ix.ItemCount) != 1 ||
		len(ix.KeySchema) != 1 || ix.Projection.ProjectionType != types.ProjectionTypeAll ||
		!strings.HasSuffix(aws.ToString(ix.IndexArn), "things/index/late") {
		t.Errorf("index %+v", ix)
	}
}

func TestANewIndexCarriesWhatItProjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		projection types.Projection
		want       int // attributes out of pk, sk, late, x, y
	}{
		{types.Projection{ProjectionType: types.ProjectionTypeAll}, 5},
		{types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}, 3},
		{types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"x"}}, 4},
	} {
		b := setupTable(t)
		item := values{"late": str("v"), "x": str("1"), "y": str("2")}
		b.put(t, with(keyOf("p", "old"), item))
		in := lateIndex("late")
		in.GlobalSecondaryIndexUpdates[0].Create.Projection = &c.projection
		if err := b.addIndex(in); err != nil {
			t.Fatal(err)
		}
		b.put(t, with(keyOf("p", "young"), item))
		out, err := b.client.Scan(b.ctx, &sdk.ScanInput{TableName: aws.String(testTable), IndexName: aws.String("late")})
		if err != nil || len(out.Items) != 2 || len(out.Items[0]) != c.want || len(out.Items[1]) != c.want {
			t.Errorf("%s: %v, %v, want two items of %d attributes", c.projection.ProjectionType, out, err, c.want)
		}
	}
}

// The service leaves such items out of the index and in the table; every later write of them has to mend them.
func TestANewIndexLeavesOutOldItemsItsKeyCannotHave(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	for name, v := range map[string]types.AttributeValue{
		"number": num(1), "map": mapOf(nil), "empty": str(""), "2048 bytes": str(strings.Repeat("x", maxHashKeyBytes)),
		"2049 bytes": str(strings.Repeat("x", maxHashKeyBytes+1)),
	} {
		b.put(t, with(keyOf("p", name), values{"late": v}))
	}
	if err := b.addIndex(lateIndex("late")); err != nil {
		t.Fatal(err)
	}
	out, err := b.client.Scan(b.ctx, &sdk.ScanInput{TableName: aws.String(testTable), IndexName: aws.String("late")})
	if err != nil || len(out.Items) != 1 || text(out.Items[0]["sk"]) != "2048 bytes" {
		t.Errorf("the index has %v, %v", out, err)
	}
	if got := code(b.tryPut(with(keyOf("p", "number"), values{"late": num(2)}))); got != "ValidationException" {
		t.Errorf("written again as it was: %q", got)
	}
	b.put(t, with(keyOf("p", "number"), values{"late": str("mended")}))
	if got := b.byIndex(t, "late", "mended"); !slices.Equal(got, []string{"number"}) {
		t.Errorf("mended: %v", got)
	}
	if _, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("p", "map")}); err != nil {
		t.Error(err)
	}
	if got, want := contents(t, restart(t, j.records)), contents(t, b.service); !reflect.DeepEqual(got, want) {
		t.Error("a restart makes another state")
	}
}

func TestIndexesThatUpdateTableRefuses(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	type request = *sdk.UpdateTableInput
	create := func(in request) *types.CreateGlobalSecondaryIndexAction {
		return in.GlobalSecondaryIndexUpdates[0].Create
	}
	keysOnly := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly, NonKeyAttributes: []string{"x"}}
	units := &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	deletion := &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("all")}
	cases := map[string]struct {
		code   string // "" is ValidationException
		says   string // a part of the message
		change func(in request)
	}{
		"unknown table":      {"ResourceNotFoundException", "nope", func(in request) { in.TableName = aws.String("nope") }},
		"existing index":     {"", "all", func(in request) { create(in).IndexName = aws.String("all") }},
		"short name":         {"", "IndexName", func(in request) { create(in).IndexName = aws.String("ab") }},
		"range key first":    {"", "HASH", func(in request) { create(in).KeySchema[0].KeyType = types.KeyTypeRange }},
		"no projection type": {"", "ProjectionType", func(in request) { create(in).Projection = &types.Projection{} }},
		"one key twice": {"", "same name", func(in request) {
			create(in).KeySchema = sorted(lateIndex("late"), "late", "S").GlobalSecondaryIndexUpdates[0].Create.KeySchema
		}},
		"undefined key":       {"", "late", func(in request) { in.AttributeDefinitions = nil }},
		"undefined table key": {"", "pk", func(in request) { create(in).KeySchema[0].AttributeName = aws.String("pk") }},
		"unused definition": {"", "more", func(in request) {
			in.AttributeDefinitions = sorted(in, "more", "S").AttributeDefinitions
			create(in).KeySchema = create(in).KeySchema[:1]
		}},
		"key of another type": {"", "b has the type N", func(in request) { sorted(in, "b", "S") }},
		"KEYS_ONLY with attributes": {"", "NonKeyAttributes", func(in request) {
			create(in).Projection = keysOnly
		}},
		"throughput": {"", "ProvisionedThroughput", func(in request) {
			create(in).ProvisionedThroughput = units
		}},
		"two indexes": {"LimitExceededException", "Only 1", func(in request) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, lateIndex("later").AttributeDefinitions...)
			in.GlobalSecondaryIndexUpdates = append(in.GlobalSecondaryIndexUpdates, lateIndex("later").GlobalSecondaryIndexUpdates...)
		}},
		"no index": {"", "GlobalSecondaryIndexUpdates", func(in request) { in.GlobalSecondaryIndexUpdates = nil }},
		"empty update": {"", "Create", func(in request) {
			in.GlobalSecondaryIndexUpdates[0].Create = nil
		}},
		"deletion": {"", "Delete", func(in request) {
			in.GlobalSecondaryIndexUpdates[0] = types.GlobalSecondaryIndexUpdate{Delete: deletion}
		}},
		"deletion beside the creation": {"", "Delete", func(in request) {
			in.GlobalSecondaryIndexUpdates[0].Delete = deletion
		}},
		"billing mode": {"", "BillingMode", func(in request) { in.BillingMode = types.BillingModePayPerRequest }},
		"deletion protection": {"", "DeletionProtectionEnabled", func(in request) {
			in.DeletionProtectionEnabled = aws.Bool(true)
		}},
		"stream alone": {"", "StreamSpecification", func(in request) {
			in.GlobalSecondaryIndexUpdates, in.StreamSpecification = nil, &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		}},
		"table class": {"", "TableClass", func(in request) { in.TableClass = types.TableClassStandard }},
	}
	for name, c := range cases {
		in := lateIndex("late")
		c.change(in)
		if c.code == "" {
			c.code = "ValidationException"
		}
		if err := b.addIndex(in); code(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
	if got := len(b.service.state.tables[testTable].indexes); got != 3 {
		t.Errorf("refused requests left %d indexes", got)
	}
	// Keys that the table has already may be defined again, as they are.
	if err := b.addIndex(sorted(lateIndex("late"), "b", "N")); err != nil {
		t.Error(err)
	}
}

func TestATableHasUpTo20Indexes(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for i := 3; i < maxIndexes; i++ {
		if err := b.addIndex(lateIndex(fmt.Sprint("late", i))); err != nil {
			t.Fatalf("index %d: %v", i+1, err)
		}
	}
	if got := code(b.addIndex(lateIndex("late20"))); got != "ValidationException" {
		t.Errorf("index 21: %q", got)
	}
}
