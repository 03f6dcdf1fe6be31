package store_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/registry"
	"bailing/shared/topology"
)

func at(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}

// A deletion must see a route whose save has just ended, which the index may not have yet, and one of an older release, which
// the directory does not have.
func TestListNowHasWhatTheIndexOrTheDirectoryLacks(t *testing.T) {
	t.Parallel()
	b := openRegistry(t)
	table := aws.String(registryPrefix + topology.TableRegistry)
	for _, key := range []string{"fresh", "old", "both"} {
		v := registry.Versioned[registry.Route]{Value: registry.Route{RouteKey: key}}
		if err := b.Routes().Put(t.Context(), key, v, registry.Change{At: saveTime}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: table, Key: at("route#fresh", "record"), UpdateExpression: aws.String("REMOVE gk, gs"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: table, Key: at("routes", "old")}); err != nil {
		t.Fatal(err)
	}
	list, err := b.Routes().List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the index has %d routes, %v", len(list), err)
	}
	now, err := b.Routes().ListNow(t.Context())
	if err != nil || len(now) != 3 || now[0].RouteKey != "both" || now[1].RouteKey != "fresh" || now[2].RouteKey != "old" {
		t.Fatalf("routes now %+v, %v", now, err)
	}
}
