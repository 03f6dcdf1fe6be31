package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/functions/runs"
	"bailing/shared/audience"
	"bailing/shared/registry"
	"bailing/shared/store"
)

// putRoute saves a route over whatever it was.
func putRoute(ctx context.Context, s *store.Store, key string, p *audience.Policy) error {
	v := registry.Versioned[registry.Route]{Value: registry.Route{
		RouteKey: key, Name: "the " + key, Enabled: true, Target: "llm", SessionPolicy: registry.SessionNew,
		TargetConfig: json.RawMessage(`{}`), Audience: p,
	}}
	old, err := s.Routes().Get(ctx, key)
	if err != nil {
		return err
	}
	if old != nil {
		v.Revision = old.Revision
	}
	return s.Routes().Put(ctx, key, v, registry.Change{At: start, By: "token", Method: "POST", Path: "routes"})
}

func keyword(words ...string) *audience.Policy { return &audience.Policy{Keywords: words} }

func TestTripsOfAutoRouting(t *testing.T) {
	t.Parallel()
	s := open(t)
	seed(t, s)
	if err := putRoute(t.Context(), s.Store, "chosen", keyword("refund")); err != nil {
		t.Fatal(err)
	}
	c := newTrips(t, s.Server)
	h, err := runs.New(s.platform(c))
	if err != nil {
		t.Fatal(err)
	}
	submit := func(requestID, route, input string, status int) func(*testing.T) {
		return func(t *testing.T) {
			body := fmt.Sprintf(`{"request_id":%q,"route":%q,"input":%q}`, requestID, route, input)
			if got := call(t, h, "POST", "/run", tripToken, body, status); status == http.StatusAccepted && got["route"] != nil && got["route"] != "chosen" {
				t.Errorf("route %v", got["route"])
			}
		}
	}
	index := []string{"Query"}
	auto := func(requestID string) func(*testing.T) {
		return submit(requestID, "auto", "a refund", http.StatusAccepted)
	}
	wantTrips(t, "route auto", c.count(t, auto("one")), read, index, read, charge1, write)
	wantTrips(t, "its replay", c.count(t, auto("one")), read, read)
	wantTrips(t, "no match", c.count(t, submit("two", "auto", "nothing", http.StatusBadRequest)), read, index, read)
	wantTrips(t, "a route with a policy that is named", c.count(t, submit("three", "chosen", "x", http.StatusAccepted)), read, charge1, write)
	for i := range 120 {
		if err := putRoute(t.Context(), s.Store, fmt.Sprint("more", i), keyword("other")); err != nil {
			t.Fatal(err)
		}
	}
	batches := []string{"BatchGetItem", "BatchGetItem"} // 123 routes, side by side
	wantTrips(t, "many routes", c.count(t, auto("four")), read, index, batches, charge1, write)
}

func TestAutoRoutesAreThoseThatTakePartByKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	on, off := true, false
	for key, p := range map[string]*audience.Policy{
		"none": nil, "empty": {}, "off": {Auto: &off}, "on": {Auto: &on}, "words": keyword("k"),
		"large": keyword(strings.Repeat("k", 400<<10)), // does not fit into its item
	} {
		if err := putRoute(t.Context(), s.Store, key, p); err != nil {
			t.Fatal(err)
		}
	}
	if got := autoKeys(t, s.Store); !slices.Equal(got, []string{"large", "on", "words"}) {
		t.Errorf("routes %v", got)
	}
}

func autoKeys(t *testing.T, s *store.Store) (keys []string) {
	t.Helper()
	routes, err := s.ReadAutoRoutes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		keys = append(keys, r.RouteKey)
	}
	return keys
}

// lagging is a database whose index answers with the keys that it once had.
type lagging struct {
	store.DynamoDB
	keys []string
}

func (l lagging) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	for _, k := range l.keys {
		out.Items = append(out.Items, map[string]types.AttributeValue{"gs": &types.AttributeValueMemberS{Value: k}})
	}
	return out, nil
}

// The index only says which routes there are: what they are now is read from the table.
func TestALaggingIndexShowsNoOldConfiguration(t *testing.T) {
	t.Parallel()
	s := open(t)
	late := store.New(store.Options{
		DB: lagging{s.backend.DB, []string{"changed", "gone", "kept"}}, Values: &store.S3Values{Client: s.backend.S3, Bucket: s.backend.Bucket},
		Prefix: prefix, Clock: s.backend.Clock,
	})
	for _, key := range []string{"changed", "kept"} {
		if err := putRoute(t.Context(), s.Store, key, keyword("k")); err != nil {
			t.Fatal(err)
		}
	}
	if err := putRoute(t.Context(), s.Store, "changed", nil); err != nil {
		t.Fatal(err)
	}
	if got := autoKeys(t, late); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("routes %v, want the one that is there and still takes part", got)
	}
}

func TestAutoRoutesAreReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, key := range []string{"a", "b"} {
		if err := putRoute(t.Context(), s.Store, key, keyword("k")); err != nil {
			t.Fatal(err)
		}
	}
	for request := 1; request <= 2; request++ {
		for name, kind := range kinds {
			s.inject(kind, func(seq int) bool { return seq == request })
			if got := autoKeys(t, s.Store); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("request %d, %s, once: %v", request, name, got)
			}
			s.inject(kind, func(seq int) bool { return seq >= request })
			got, err := s.ReadAutoRoutes(t.Context())
			if err == nil && len(got) != 2 || err != nil && got != nil {
				t.Errorf("request %d, %s, for good: %d routes, %v", request, name, len(got), err)
			}
			s.heal()
		}
	}
}
