package stacks_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/infra/stacks"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

func TestFunctionsAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	if n := len(a.stateless.of("AWS::Lambda::Function")); n != len(system.Functions) {
		t.Errorf("%d functions, want %d", n, len(system.Functions))
	}
	for _, want := range system.Functions {
		r := a.function(t, want.Name)
		r.want(t, "Runtime", "provided.al2023")
		r.want(t, "Architectures.0", "arm64")
		r.want(t, "Handler", "bootstrap")
		r.want(t, "MemorySize", float64(want.MemoryMB))
		r.want(t, "Timeout", want.Timeout.Seconds())
		r.want(t, "ReservedConcurrentExecutions", nil)
		log := a.stateless.one(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/bailing-"+want.Name)
		log.want(t, "RetentionInDays", 30.0)
		if got := a.resolve(at(r.Properties, "LoggingConfig.LogGroup")); got != "«"+log.id+"»" {
			t.Errorf("%s logs to %s", want.Name, got)
		}
	}
}

// Each function runs its own bootstrap: the stubs hold the names.
func TestEachFunctionHasItsOwnCode(t *testing.T) {
	t.Parallel()
	a := synth(t, topology.System(), stacks.DefaultOptions())
	for _, f := range topology.System().Functions {
		key, _ := at(a.function(t, f.Name).Properties, "Code.S3Key").(string)
		hash, zipped := strings.CutSuffix(key, ".zip")
		b, err := os.ReadFile(filepath.Join(a.dir, "asset."+hash, "bootstrap"))
		if err != nil || !zipped || string(b) != f.Name {
			t.Errorf("%s: its asset %s holds %q, %v", f.Name, key, b, err)
		}
	}
}

// The environment must be one that shared/platform accepts, and hold neither a secret nor a reference that puts one there.
func TestTheEnvironmentIsWhatThePlatformReads(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, f := range topology.System().Functions {
		variables, _ := at(a.function(t, f.Name).Properties, "Environment.Variables").(map[string]any)
		env := map[string]string{"AWS_REGION": "eu-central-1"}
		for name, v := range variables {
			env[name] = a.resolve(v)
		}
		read := map[string]bool{}
		c, err := platform.FromEnv(func(name string) string { read[name] = true; return env[name] })
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err := c.Require(f); err != nil {
			t.Error(err)
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if !read[name] {
				t.Errorf("%s: nothing reads %s", f.Name, name)
			}
			if name == "BAILING_SERVER_TOKEN" || name == "BAILING_BOOTSTRAP_ADMIN_PASSWORD" || strings.Contains(env[name], "{{resolve:") || strings.HasPrefix(env[name], "unresolved") {
				t.Errorf("%s: %s = %s", f.Name, name, env[name])
			}
		}
		if got, want := c.ServerTokenSecret != "", f.NeedsServerToken(); got != want {
			t.Errorf("%s: has the server token: %v, needs it: %v", f.Name, got, want)
		}
		if got := c.BootstrapUsername == "admin" && c.BootstrapPasswordSecret != ""; got != f.Logins {
			t.Errorf("%s: has the bootstrap administrator: %v, logs in: %v", f.Name, got, f.Logins)
		}
		if c.TablePrefix != "bailing-" {
			t.Errorf("%s: table prefix %q", f.Name, c.TablePrefix)
		}
	}
}

func TestQueuesInvokeTheirConsumers(t *testing.T) {
	t.Parallel()
	a, consumers := product(t), 0
	for _, f := range topology.System().Functions {
		if f.Queue == "" {
			continue
		}
		consumers++
		i := slices.IndexFunc(topology.System().Queues, func(q topology.Queue) bool { return q.Name == f.Queue })
		fn := a.function(t, f.Name)
		found := false
		for _, m := range a.stateless.of("AWS::Lambda::EventSourceMapping") {
			if a.resolve(m.Properties["FunctionName"]) != "«"+fn.id+"»" {
				continue
			}
			found = true
			if got := a.resolve(m.Properties["EventSourceArn"]); got != "«"+a.queue(t, f.Queue).id+".Arn»" {
				t.Errorf("%s consumes %s", f.Name, got)
			}
			m.want(t, "BatchSize", float64(f.BatchSize))
			m.want(t, "FunctionResponseTypes.0", "ReportBatchItemFailures")
			m.want(t, "ScalingConfig.MaximumConcurrency", float64(topology.System().Queues[i].MaxConcurrency))
		}
		if !found {
			t.Errorf("nothing invokes %s", f.Name)
		}
	}
	if n := len(a.stateless.of("AWS::Lambda::EventSourceMapping")); n != consumers {
		t.Errorf("%d mappings, want %d", n, consumers)
	}
}

