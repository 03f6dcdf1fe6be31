package provision_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/provision"
	"bailing/shared/topology"
)

const prefix = "test-"

// world is one life of a server on a directory.
type world struct {
	t   *testing.T
	env *awslocaltest.Env
	db  *dynamodb.Client
}

func start(t *testing.T, dir string) *world {
	t.Helper()
	env := awslocaltest.Start(t, awslocaltest.Dir(dir), awslocaltest.NoRetries())
	return &world{t, env, dynamodb.NewFromConfig(env.Config("test"))}
}

// restart ends this life and begins the next one on the same directory.
func (w *world) restart(dir string) *world {
	w.t.Helper()
	if err := w.env.Server.Close(); err != nil {
		w.t.Fatal(err)
	}
	return start(w.t, dir)
}

func (w *world) create(topo topology.Topology) error {
	_, err := provision.Create(w.t.Context(), w.env.Config("test"), topo, prefix)
	return err
}

func (w *world) mustCreate(topo topology.Topology) {
	w.t.Helper()
	if err := w.create(topo); err != nil {
		w.t.Fatal(err)
	}
}

// put stores an item of the table jobs, with the keys of every index of the topology.
func (w *world) put(sk string) {
	w.t.Helper()
	item := map[string]types.AttributeValue{"pk": text("p"), "sk": text(sk), "ttl": &types.AttributeValueMemberN{Value: "1"}}
	for _, i := range jobs(topology.System()).Indexes {
		item[i.PartitionKey], item[i.SortKey] = text("x"), text(sk)
	}
	name := aws.String(prefix + topology.TableJobs)
	if _, err := w.db.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}); err != nil {
		w.t.Fatal(err)
	}
}

// list answers the sort keys that an index of the table jobs has, in its order.
func (w *world) list(index topology.Index) string {
	w.t.Helper()
	out, err := w.db.Query(w.t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(prefix + topology.TableJobs), IndexName: aws.String(index.Name),
		KeyConditionExpression: aws.String("#p = :x"), ExpressionAttributeNames: map[string]string{"#p": index.PartitionKey},
		ExpressionAttributeValues: map[string]types.AttributeValue{":x": text("x")},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var sks []string
	for _, item := range out.Items {
		sks = append(sks, item["sk"].(*types.AttributeValueMemberS).Value)
	}
	return strings.Join(sks, " ")
}

// shape describes everything that provisioning makes of the tables.
func (w *world) shape() string {
	w.t.Helper()
	var out []string
	for _, t := range topology.System().Tables {
		name := aws.String(prefix + t.Name)
		d, err := w.db.DescribeTable(w.t.Context(), &dynamodb.DescribeTableInput{TableName: name})
		if err != nil {
			w.t.Fatal(err)
		}
		ttl, err := w.db.DescribeTimeToLive(w.t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: name})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, fmt.Sprint(t.Name, " expires by ", aws.ToString(ttl.TimeToLiveDescription.AttributeName)))
		var indexes []string
		for _, i := range d.Table.GlobalSecondaryIndexes {
			indexes = append(indexes, fmt.Sprint(aws.ToString(i.IndexName), aws.ToString(i.KeySchema[0].AttributeName),
				aws.ToString(i.KeySchema[1].AttributeName), i.Projection.ProjectionType, i.IndexStatus))
		}
		slices.Sort(indexes)
		out = append(out, indexes...)
	}
	return strings.Join(out, "\n")
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func jobs(t topology.Topology) *topology.Table {
	for i := range t.Tables {
		if t.Tables[i].Name == topology.TableJobs {
			return &t.Tables[i]
		}
	}
	panic("no table of jobs")
}

// older is the topology of a release whose table jobs had the first n indexes only, and in which neither jobs nor audit records
// expired.
func older(n int) topology.Topology {
	t := topology.System()
	jobs(t).Indexes = jobs(t).Indexes[:n]
	for i := range t.Tables {
		if name := t.Tables[i].Name; name == topology.TableJobs || name == topology.TableLedger {
			t.Tables[i].TTL = ""
		}
	}
	return t
}

