package stacks_test

import (
	"slices"
	"testing"

	"bailing/shared/topology"
)

func TestTablesAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	if n := len(a.stateful.of("AWS::DynamoDB::Table")); n != len(system.Tables) {
		t.Errorf("%d tables, want %d", n, len(system.Tables))
	}
	for _, want := range system.Tables {
		r := a.table(t, want.Name)
		r.want(t, "BillingMode", "PAY_PER_REQUEST")
		r.want(t, "DeletionProtectionEnabled", true)
		r.want(t, "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", want.Backup)
		keys(t, r, r.Properties["KeySchema"], "pk", "sk")
		if want.TTL == "" {
			r.want(t, "TimeToLiveSpecification", nil)
		} else {
			r.want(t, "TimeToLiveSpecification.AttributeName", want.TTL)
			r.want(t, "TimeToLiveSpecification.Enabled", true)
		}
		indexes, _ := r.Properties["GlobalSecondaryIndexes"].([]any)
		if len(indexes) != len(want.Indexes) {
			t.Errorf("%s: %d indexes, want %d", want.Name, len(indexes), len(want.Indexes))
			continue
		}
		for i, ix := range want.Indexes {
			projection := "ALL"
			if ix.KeysOnly {
				projection = "KEYS_ONLY"
			}
			if at(indexes[i], "IndexName") != ix.Name || at(indexes[i], "Projection.ProjectionType") != projection {
				t.Errorf("%s: index %v, want %+v", want.Name, indexes[i], ix)
			}
			keys(t, r, at(indexes[i], "KeySchema"), ix.PartitionKey, ix.SortKey)
		}
	}
}

// keys requires a schema of these attributes, and strings for their type.
func keys(t *testing.T, r *resource, schema any, partition, sort string) {
	t.Helper()
	if at(schema, "0.AttributeName") != partition || at(schema, "0.KeyType") != "HASH" ||
		at(schema, "1.AttributeName") != sort || at(schema, "1.KeyType") != "RANGE" {
		t.Errorf("%s: keys %v, want %s and %s", r.id, schema, partition, sort)
	}
	for _, name := range []string{partition, sort} {
		typed := slices.ContainsFunc(r.Properties["AttributeDefinitions"].([]any), func(d any) bool {
			return at(d, "AttributeName") == name && at(d, "AttributeType") == "S"
		})
		if !typed {
			t.Errorf("%s: the attribute %s is no string", r.id, name)
		}
	}
}

func TestQueuesAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	if n := len(a.stateful.of("AWS::SQS::Queue")); n != 2*len(system.Queues) {
		t.Errorf("%d queues, want %d with dead-letter queues", n, 2*len(system.Queues))
	}
	for _, want := range system.Queues {
		r, dead := a.queue(t, want.Name), a.queue(t, want.Name+"-dlq")
		r.want(t, "VisibilityTimeout", want.Visibility.Seconds())
		r.want(t, "RedrivePolicy.maxReceiveCount", float64(want.MaxReceiveCount))
		if target := a.resolve(at(r.Properties, "RedrivePolicy.deadLetterTargetArn")); target != "«"+dead.id+".Arn»" {
			t.Errorf("%s: dead letters go to %s", want.Name, target)
		}
		dead.want(t, "MessageRetentionPeriod", 14*24*3600.0)
		for _, q := range []*resource{r, dead} {
			q.want(t, "SqsManagedSseEnabled", true)
			requireTLS(t, a, "AWS::SQS::QueuePolicy", "Queues.0", "«"+q.id+"»")
		}
	}
}