// A consumer that may send into a queue forms chains longer than the 16 hops after which Lambda would stop it.
func TestChainsOfMessagesMayBeLong(t *testing.T) {
	t.Parallel()
	a := product(t)
	a.function(t, "jobworker").want(t, "RecursiveLoop", "Allow")
	a.function(t, "runs").want(t, "RecursiveLoop", nil)
	a.function(t, "sweeper").want(t, "RecursiveLoop", nil)
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	system := topology.System()
	system.Functions = append(system.Functions, topology.Function{
		Name: "daily", Purpose: "p", Every: 24 * time.Hour, Timeout: time.Second, MemoryMB: 128,
	})
	a := synth(t, system, stacks.DefaultOptions())
	for name, want := range map[string]struct {
		rate string
		age  float64
	}{
		"sweeper":   {"rate(1 minute)", 60},
		"refresher": {"rate(1 minute)", 60},
		"daily":     {"rate(1440 minutes)", 6 * 3600}, // Lambda keeps an event for 6 hours at most
	} {
		f := a.function(t, name)
		rule := a.stateless.one(t, "AWS::Events::Rule", "Targets.0.Id", name)
		rule.want(t, "ScheduleExpression", want.rate)
		rule.want(t, "State", "ENABLED")
		if got := a.resolve(at(rule.Properties, "Targets.0.Arn")); got != "«"+f.id+".Arn»" {
			t.Errorf("%s: the rule invokes %s", name, got)
		}
		allowed := slices.ContainsFunc(a.stateless.of("AWS::Lambda::Permission"), func(p *resource) bool {
			return p.Properties["Principal"] == "events.amazonaws.com" && a.resolve(p.Properties["SourceArn"]) == "«"+rule.id+".Arn»" &&
				a.resolve(p.Properties["FunctionName"]) == "«"+f.id+".Arn»"
		})
		if !allowed {
			t.Errorf("%s: EventBridge may not invoke it", name)
		}
		var async *resource
		for _, c := range a.stateless.of("AWS::Lambda::EventInvokeConfig") {
			if a.resolve(c.Properties["FunctionName"]) == "«"+f.id+"»" {
				async = c
			}
		}
		if async == nil {
			t.Errorf("%s: failed runs are repeated", name)
			continue
		}
		async.want(t, "MaximumRetryAttempts", 0.0)
		async.want(t, "MaximumEventAgeInSeconds", want.age)
	}
}

// permission is one action on one resource.
type permission struct{ action, resource string }

func TestRolesGrantExactlyTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	for _, f := range system.Functions {
		log := a.stateless.one(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/bailing-"+f.Name)
		want := map[permission]bool{
			{"logs:CreateLogStream", "«" + log.id + ".Arn»"}: true,
			{"logs:PutLogEvents", "«" + log.id + ".Arn»"}:    true,
		}
		for _, g := range f.Grants {
			for _, action := range g.Actions {
				for _, res := range a.granted(t, system, g, action) {
					want[permission{action, res}] = true
				}
			}
		}
		if f.NeedsServerToken() {
			secret := a.stateful.one(t, "AWS::SecretsManager::Secret", "Name", "bailing-server-token")
			want[permission{"secretsmanager:GetSecretValue", "«" + secret.id + "»"}] = true
		}
		if f.Logins {
			secret := a.stateful.one(t, "AWS::SecretsManager::Secret", "Name", "bailing-bootstrap-admin-password")
			want[permission{"secretsmanager:GetSecretValue", "«" + secret.id + "»"}] = true
		}
		got := a.permissions(t, f.Name)
		for p := range want {
			if !got[p] {
				t.Errorf("%s lacks %s on %s", f.Name, p.action, p.resource)
			}
		}
		for p := range got {
			if !want[p] {
				t.Errorf("%s may %s on %s", f.Name, p.action, p.resource)
			}
		}
	}
}

