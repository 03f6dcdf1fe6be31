package stacks_test

import (
	"errors"
	"strings"
	"testing"

	"bailing/infra/stacks"
	"bailing/shared/topology"
)

func TestOptionsFromTheContext(t *testing.T) {
	t.Parallel()
	o, err := stacks.OptionsFrom(map[string]any{
		"@aws-cdk/core:checkSecretUsage": true, // not ours
		"bailing:tablePrefix":            "test-",
		"bailing:logRetentionDays":       7.0,
		"bailing:wafRateLimit":           "1000", // as -c hands it over
		"bailing:throttleRate":           "12.5",
		"bailing:throttleBurst":          25.0,
		"bailing:reservedConcurrency":    map[string]any{"jobworker": 5.0},
		"bailing:accountLogRole":         "false",
		"bailing:egressAllow":            "10.0.0.0/8",
		"bailing:jsonBodyMaxBytes":       2048.0,
		"bailing:auditRetentionDays":     "90",
		"bailing:publicUrl":              "https://hub.example/v1",
		"bailing:alertsType":             "webhook",
		"bailing:alertsUrl":              "https://ops.example",
		"bailing:alertsTo":               "ops",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.TablePrefix != "test-" || o.LogRetentionDays != 7 || o.WAFRateLimit != 1000 || o.ThrottleRate != 12.5 || o.ThrottleBurst != 25 ||
		o.ReservedConcurrency["jobworker"] != 5 || o.AccountLogRole || o.EgressAllow != "10.0.0.0/8" || o.JSONBodyMaxBytes != 2048 ||
		o.AuditRetentionDays != 90 || o.PublicURL != "https://hub.example/v1" || o.AlertsType != "webhook" || o.AlertsURL != "https://ops.example" ||
		o.AlertsTo != "ops" {
		t.Errorf("%+v", o)
	}
	typed, err := stacks.OptionsFrom(map[string]any{"bailing:reservedConcurrency": `{"runs": 2}`, "bailing:accountLogRole": true})
	if err != nil || typed.ReservedConcurrency["runs"] != 2 || !typed.AccountLogRole {
		t.Errorf("%+v, %v", typed, err)
	}
	none, err := stacks.OptionsFrom(nil)
	if err != nil || none.TablePrefix != "bailing-" || none.WAFRateLimit != 0 || none.DomainName != "" || len(none.ReservedConcurrency) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		key   string
		value any
	}{
		"an unknown name":           {"bailing:logRetention", 7.0},
		"a number for a text":       {"bailing:tablePrefix", 7.0},
		"zero days":                 {"bailing:logRetentionDays", 0.0},
		"half a day":                {"bailing:logRetentionDays", "0.5"},
		"words for a number":        {"bailing:wafRateLimit", "many"},
		"a rate below zero":         {"bailing:throttleRate", -1.0},
		"a rate without end":        {"bailing:throttleRate", "inf"},
		"no number at all":          {"bailing:throttleRate", true},
		"concurrency as a number":   {"bailing:reservedConcurrency", 5.0},
		"concurrency in words":      {"bailing:reservedConcurrency", "five"},
		"concurrency of zero":       {"bailing:reservedConcurrency", map[string]any{"runs": 0.0}},
		"neither true nor false":    {"bailing:accountLogRole", "yes"},
		"more than a 32-bit number": {"bailing:throttleBurst", 3e9},
	} {
		_, err := stacks.OptionsFrom(map[string]any{tc.key: tc.value})
		if !errors.Is(err, stacks.ErrOption) || !strings.Contains(err.Error(), tc.key) {
			t.Errorf("%s: %v, want an error that names %s", rule, err, tc.key)
		}
	}
}

// What is wrong for this topology, or together, is refused before anything is built.
func TestBuildRefusesBadOptions(t *testing.T) {
	t.Parallel()
	const certificate = "arn:aws:acm:eu-central-1:111122223333:certificate/x"
	for rule, tc := range map[string]struct {
		mend func(*stacks.Options)
		want string // "" = accepted
	}{
		"the defaults are good":            {func(*stacks.Options) {}, ""},
		"a prefix ends with a hyphen":      {func(o *stacks.Options) { o.TablePrefix = "bailing" }, "tablePrefix"},
		"a prefix begins with a letter":    {func(o *stacks.Options) { o.TablePrefix = "1-" }, "tablePrefix"},
		"a prefix has 32 characters":       {func(o *stacks.Options) { o.TablePrefix = strings.Repeat("p", 31) + "-" }, ""},
		"a prefix has no 33 characters":    {func(o *stacks.Options) { o.TablePrefix = strings.Repeat("p", 32) + "-" }, "tablePrefix"},
		"CloudWatch knows no 8 days":       {func(o *stacks.Options) { o.LogRetentionDays = 8 }, "logRetentionDays"},
		"bodies of 4 MiB arrive":           {func(o *stacks.Options) { o.JSONBodyMaxBytes = 4 << 20 }, ""},
		"bodies of a byte more do not":     {func(o *stacks.Options) { o.JSONBodyMaxBytes = 4<<20 + 1 }, "jsonBodyMaxBytes"},
		"audits last a hundred years":      {func(o *stacks.Options) { o.AuditRetentionDays = 36_500 }, ""},
		"audits last no day longer":        {func(o *stacks.Options) { o.AuditRetentionDays = 36_501 }, "auditRetentionDays"},
		"a rate needs a burst":             {func(o *stacks.Options) { o.ThrottleRate = 1 }, "throttleRate"},
		"WAF counts from 10":               {func(o *stacks.Options) { o.WAFRateLimit = 10 }, ""},
		"WAF counts no 9":                  {func(o *stacks.Options) { o.WAFRateLimit = 9 }, "wafRateLimit"},
		"a domain needs a certificate":     {func(o *stacks.Options) { o.DomainName = "api.example.com" }, "certificateArn"},
		"a certificate needs a domain":     {func(o *stacks.Options) { o.CertificateARN = certificate }, "domainName"},
		"both together":                    {func(o *stacks.Options) { o.DomainName, o.CertificateARN = "api.example.com", certificate }, ""},
		"a URL is no domain":               {func(o *stacks.Options) { o.DomainName, o.CertificateARN = "https://x.example", certificate }, "domainName"},
		"a name is no topic":               {func(o *stacks.Options) { o.AlarmTopicARN = "alarms" }, "alarmTopicArn"},
		"concurrency of unknown functions": {func(o *stacks.Options) { o.ReservedConcurrency = map[string]int{"nobody": 1} }, "nobody"},
		"a first administrator's name":     {func(o *stacks.Options) { o.BootstrapAdmin = "Root-1" }, ""},
		"no first administrator":           {func(o *stacks.Options) { o.BootstrapAdmin = "" }, "bootstrapAdmin"},
		"a name that is none":              {func(o *stacks.Options) { o.BootstrapAdmin = "r" }, "bootstrapAdmin must be"},
		"a name of audit records":          {func(o *stacks.Options) { o.BootstrapAdmin = "token" }, "bootstrapAdmin is reserved"},
		"an address with a path":           {func(o *stacks.Options) { o.PublicURL = "https://hub.example/v1" }, ""},
		"an address with a query":          {func(o *stacks.Options) { o.PublicURL = "https://hub.example?a" }, "publicUrl"},
		"an address without a scheme":      {func(o *stacks.Options) { o.PublicURL = "hub.example" }, "publicUrl"},
		"alerts to an address":             {func(o *stacks.Options) { o.AlertsType, o.AlertsURL = "webhook", "https://ops.example" }, ""},
		"alerts to nobody":                 {func(o *stacks.Options) { o.AlertsType = "webhook" }, "alertsType"},
		"alerts of no type":                {func(o *stacks.Options) { o.AlertsURL = "https://ops.example" }, "alertsType"},
		"a policy that no function reads":  {func(o *stacks.Options) { o.EgressAllow = "10.0.0.0/99" }, "egressAllow"},
	} {
		o := stacks.DefaultOptions()
		o.BuildDir = "build"
		tc.mend(&o)
		err := o.Validate(topology.System())
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", rule, err)
		case tc.want != "" && (!errors.Is(err, stacks.ErrOption) || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want one that names %s", rule, err, tc.want)
		}
	}
}

func TestOptionsShapeTheStacks(t *testing.T) {
	t.Parallel()
	o := stacks.DefaultOptions()
	o.LogRetentionDays, o.ReservedConcurrency = 90, map[string]int{"jobworker": 7}
	o.ThrottleRate, o.ThrottleBurst, o.WAFRateLimit = 50, 100, 2000
	o.DomainName, o.CertificateARN = "api.example.com", "arn:aws:acm:eu-central-1:111122223333:certificate/x"
	o.AlarmTopicARN, o.AccountLogRole = "arn:aws:sns:eu-central-1:111122223333:alarms", false
	o.BootstrapAdmin, o.AuditRetentionDays = "root", 90
	o.EgressAllow, o.JSONBodyMaxBytes, o.Commit, o.BuildTime = "10.0.0.0/8", 2048, "abc", "2026-01-01T00:00:00Z"
	a := synth(t, topology.System(), o)

	for _, log := range a.stateless.of("AWS::Logs::LogGroup") {
		log.want(t, "RetentionInDays", 90.0)
	}
	worker := a.function(t, "jobworker")
	worker.want(t, "ReservedConcurrentExecutions", 7.0)
	for name, value := range map[string]any{
		"EGRESS_ALLOW": "10.0.0.0/8", "JSON_BODY_MAX_BYTES": "2048", "AUDIT_RETENTION_DAYS": "90", "COMMIT": "abc", "BUILD_TIME": "2026-01-01T00:00:00Z",
	} {
		worker.want(t, "Environment.Variables.BAILING_"+name, value)
	}
	a.function(t, "admin").want(t, "Environment.Variables.BAILING_BOOTSTRAP_ADMIN_USERNAME", "root")
	worker.want(t, "Environment.Variables.BAILING_BOOTSTRAP_ADMIN_USERNAME", nil)
	a.function(t, "runs").want(t, "ReservedConcurrentExecutions", nil)
	stage := a.stateless.only(t, "AWS::ApiGateway::Stage")
	stage.want(t, "MethodSettings.0.ThrottlingRateLimit", 50.0)
	stage.want(t, "MethodSettings.0.ThrottlingBurstLimit", 100.0)
	if n := len(a.stateless.of("AWS::ApiGateway::Account")); n != 0 {
		t.Error("the account's setting is touched although it must not be")
	}
	for _, alarm := range a.stateless.of("AWS::CloudWatch::Alarm") {
		alarm.want(t, "AlarmActions.0", o.AlarmTopicARN)
	}

	acl := a.stateless.only(t, "AWS::WAFv2::WebACL")
	acl.want(t, "Scope", "REGIONAL")
	acl.want(t, "Rules.0.Statement.RateBasedStatement.Limit", 2000.0)
	link := a.stateless.only(t, "AWS::WAFv2::WebACLAssociation")
	if got := a.resolve(link.Properties["ResourceArn"]); !strings.HasSuffix(got, "/stages/«"+stage.id+"»") {
		t.Errorf("the WAF protects %s", got)
	}
	domain := a.stateless.only(t, "AWS::ApiGateway::DomainName")
	domain.want(t, "DomainName", "api.example.com")
	domain.want(t, "SecurityPolicy", "TLS_1_2")
	domain.want(t, "RegionalCertificateArn", o.CertificateARN)
	mapping := a.stateless.only(t, "AWS::ApiGateway::BasePathMapping")
	mapping.want(t, "BasePath", nil)
	if got := a.resolve(mapping.Properties["Stage"]); got != "«"+stage.id+"»" {
		t.Errorf("the domain serves %s", got)
	}
	if _, shown := a.stateless.Outputs["DomainTarget"]; !shown {
		t.Error("nobody learns where the domain must point")
	}
}

// Idle cost near zero: what costs while nothing happens is off.
func TestNothingIdleIsOnByDefault(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, kind := range []string{"AWS::WAFv2::WebACL", "AWS::ApiGateway::DomainName", "AWS::EC2::NatGateway", "AWS::EC2::VPC"} {
		if len(a.stateless.of(kind)) > 0 {
			t.Errorf("a %s is there", kind)
		}
	}
}

func TestTwoDeploymentsShareNoName(t *testing.T) {
	t.Parallel()
	o := stacks.DefaultOptions()
	o.TablePrefix = "other-"
	a, b := product(t), synth(t, topology.System(), o)
	names := map[string]bool{}
	collect := func(tpl *template, report bool) {
		for _, r := range tpl.Resources {
			for _, member := range []string{"TableName", "QueueName", "FunctionName", "AliasName", "LogGroupName", "AlarmName", "DashboardName", "StateMachineName", "Name"} {
				name, isText := r.Properties[member].(string)
				if !isText {
					continue
				}
				if report && names[r.Type+name] {
					t.Errorf("both have the %s %s", r.Type, name)
				}
				names[r.Type+name] = true
			}
		}
	}
	collect(a.stateful, false)
	collect(a.stateless, false)
	collect(b.stateful, true)
	collect(b.stateless, true)
}