// A message must stay hidden through six runs, or a slow batch is worked on twice. What counts is what the templates say.
func TestVisibilityOutlastsSixRuns(t *testing.T) {
	t.Parallel()
	a := product(t)
	mappings := a.stateless.of("AWS::Lambda::EventSourceMapping")
	if len(mappings) == 0 {
		t.Fatal("nothing consumes a queue")
	}
	for _, m := range mappings {
		timeout, visibility := 0.0, 0.0
		for _, f := range a.stateless.of("AWS::Lambda::Function") {
			if a.resolve(m.Properties["FunctionName"]) == "«"+f.id+"»" {
				timeout = f.Properties["Timeout"].(float64)
			}
		}
		for _, q := range a.stateful.of("AWS::SQS::Queue") {
			if a.resolve(m.Properties["EventSourceArn"]) == "«"+q.id+".Arn»" {
				visibility = q.Properties["VisibilityTimeout"].(float64)
			}
		}
		if timeout == 0 || visibility < 6*timeout {
			t.Errorf("%s: messages are hidden for %g s, a run may take %g s", m.id, visibility, timeout)
		}
	}
}

func TestTheBucketIsPrivateAndKeepsEverything(t *testing.T) {
	t.Parallel()
	a := product(t)
	r := a.stateful.only(t, "AWS::S3::Bucket")
	for _, door := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
		r.want(t, "PublicAccessBlockConfiguration."+door, true)
	}
	r.want(t, "BucketEncryption.ServerSideEncryptionConfiguration.0.ServerSideEncryptionByDefault.SSEAlgorithm", "AES256")
	r.want(t, "OwnershipControls.Rules.0.ObjectOwnership", "BucketOwnerEnforced")
	r.want(t, "LifecycleConfiguration", nil)
	requireTLS(t, a, "AWS::S3::BucketPolicy", "Bucket", "«"+r.id+"»")
}

// requireTLS finds the policy of a queue or bucket and the statement that refuses plain HTTP.
func requireTLS(t *testing.T, a *assembly, kind, member, subject string) {
	t.Helper()
	for _, p := range a.stateful.of(kind) {
		if a.resolve(at(p.Properties, member)) != subject {
			continue
		}
		for _, s := range at(p.Properties, "PolicyDocument.Statement").([]any) {
			if at(s, "Effect") == "Deny" && at(s, "Condition.Bool.aws:SecureTransport") == "false" {
				return
			}
		}
	}
	t.Errorf("%s may be used without TLS", subject)
}

func TestTheKeyRotates(t *testing.T) {
	t.Parallel()
	a := product(t)
	r := a.stateful.only(t, "AWS::KMS::Key")
	r.want(t, "EnableKeyRotation", true)
	alias := a.stateful.only(t, "AWS::KMS::Alias")
	alias.want(t, "AliasName", "alias/bailing-"+topology.KeySecrets)
}

func TestSecretsAreGenerated(t *testing.T) {
	t.Parallel()
	a := product(t)
	names := []string{"bailing-server-token", "bailing-bootstrap-admin-password"}
	if n := len(a.stateful.of("AWS::SecretsManager::Secret")); n != len(names) {
		t.Errorf("%d secrets, want %d", n, len(names))
	}
	for _, name := range names {
		r := a.stateful.one(t, "AWS::SecretsManager::Secret", "Name", name)
		r.want(t, "SecretString", nil)
		r.want(t, "GenerateSecretString.ExcludePunctuation", true)
		if n, _ := at(r.Properties, "GenerateSecretString.PasswordLength").(float64); n < 24 {
			t.Errorf("%s: %g characters; the contract wants 24 of the server token (core §0.2)", name, n)
		}
	}
}

// Deleting the stack, or a change that replaces a resource, must lose nothing.
func TestDataIsRetained(t *testing.T) {
	t.Parallel()
	data := []string{"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SecretsManager::Secret"}
	a := product(t)
	for _, kind := range data {
		found := a.stateful.of(kind)
		if len(found) == 0 {
			t.Errorf("no %s: this proves nothing", kind)
		}
		for _, r := range found {
			if r.DeletionPolicy != "Retain" || r.UpdateReplacePolicy != "Retain" {
				t.Errorf("%s: deletion %q, replacement %q, want Retain", r.id, r.DeletionPolicy, r.UpdateReplacePolicy)
			}
		}
		if misplaced := a.stateless.of(kind); len(misplaced) > 0 {
			t.Errorf("%s is in the stateless stack", misplaced[0].id)
		}
	}
}
