package stacks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"bailing/infra/stacks"
	"bailing/shared/topology"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// assembly is what one synthesis wrote.
type assembly struct {
	dir                 string
	stateful, stateless *template
}

type template struct {
	Resources map[string]*resource
	Outputs   map[string]struct {
		Value  any
		Export struct{ Name string }
	}
	size int
}

type resource struct {
	Type                                string
	Properties                          map[string]any
	DeletionPolicy, UpdateReplacePolicy string

	id string
}

// node runs one synthesis at a time: the runtime of jsii is one process.
var node sync.Mutex

// synth builds the stacks of a topology. The bootstraps are stubs, each with its function's name for content.
func synth(t *testing.T, system topology.Topology, o stacks.Options) *assembly {
	t.Helper()
	if testing.Short() {
		t.Skip("synthesis takes seconds and needs Node.js")
	}
	dir := t.TempDir()
	a, err := synthInto(dir, system, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func synthInto(dir string, system topology.Topology, o stacks.Options) (*assembly, error) {
	node.Lock()
	defer node.Unlock()
	o.BuildDir = filepath.Join(dir, "build")
	for _, f := range system.Functions {
		if err := os.MkdirAll(filepath.Join(o.BuildDir, f.Name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(o.BuildDir, f.Name, "bootstrap"), []byte(f.Name), 0o755); err != nil {
			return nil, err
		}
	}
	context, err := cdkContext()
	if err != nil {
		return nil, err
	}
	a := &assembly{dir: filepath.Join(dir, "cdk.out")}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(a.dir), Context: &context, AnalyticsReporting: jsii.Bool(false)})
	if err := stacks.Build(app, system, o); err != nil {
		return nil, err
	}
	app.Synth(nil)
	if a.stateful, err = read(a.dir, o.TablePrefix+"stateful"); err != nil {
		return nil, err
	}
	a.stateless, err = read(a.dir, o.TablePrefix+"stateless")
	return a, err
}

// cdkContext holds the feature flags, which only the command line would hand over.
func cdkContext() (map[string]any, error) {
	var c struct{ Context map[string]any }
	b, err := os.ReadFile(filepath.Join("..", "..", "cdk.json"))
	if err != nil {
		return nil, err
	}
	return c.Context, json.Unmarshal(b, &c)
}

func read(dir, stack string) (*template, error) {
	b, err := os.ReadFile(filepath.Join(dir, stack+".template.json"))
	if err != nil {
		return nil, err
	}
	t := &template{size: len(b)}
	if err := json.Unmarshal(b, t); err != nil {
		return nil, err
	}
	for id, r := range t.Resources {
		r.id = id
	}
	return t, nil
}

// shared is the synthesis of the product with default options, which most tests only read.
var shared struct {
	once sync.Once
	a    *assembly
	err  error
}

func product(t *testing.T) *assembly {
	t.Helper()
	if testing.Short() {
		t.Skip("synthesis takes seconds and needs Node.js")
	}
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "bailing-infra-")
		if err != nil {
			shared.err = err
			return
		}
		defer os.RemoveAll(dir)
		shared.a, shared.err = synthInto(dir, topology.System(), stacks.DefaultOptions())
		if shared.err == nil {
			shared.a.dir = "" // gone
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.a
}

// of returns the resources of one type, by logical id.
func (t *template) of(kind string) (found []*resource) {
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		if t.Resources[id].Type == kind {
			found = append(found, t.Resources[id])
		}
	}
	return found
}

// one returns the only resource of a type whose property has a value.
func (t *template) one(tb testing.TB, kind, property, value string) *resource {
	tb.Helper()
	var found []*resource
	for _, r := range t.of(kind) {
		if at(r.Properties, property) == value {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%d resources %s with %s = %s, want 1", len(found), kind, property, value)
	}
	return found[0]
}

// at follows a path of member names and indexes, as in "Policies.0.PolicyName"; nil when there is none.
func at(v any, path string) any {
	for _, part := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// resolve writes a value as text: literals as they are, attributes as «id.Arn», references as «id», also across the stacks.
func (a *assembly) resolve(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		if ref, ok := v["Ref"].(string); ok {
			return "«" + ref + "»"
		}
		if get, ok := v["Fn::GetAtt"].([]any); ok {
			return "«" + get[0].(string) + "." + get[1].(string) + "»"
		}
		if name, ok := v["Fn::ImportValue"].(string); ok {
			for _, out := range a.stateful.Outputs {
				if out.Export.Name == name {
					return a.resolve(out.Value)
				}
			}
		}
		if join, ok := v["Fn::Join"].([]any); ok {
			var b strings.Builder
			for i, part := range join[1].([]any) {
				if i > 0 {
					b.WriteString(join[0].(string))
				}
				b.WriteString(a.resolve(part))
			}
			return b.String()
		}
	}
	return fmt.Sprintf("unresolved %v", v)
}

// texts is a list of strings, which CloudFormation also lets be one string.
func (a *assembly) texts(v any) (out []string) {
	if many, ok := v.([]any); ok {
		for _, one := range many {
			out = append(out, a.resolve(one))
		}
		return out
	}
	return []string{a.resolve(v)}
}

func (a *assembly) function(tb testing.TB, name string) *resource {
	tb.Helper()
	return a.stateless.one(tb, "AWS::Lambda::Function", "FunctionName", "bailing-"+name)
}

func (a *assembly) table(tb testing.TB, name string) *resource {
	tb.Helper()
	return a.stateful.one(tb, "AWS::DynamoDB::Table", "TableName", "bailing-"+name)
}

func (a *assembly) queue(tb testing.TB, name string) *resource {
	tb.Helper()
	return a.stateful.one(tb, "AWS::SQS::Queue", "QueueName", "bailing-"+name)
}

func (t *template) only(tb testing.TB, kind string) *resource {
	tb.Helper()
	found := t.of(kind)
	if len(found) != 1 {
		tb.Fatalf("%d resources of type %s, want 1", len(found), kind)
	}
	return found[0]
}

// want compares a property with a literal.
func (r *resource) want(tb testing.TB, property string, value any) {
	tb.Helper()
	if got := at(r.Properties, property); got != value {
		tb.Errorf("%s: %s is %v, want %v", r.id, property, got, value)
	}
}