// fresh is the shape of a new directory.
func fresh(t *testing.T) string {
	t.Helper()
	w := start(t, "")
	w.mustCreate(topology.System())
	return w.shape()
}

func TestADirectoryOfAnEarlierReleaseGetsItsMissingIndexes(t *testing.T) {
	t.Parallel()
	want := fresh(t)
	indexes := jobs(topology.System()).Indexes
	for had := range indexes {
		dir := t.TempDir()
		w := start(t, dir)
		w.mustCreate(older(had))
		w.put("a")
		w.put("b")
		w = w.restart(dir)
		w.mustCreate(topology.System())
		w.put("c")
		w.mustCreate(topology.System())
		for life := range 3 {
			if got := w.shape(); got != want {
				t.Errorf("%d indexes, life %d:\n%s\nwant\n%s", had, life, got, want)
			}
			for _, i := range indexes {
				if got := w.list(i); got != "a b c" {
					t.Errorf("%d indexes, life %d: index %s has %q", had, life, i.Name, got)
				}
			}
			w = w.restart(dir)
		}
	}
}

func TestIndexesAndItemsOfALaterReleaseStay(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	w.mustCreate(topology.System())
	w.put("a")
	before := w.shape()
	earlier := topology.System()
	jobs(earlier).Indexes = jobs(earlier).Indexes[:1]
	w.mustCreate(earlier)
	if got := w.shape(); got != before {
		t.Errorf("%s\nwant\n%s", got, before)
	}
	for _, i := range jobs(topology.System()).Indexes {
		if got := w.list(i); got != "a" {
			t.Errorf("index %s has %q", i.Name, got)
		}
	}
}

func TestAProvisioningThatEndsAnywhereIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	want := fresh(t)
	for _, kind := range []fault.Kind{fault.ErrorBefore, fault.ErrorAfterCommit, fault.Drop, fault.DropAfterCommit} {
		for at := 1; ; at++ {
			dir := t.TempDir()
			w := start(t, dir)
			w.mustCreate(older(1))
			w.put("a")
			reached := false
			w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
				if op.Service != "dynamodb" || op.Seq < at {
					return fault.Fault{}
				}
				reached = true // every request from here on, as if the process had died
				if op.Seq == at {
					return fault.Fault{Kind: kind}
				}
				return fault.Fault{Kind: fault.Drop}
			})
			if err := w.create(topology.System()); err == nil && reached {
				t.Errorf("fault %d at request %d: it failed and nobody was told", kind, at)
			}
			w = w.restart(dir)
			w.mustCreate(topology.System())
			if got := w.shape(); got != want {
				t.Errorf("fault %d at request %d:\n%s\nwant\n%s", kind, at, got, want)
			}
			for _, i := range jobs(topology.System()).Indexes {
				if got := w.list(i); got != "a" {
					t.Errorf("fault %d at request %d: index %s has %q", kind, at, i.Name, got)
				}
			}
			if !reached {
				break
			}
		}
	}
}

func TestAStepWhoseAnswerIsLostIsNotAnError(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"UpdateTable", "UpdateTimeToLive"} {
		for _, kind := range []fault.Kind{fault.ErrorAfterCommit, fault.DropAfterCommit} {
			w := start(t, "")
			w.mustCreate(older(0))
			w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
				if op.Action == action {
					return fault.Fault{Kind: kind}
				}
				return fault.Fault{}
			})
			if err := w.create(topology.System()); err != nil {
				t.Errorf("%s, fault %d: %v", action, kind, err)
			}
		}
	}
}

func TestAStepThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"CreateTable", "DescribeTable", "UpdateTable", "DescribeTimeToLive", "UpdateTimeToLive"} {
		w := start(t, "")
		w.mustCreate(older(0))
		w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
			if op.Action == action {
				return fault.Fault{Kind: fault.ErrorBefore}
			}
			return fault.Fault{}
		})
		err := w.create(topology.System())
		if err == nil || errors.Is(err, provision.ErrOtherShape) || !strings.Contains(err.Error(), "table ") {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestAnotherShapeIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	index := func(t topology.Topology) *topology.Index { return &jobs(t).Indexes[1] }
	for name, c := range map[string]struct {
		says   string
		change func(t topology.Topology)
	}{
		"partition key": {"index dead", func(t topology.Topology) { index(t).PartitionKey = "other" }},
		"sort key":      {"index dead", func(t topology.Topology) { index(t).SortKey = "other" }},
		"projection":    {"projection KEYS_ONLY", func(t topology.Topology) { index(t).KeysOnly = !index(t).KeysOnly }},
		"expiry":        {"expire", func(t topology.Topology) { jobs(t).TTL = "other" }},
		"no expiry":     {"expire", func(t topology.Topology) { jobs(t).TTL = "" }},
	} {
		w := start(t, "")
		w.mustCreate(topology.System())
		before := w.shape()
		changed := topology.System()
		c.change(changed)
		err := w.create(changed)
		if !errors.Is(err, provision.ErrOtherShape) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, says := range []string{"table jobs", c.says, "move the data directory away"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, without %q", name, err, says)
			}
		}
		if got := w.shape(); got != before {
			t.Errorf("%s: it changed\n%s", name, got)
		}
	}
}

// Nothing is added to a table of which something else is wrong.
func TestATableOfAnotherShapeGetsNoIndex(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	w.mustCreate(older(2))
	before := w.shape()
	changed := topology.System()
	jobs(changed).Indexes[1].SortKey = "other"
	if err := w.create(changed); !errors.Is(err, provision.ErrOtherShape) {
		t.Errorf("%v", err)
	}
	if got := w.shape(); got != before {
		t.Errorf("it changed\n%s", got)
	}
}

func TestKeysOfAnotherTypeAreAnotherShape(t *testing.T) {
	t.Parallel()
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	keys := func(names ...string) (out []types.KeySchemaElement) {
		kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
		for i, n := range names {
			out = append(out, types.KeySchemaElement{AttributeName: aws.String(n), KeyType: kinds[i]})
		}
		return out
	}
	due := jobs(topology.System()).Indexes[0]
	for name, c := range map[string]struct {
		in   dynamodb.CreateTableInput
		says string
	}{
		"table without a sort key": {dynamodb.CreateTableInput{
			KeySchema: keys("pk"), AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S")},
		}, "(HASH pk S), where"},
		"table with a number": {dynamodb.CreateTableInput{
			KeySchema: keys("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attribute("pk", "S"), attribute("sk", "N")},
		}, "RANGE sk N"},
		"index with a number": {dynamodb.CreateTableInput{
			KeySchema: keys("pk", "sk"),
			AttributeDefinitions: []types.AttributeDefinition{
				attribute("pk", "S"), attribute("sk", "S"), attribute(due.PartitionKey, "S"), attribute(due.SortKey, "N"),
			},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
				IndexName: aws.String(due.Name), KeySchema: keys(due.PartitionKey, due.SortKey),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			}},
		}, "index due"},
	} {
		w := start(t, "")
		c.in.TableName, c.in.BillingMode = aws.String(prefix+topology.TableJobs), types.BillingModePayPerRequest
		if _, err := w.db.CreateTable(t.Context(), &c.in); err != nil {
			t.Fatal(err)
		}
		if err := w.create(topology.System()); !errors.Is(err, provision.ErrOtherShape) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCreateTwiceIsHarmless(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := start(t, dir)
	config := w.env.Config("test")
	first, err := provision.Create(t.Context(), config, topology.System(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
		if strings.HasPrefix(op.Action, "Update") {
			t.Errorf("%s %s in a directory that lacks nothing", op.Action, op.Resource)
		}
		return fault.Fault{}
	})
	second, err := provision.Create(t.Context(), config, topology.System(), prefix)
	if err != nil || len(second.QueueURLs) != len(first.QueueURLs) || second.Bucket != first.Bucket {
		t.Errorf("%+v, %v, first %+v", second, err, first)
	}
}

func TestCreateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := provision.Create(ctx, w.env.Config("test"), topology.System(), prefix); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
