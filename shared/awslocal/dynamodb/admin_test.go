package dynamodb

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestATableIsActiveAtOnceAndDescribesItself(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("k", "1"), values{"c": str("x"), "d": str("y")}), keyOf("k", "2"))
	out, err := b.client.DescribeTable(b.ctx, &sdk.DescribeTableInput{TableName: aws.String(testTable)})
	if err != nil {
		t.Fatal(err)
	}
	d := out.Table
	if d.TableStatus != types.TableStatusActive || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || aws.ToInt64(d.ItemCount) != 2 {
		t.Errorf("status %s, billing %s, %d items", d.TableStatus, d.BillingModeSummary.BillingMode, aws.ToInt64(d.ItemCount))
	}
	if !d.CreationDateTime.Equal(testStart) || len(d.AttributeDefinitions) != 7 || len(d.GlobalSecondaryIndexes) != 3 {
		t.Errorf("created %v, %d attributes, %d indexes", d.CreationDateTime, len(d.AttributeDefinitions), len(d.GlobalSecondaryIndexes))
	}
	keys := d.GlobalSecondaryIndexes[1]
	if aws.ToString(keys.IndexName) != "keys" || keys.IndexStatus != types.IndexStatusActive || aws.ToInt64(keys.ItemCount) != 1 || keys.Projection.ProjectionType != types.ProjectionTypeKeysOnly {
		t.Errorf("index %+v", keys)
	}
	if some := d.GlobalSecondaryIndexes[2]; !slices.Equal(some.Projection.NonKeyAttributes, []string{"x"}) || len(some.KeySchema) != 1 {
		t.Errorf("index %+v", some)
	}
}

func TestUnknownTablesAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	name := aws.String("nope")
	_, describe := b.client.DescribeTable(b.ctx, &sdk.DescribeTableInput{TableName: name})
	_, drop := b.client.DeleteTable(b.ctx, &sdk.DeleteTableInput{TableName: name})
	_, get := b.client.GetItem(b.ctx, &sdk.GetItemInput{TableName: name, Key: keyOf("k", "1")})
	_, put := b.client.PutItem(b.ctx, &sdk.PutItemInput{TableName: name, Item: keyOf("k", "1")})
	_, scan := b.client.Scan(b.ctx, &sdk.ScanInput{TableName: name})
	_, ttl := b.client.DescribeTimeToLive(b.ctx, &sdk.DescribeTimeToLiveInput{TableName: name})
	for op, err := range map[string]error{"describe": describe, "delete": drop, "get": get, "put": put, "scan": scan, "ttl": ttl} {
		if code(err) != "ResourceNotFoundException" {
			t.Errorf("%s: %q", op, code(err))
		}
	}
}

func TestTablesAreListedInPagesAndDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for i := range 5 {
		b.createTable(t, fmt.Sprint("table", i))
	}
	first, err := b.client.ListTables(b.ctx, &sdk.ListTablesInput{Limit: aws.Int32(3)})
	if err != nil || !slices.Equal(first.TableNames, []string{"table0", "table1", "table2"}) {
		t.Fatalf("first page %+v, %v", first, err)
	}
	second, err := b.client.ListTables(b.ctx, &sdk.ListTablesInput{Limit: aws.Int32(3), ExclusiveStartTableName: first.LastEvaluatedTableName})
	if err != nil || !slices.Equal(second.TableNames, []string{"table3", "table4"}) || second.LastEvaluatedTableName != nil {
		t.Errorf("second page %+v, %v", second, err)
	}
	if _, err := b.client.DeleteTable(b.ctx, &sdk.DeleteTableInput{TableName: aws.String("table0")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DescribeTable(b.ctx, &sdk.DescribeTableInput{TableName: aws.String("table0")}); code(err) != "ResourceNotFoundException" {
		t.Errorf("a deleted table is described: %q", code(err))
	}
	if _, err := b.client.CreateTable(b.ctx, tableInput("table1")); code(err) != "ResourceInUseException" {
		t.Errorf("creating a table twice: %q", code(err))
	}
}

func TestProtectedTablesCannotBeDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	in := tableInput(testTable)
	in.DeletionProtectionEnabled = aws.Bool(true)
	if _, err := b.client.CreateTable(b.ctx, in); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DeleteTable(b.ctx, &sdk.DeleteTableInput{TableName: aws.String(testTable)}); code(err) != "ValidationException" {
		t.Errorf("delete: %q", code(err))
	}
}

func TestTableDescriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	index := func(in *sdk.CreateTableInput) *types.GlobalSecondaryIndex { return &in.GlobalSecondaryIndexes[0] }
	for name, change := range map[string]func(in *sdk.CreateTableInput){
		"provisioned throughput": func(in *sdk.CreateTableInput) {
			in.BillingMode, in.ProvisionedThroughput = "", &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
		},
		"local index": func(in *sdk.CreateTableInput) {
			in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: aws.String("local"), KeySchema: in.KeySchema, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}
		},
		"stream": func(in *sdk.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		},
		"name of two characters":   func(in *sdk.CreateTableInput) { in.TableName = aws.String("ab") },
		"name with a slash":        func(in *sdk.CreateTableInput) { in.TableName = aws.String("a/bc") },
		"undefined key attribute":  func(in *sdk.CreateTableInput) { in.AttributeDefinitions = in.AttributeDefinitions[1:] },
		"attribute that is no key": func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:2] },
		"attribute defined twice": func(in *sdk.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, in.AttributeDefinitions[0])
		},
		"range key first":        func(in *sdk.CreateTableInput) { slices.Reverse(in.KeySchema) },
		"three key attributes":   func(in *sdk.CreateTableInput) { in.KeySchema = append(in.KeySchema, in.KeySchema[1]) },
		"one attribute for both": func(in *sdk.CreateTableInput) { in.KeySchema[1].AttributeName = aws.String("pk") },
		"index named twice":      func(in *sdk.CreateTableInput) { index(in).IndexName = aws.String("keys") },
		"KEYS_ONLY with attributes": func(in *sdk.CreateTableInput) {
			in.GlobalSecondaryIndexes[1].Projection.NonKeyAttributes = []string{"x"}
		},
		"INCLUDE without attributes": func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes[2].Projection.NonKeyAttributes = nil },
		"no projection type":         func(in *sdk.CreateTableInput) { index(in).Projection = &types.Projection{} },
		"21 indexes": func(in *sdk.CreateTableInput) {
			for i := range 18 {
				ix := *index(in)
				ix.IndexName = aws.String(fmt.Sprint("more", i))
				in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, ix)
			}
		},
	} {
		in := tableInput("table")
		change(in)
		if _, err := b.client.CreateTable(b.ctx, in); code(err) != "ValidationException" {
			t.Errorf("%s: %q", name, code(err))
		}
	}
}

