package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/topology"
)

// ErrOtherShape means that a table exists with other keys, another expiry, or another index of the same name than the
// topology says.
var ErrOtherShape = errors.New("move the data directory away, then start again to make a new one")

func otherShape(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrOtherShape)
}

// The keys of every table.
const (
	tablePartitionKey = "pk"
	tableSortKey      = "sk"
)

// provisionTable makes the table called name, or what it lacks.
func provisionTable(ctx context.Context, db *dynamodb.Client, t topology.Table, name string) error {
	err := createTable(ctx, db, t, name)
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		err = addIndexes(ctx, db, t, name)
	}
	if err != nil {
		return err
	}
	return enableExpiry(ctx, db, t, name)
}

func createTable(ctx context.Context, db *dynamodb.Client, t topology.Table, name string) error {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		KeySchema: keySchema(tablePartitionKey, tableSortKey),
	}
	keys := []string{tablePartitionKey, tableSortKey}
	for _, i := range t.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(i.Name), KeySchema: keySchema(i.PartitionKey, i.SortKey), Projection: projection(i),
		})
		keys = append(keys, i.PartitionKey, i.SortKey)
	}
	in.AttributeDefinitions = stringAttributes(keys...)
	_, err := db.CreateTable(ctx, in)
	return err
}

// addIndexes adds the indexes that an existing table lacks, one request each, after it has checked what the table has.
func addIndexes(ctx context.Context, db *dynamodb.Client, t topology.Table, name string) error {
	existing, err := describeTable(ctx, db, name)
	if err != nil {
		return err
	}
	missing, err := compare(t, existing)
	if err != nil {
		return err
	}
	for _, i := range missing {
		_, err := db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName:            aws.String(name),
			AttributeDefinitions: stringAttributes(i.PartitionKey, i.SortKey),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: aws.String(i.Name), KeySchema: keySchema(i.PartitionKey, i.SortKey), Projection: projection(i),
			}}},
		})
		if err == nil {
			continue
		}
		// The request may have been done before, and its answer lost.
		now, lookErr := describeTable(ctx, db, name)
		if lookErr != nil {
			return errors.Join(err, lookErr)
		}
		if left, lookErr := compare(t, now); lookErr != nil || slices.Contains(left, i) {
			return fmt.Errorf("index %s: %w", i.Name, errors.Join(err, lookErr))
		}
	}
	return nil
}

func describeTable(ctx context.Context, db *dynamodb.Client, name string) (*types.TableDescription, error) {
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// compare lists the indexes of t that an existing table lacks. What it has must be as t says.
func compare(t topology.Table, existing *types.TableDescription) (missing []topology.Index, err error) {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range existing.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	has := shape(existing.KeySchema, kinds, nil)
	if want := wantedShape(tablePartitionKey, tableSortKey, nil); has != want {
		return nil, otherShape("it exists with the %s, where the topology says %s", has, want)
	}
	indexes := map[string]string{}
	for _, i := range existing.GlobalSecondaryIndexes {
		indexes[aws.ToString(i.IndexName)] = shape(i.KeySchema, kinds, i.Projection)
	}
	for _, i := range t.Indexes {
		has, found := indexes[i.Name]
		switch want := wantedShape(i.PartitionKey, i.SortKey, projection(i)); {
		case !found:
			missing = append(missing, i)
		case has != want:
			return nil, otherShape("its index %s exists with the %s, where the topology says %s", i.Name, has, want)
		}
	}
	return missing, nil
}

// enableExpiry switches the expiry of t's items on, unless it is.
func enableExpiry(ctx context.Context, db *dynamodb.Client, t topology.Table, name string) error {
	has, err := expiry(ctx, db, name)
	switch {
	case err != nil:
		return err
	case has == t.TTL:
		return nil
	case has != "":
		return otherShape("its items expire by %q, where the topology says %q", has, t.TTL)
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(t.TTL), Enabled: aws.Bool(true)},
	})
	if err == nil {
		return nil
	}
	// The request may have been done before, and its answer lost.
	if has, lookErr := expiry(ctx, db, name); lookErr != nil || has != t.TTL {
		return fmt.Errorf("expiry: %w", errors.Join(err, lookErr))
	}
	return nil
}

// expiry is the attribute by which the items of a table expire; "" when they do not.
func expiry(ctx context.Context, db *dynamodb.Client, name string) (string, error) {
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil || out.TimeToLiveDescription == nil {
		return "", err
	}
	switch d := out.TimeToLiveDescription; d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		return aws.ToString(d.AttributeName), nil
	}
	return "", nil
}

func keySchema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

func projection(i topology.Index) *types.Projection {
	if i.KeysOnly {
		return &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	}
	return &types.Projection{ProjectionType: types.ProjectionTypeAll}
}

// stringAttributes defines key attributes, each once, as strings.
func stringAttributes(names ...string) (out []types.AttributeDefinition) {
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		out = append(out, types.AttributeDefinition{AttributeName: aws.String(n), AttributeType: types.ScalarAttributeTypeS})
	}
	return out
}

// shape describes the keys of a table (without a projection) or index, for comparison and for people.
func shape(keys []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType, p *types.Projection) string {
	var parts []string
	for _, k := range keys {
		name := aws.ToString(k.AttributeName)
		parts = append(parts, fmt.Sprintf("%s %s %s", k.KeyType, name, kinds[name]))
	}
	out := "keys (" + strings.Join(parts, ", ") + ")"
	if p != nil {
		out += " and the projection " + strings.Join(append([]string{string(p.ProjectionType)}, p.NonKeyAttributes...), " ")
	}
	return out
}

func wantedShape(hash, sort string, p *types.Projection) string {
	kinds := map[string]types.ScalarAttributeType{hash: types.ScalarAttributeTypeS, sort: types.ScalarAttributeTypeS}
	return shape(keySchema(hash, sort), kinds, p)
}