// granted are the resources of one action of a grant: reading by query covers the indexes of its table, objects of the bucket
// stand below it.
func (a *assembly) granted(t *testing.T, system topology.Topology, g topology.Grant, action string) []string {
	t.Helper()
	switch g.Kind {
	case topology.OnQueue:
		return []string{"«" + a.queue(t, g.Name).id + ".Arn»"}
	case topology.OnKey:
		return []string{"«" + a.stateful.only(t, "AWS::KMS::Key").id + ".Arn»"}
	case topology.OnMachine:
		return []string{machineARN(g.Name)}
	case topology.OnBucket:
		return []string{"«" + a.stateful.only(t, "AWS::S3::Bucket").id + ".Arn»/*"}
	case topology.OnTable:
		arn := "«" + a.table(t, g.Name).id + ".Arn»"
		out := []string{arn}
		for _, table := range system.Tables {
			for _, ix := range table.Indexes {
				if table.Name == g.Name && action == "dynamodb:Query" {
					out = append(out, arn+"/index/"+ix.Name)
				}
			}
		}
		return out
	}
	t.Fatalf("unknown kind %s", g.Kind)
	return nil
}

// permissions are what a function's role allows; the role may hold nothing else.
func (a *assembly) permissions(t *testing.T, function string) map[permission]bool {
	t.Helper()
	var role *resource
	for _, r := range a.stateless.of("AWS::IAM::Role") {
		if a.resolve(at(a.function(t, function).Properties, "Role")) == "«"+r.id+".Arn»" {
			role = r
		}
	}
	if role == nil {
		t.Fatalf("%s has no role", function)
	}
	role.want(t, "ManagedPolicyArns", nil)
	role.want(t, "AssumeRolePolicyDocument.Statement.0.Principal.Service", "lambda.amazonaws.com")
	role.want(t, "AssumeRolePolicyDocument.Statement.1", nil)
	role.want(t, "Policies.1", nil)
	got := map[permission]bool{}
	for _, s := range at(role.Properties, "Policies.0.PolicyDocument.Statement").([]any) {
		if at(s, "Effect") != "Allow" || at(s, "NotAction") != nil || at(s, "NotResource") != nil {
			t.Errorf("%s: statement %v", function, s)
		}
		for _, action := range a.texts(at(s, "Action")) {
			for _, res := range a.texts(at(s, "Resource")) {
				got[permission{action, res}] = true
			}
		}
	}
	return got
}

func TestNoPermissionIsAWildcard(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, f := range topology.System().Functions {
		for p := range a.permissions(t, f.Name) {
			bare := strings.TrimSuffix(p.resource, "/*")
			if strings.Contains(p.action, "*") || strings.Contains(bare, "*") || bare == "" {
				t.Errorf("%s may %s on %s", f.Name, p.action, p.resource)
			}
			if bare != p.resource && !strings.HasPrefix(p.action, "s3:") {
				t.Errorf("%s: only objects may be granted by suffix, not %s on %s", f.Name, p.action, p.resource)
			}
		}
	}
	if n, want := len(a.stateless.of("AWS::IAM::Policy")), 0; n != want {
		t.Errorf("%d policies beside those of the roles", n)
	}
}

// A role without them cannot poll, and CloudFormation would refuse the mapping.
func TestConsumersMayPoll(t *testing.T) {
	t.Parallel()
	for _, f := range topology.System().Functions {
		if f.Queue == "" {
			continue
		}
		for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"} {
			granted := slices.ContainsFunc(f.Grants, func(g topology.Grant) bool {
				return g.Kind == topology.OnQueue && g.Name == f.Queue && slices.Contains(g.Actions, action)
			})
			if !granted {
				t.Errorf("the topology grants %s no %s", f.Name, action)
			}
		}
	}
}

// What S3 asks of the bucket itself would not be granted by a grant on its objects.
func TestListingIsGrantedOnTheBucket(t *testing.T) {
	t.Parallel()
	system := topology.System()
	system.Functions[0].Grants = append(system.Functions[0].Grants, topology.Grant{
		Kind: topology.OnBucket, Name: topology.BucketValues, Actions: []string{"s3:ListBucket"},
	})
	a := synth(t, system, stacks.DefaultOptions())
	bucket := a.stateful.only(t, "AWS::S3::Bucket")
	if !a.permissions(t, system.Functions[0].Name)[permission{"s3:ListBucket", "«" + bucket.id + ".Arn»"}] {
		t.Error("s3:ListBucket is not granted on the bucket")
	}
}

func TestTemplatesHoldNoSecret(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, tpl := range []*template{a.stateful, a.stateless} {
		b, err := json.Marshal(tpl)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "{{resolve:") {
			t.Error("a dynamic reference puts a secret where reading a configuration shows it")
		}
	}
}