func (b *bundle) setTTL(enabled bool, attribute string) error {
	_, err := b.client.UpdateTimeToLive(b.ctx, &sdk.UpdateTimeToLiveInput{TableName: aws.String(testTable), TimeToLiveSpecification: &types.TimeToLiveSpecification{Enabled: aws.Bool(enabled), AttributeName: aws.String(attribute)}})
	return err
}

func TestTimeToLiveIsSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	describe := func() string {
		out, err := b.client.DescribeTimeToLive(b.ctx, &sdk.DescribeTimeToLiveInput{TableName: aws.String(testTable)})
		if err != nil {
			t.Fatal(err)
		}
		return string(out.TimeToLiveDescription.TimeToLiveStatus) + " " + aws.ToString(out.TimeToLiveDescription.AttributeName)
	}
	steps := []struct {
		enabled         bool
		attribute, code string
		status          string
	}{
		{false, "exp", "ValidationException", "DISABLED "},
		{true, "exp", "", "ENABLED exp"},
		{true, "exp", "ValidationException", "ENABLED exp"},
		{false, "other", "ValidationException", "ENABLED exp"},
		{false, "exp", "", "DISABLED "},
		{true, "other", "", "ENABLED other"},
	}
	for i, s := range steps {
		if got := code(b.setTTL(s.enabled, s.attribute)); got != s.code || describe() != s.status {
			t.Errorf("step %d: %q and %q, want %q and %q", i, got, describe(), s.code, s.status)
		}
	}
}

func TestSweepDeletesWhatHasExpired(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	now := int(testStart.Unix())
	year := 365 * 24 * 3600
	cases := []struct {
		sk      string
		exp     types.AttributeValue
		deleted bool
	}{
		{"past", num(now - 1), true},
		{"now", num(now), true},
		{"fraction", numText(fmt.Sprintf("%d.9", now)), true},
		{"five years ago", num(now - 5*year), true},
		{"over five years ago", num(now - 5*year - 1), false},
		{"future", num(now + 1), false},
		{"milliseconds by mistake", numText(fmt.Sprintf("%d000", now)), false},
		{"string", str(fmt.Sprint(now - 1)), false},
		{"negative", num(-5), false},
		{"huge", numText("1e100"), false},
		{"none", nil, false},
	}
	for _, c := range cases {
		item := with(keyOf("t", c.sk), values{"c": str("x"), "d": str(c.sk)})
		if c.exp != nil {
			item["exp"] = c.exp
		}
		b.put(t, item)
	}
	b.service.Sweep()
	if b.get(t, keyOf("t", "past")) == nil {
		t.Error("without time to live, a sweep deleted an item")
	}
	if err := b.setTTL(true, "exp"); err != nil {
		t.Fatal(err)
	}
	if b.get(t, keyOf("t", "past")) == nil {
		t.Error("an expired item is invisible before the sweep")
	}
	b.service.Sweep()
	for _, c := range cases {
		if gone := b.get(t, keyOf("t", c.sk)) == nil; gone != c.deleted {
			t.Errorf("%s: deleted is %v, want %v", c.sk, gone, c.deleted)
		}
	}
	left, _ := b.queryAll(t, sdk.QueryInput{IndexName: aws.String("keys"), KeyConditionExpression: aws.String("c = :x"), ExpressionAttributeValues: values{":x": str("x")}}, "sk")
	if len(left) != 7 {
		t.Errorf("the index still has %v", left)
	}
	// An item whose expiry moves is deleted at its new time, and only then.
	if _, err := b.update(keyOf("t", "future"), "SET exp = :e", values{":e": num(now + 100)}, ""); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(50 * time.Second)
	b.service.Sweep()
	if b.get(t, keyOf("t", "future")) == nil {
		t.Error("deleted at its old expiry")
	}
	b.clock.Advance(50 * time.Second)
	b.service.Sweep()
	if b.get(t, keyOf("t", "future")) != nil {
		t.Error("not deleted at its new expiry")
	}
}

func TestSweepDeletesMoreThanOneBatch(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	if err := b.setTTL(true, "exp"); err != nil {
		t.Fatal(err)
	}
	const n = 2*sweepBatch + 10
	err := b.service.commit(func(v *view) error {
		for i := range n {
			item, err := parseTestItem(fmt.Sprintf(`{"pk":{"S":"p%d"},"sk":{"S":"x"},"exp":{"N":"%d"}}`, i, testStart.Unix()-int64(i)))
			if err != nil {
				return err
			}
			v.put(v.state.tables[testTable], item)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.service.Sweep()
	if got := b.service.state.tables[testTable].items.Len(); got != 0 {
		t.Errorf("%d items are left of %d", got, n)
	}
}
