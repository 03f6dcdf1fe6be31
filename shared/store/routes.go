package store

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/registry"
)

// routes is the rows of routes and a directory of them, one partition that can be read strongly as the index cannot:
//
//	route#<key> / record
//	routes      / <key>     written and deleted with the route; one that an older release saved has none, and is in the index
type routes struct{ records[registry.Route] }

const directoryPK = "routes"

func (r *routes) directoryRef(key string) ref {
	return ref{table: r.s.registry(), pk: directoryPK, sk: key}
}

// Put writes the route, its place in the directory and the audit record in one transaction.
func (r *routes) Put(ctx context.Context, _ string, v registry.Versioned[registry.Route], c registry.Change) error {
	return r.PutReferring(ctx, v, nil, c)
}

// PutReferring also writes the next revision of everything that the route refers to.
func (r *routes) PutReferring(ctx context.Context, v registry.Versioned[registry.Route], refs []registry.Reference, c registry.Change) error {
	route, err := r.action(ctx, v.Value.RouteKey, v)
	if err != nil {
		return err
	}
	place := r.directoryRef(v.Value.RouteKey)
	actions := []types.TransactWriteItem{route, put(place.table, newItem(place.pk, place.sk), "", nil, nil), r.s.putChange(c)}
	for _, needed := range refs {
		at := r.s.recordRef(string(needed.Kind), needed.Name)
		actions = append(actions, update(at.table, key(at.pk, at.sk), "ADD rev :one", "attribute_exists(pk)", item{":one": num(1)}))
	}
	return stale(r.s.transact(ctx, actions...))
}

// Delete removes the route and its place in the directory, and writes the audit record, in one transaction.
func (r *routes) Delete(ctx context.Context, name string, revision int64, c registry.Change) error {
	record := remove(r.s.recordRef(r.kind, name), "rev = :rev", item{":rev": num(revision)})
	return stale(r.s.transact(ctx, record, remove(r.directoryRef(name), "", nil), r.s.putChange(c)))
}

// ListNow reads every route, by key: one trip to the directory, one to the index, and those of List.
func (r *routes) ListNow(ctx context.Context) ([]registry.Route, error) {
	refs, err := r.s.listKind(ctx, r.kind)
	if err != nil {
		return nil, err
	}
	err = r.s.query(ctx, &dynamodb.QueryInput{
		TableName: r.s.registry(), ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk, sv"),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(directoryPK)},
	}, func(it item) error {
		refs = append(refs, r.s.recordRef(r.kind, getStr(it, "sk")))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(refs, func(a, b ref) int { return strings.Compare(a.pk, b.pk) })
	return r.read(ctx, slices.CompactFunc(refs, func(a, b ref) bool { return a.pk == b.pk }))
}
