package platform_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/shared/envelope"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

func env(members map[string]string) func(string) string {
	all := map[string]string{"AWS_REGION": "eu-central-1"}
	for k, v := range members {
		all[k] = v
	}
	return func(name string) string { return all[name] }
}

func TestConfigurationFromTheEnvironment(t *testing.T) {
	t.Parallel()
	c, err := platform.FromEnv(env(map[string]string{
		"AWS_ENDPOINT_URL": "http://x", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c",
		"BAILING_TABLE_PREFIX": "p-", "BAILING_BUCKET": "bucket", "BAILING_JOBS_QUEUE_URL": "http://q", "BAILING_CALLBACKS_QUEUE_URL": "http://c",
		"BAILING_KMS_KEY":  "k",
		"BAILING_KEY_FILE": "f", "BAILING_SERVER_TOKEN": strings.Repeat("t", 24), "BAILING_EGRESS_ALLOW": "loopback",
		"BAILING_JSON_BODY_MAX_BYTES": "2048", "BAILING_COMMIT": "abc", "BAILING_BUILD_TIME": "now",
		"BAILING_AUDIT_RETENTION_DAYS": "36500",
	}))
	want := platform.Config{
		Region: "eu-central-1", Endpoint: "http://x", AccessKey: "a", SecretKey: "b", SessionToken: "c", TablePrefix: "p-",
		Bucket: "bucket", JobsQueueURL: "http://q", CallbacksQueueURL: "http://c", KMSKey: "k", KeyFile: "f", ServerToken: strings.Repeat("t", 24),
		AuditRetention: 36_500 * 24 * time.Hour,
		EgressAllow:    "loopback", BodyMax: 2048, Commit: "abc", BuildTime: "now",
	}
	if err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := platform.FromEnv(env(nil))
	if err != nil || c.BodyMax != 1_048_576 || c.ServerToken != "" {
		t.Errorf("body cap %d, error %v; want the contract's megabyte", c.BodyMax, err)
	}
}

func TestBadVariablesAreNamed(t *testing.T) {
	t.Parallel()
	short := strings.Repeat("s", 23)
	for rule, tc := range map[string]struct {
		members map[string]string
		named   []string
	}{
		"no region":               {map[string]string{"AWS_REGION": ""}, []string{"AWS_REGION"}},
		"a server token below 24": {map[string]string{"BAILING_SERVER_TOKEN": short}, []string{"BAILING_SERVER_TOKEN"}},
		"a body cap of zero":      {map[string]string{"BAILING_JSON_BODY_MAX_BYTES": "0"}, []string{"BAILING_JSON_BODY_MAX_BYTES"}},
		"a body cap below zero":   {map[string]string{"BAILING_JSON_BODY_MAX_BYTES": "-1"}, []string{"BAILING_JSON_BODY_MAX_BYTES"}},
		"a body cap in words":     {map[string]string{"BAILING_JSON_BODY_MAX_BYTES": "1MB"}, []string{"BAILING_JSON_BODY_MAX_BYTES"}},
		"a retention below zero":  {map[string]string{"BAILING_AUDIT_RETENTION_DAYS": "-1"}, []string{"BAILING_AUDIT_RETENTION_DAYS"}},
		"a retention past a hundred years": {
			map[string]string{"BAILING_AUDIT_RETENTION_DAYS": "36501"}, []string{"BAILING_AUDIT_RETENTION_DAYS"},
		},
		"a retention of half a day": {map[string]string{"BAILING_AUDIT_RETENTION_DAYS": "0.5"}, []string{"BAILING_AUDIT_RETENTION_DAYS"}},
		"a retention with a unit":   {map[string]string{"BAILING_AUDIT_RETENTION_DAYS": "90d"}, []string{"BAILING_AUDIT_RETENTION_DAYS"}},
		"all of them at once": {
			map[string]string{"AWS_REGION": "", "BAILING_SERVER_TOKEN": short, "BAILING_JSON_BODY_MAX_BYTES": "x"},
			[]string{"AWS_REGION", "BAILING_SERVER_TOKEN", "BAILING_JSON_BODY_MAX_BYTES"},
		},
	} {
		c, err := platform.FromEnv(env(tc.members))
		if err == nil || c != (platform.Config{}) {
			t.Errorf("%s: accepted", rule)
			continue
		}
		for _, name := range tc.named {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v does not name %s", rule, err, name)
			}
		}
		if strings.Contains(err.Error(), short) || strings.Contains(err.Error(), "1MB") {
			t.Errorf("%s: %v repeats the value", rule, err)
		}
	}
}

func TestSecretsNeedAKey(t *testing.T) {
	t.Parallel()
	if _, err := platform.New("f", platform.Config{Region: "r"}, platform.Options{}).Sealer(); err == nil {
		t.Error("secrets without a key")
	}
	p := platform.New("f", platform.Config{Region: "r", KeyFile: filepath.Join(t.TempDir(), "key")}, platform.Options{})
	s, err := p.Sealer()
	if err != nil {
		t.Fatal(err)
	}
	place := envelope.Context{Kind: "client", ID: "acme", Field: "token"}
	sealed, err := s.Seal(t.Context(), []byte("clear"), place)
	if err != nil || strings.Contains(sealed, "clear") {
		t.Fatalf("%s, %v", sealed, err)
	}
	if got, err := s.Open(t.Context(), sealed, place); err != nil || string(got) != "clear" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.Open(t.Context(), sealed, envelope.Context{Kind: "client", ID: "other", Field: "token"}); err == nil {
		t.Error("opens in another record")
	}
	if _, err := s.Seal(t.Context(), []byte("clear"), envelope.Context{Kind: "client"}); err == nil {
		t.Error("sealed for no record")
	}
}

func TestEgressPolicyIsCheckedWhenWired(t *testing.T) {
	t.Parallel()
	_, err := platform.New("f", platform.Config{EgressAllow: "10.0.0.0/99"}, platform.Options{}).Outbound()
	if err == nil || !strings.Contains(err.Error(), "BAILING_EGRESS_ALLOW") {
		t.Errorf("%v does not name the variable", err)
	}
	if _, err := platform.New("f", platform.Config{EgressAllow: "loopback"}, platform.Options{}).Outbound(); err != nil {
		t.Error(err)
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	if a, b := platform.NewID(), platform.NewID(); a == b || len(a) != 36 || a[14] != '4' || a != strings.ToLower(a) {
		t.Errorf("%s, %s: want different lower-case UUIDs of version 4", a, b)
	}
	if a, b := platform.NewToken(), platform.NewToken(); a == b || len(a) != 32 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Errorf("%s, %s: want 32 lower-case hexadecimal digits", a, b)
	}
}

// A function that starts without what it is granted would fail at its first request, with a worse message.
func TestAFunctionNeedsWhatItIsGranted(t *testing.T) {
	t.Parallel()
	worker, _ := topology.System().FunctionNamed("jobworker")
	err := platform.Config{}.Require(worker)
	for _, name := range []string{"BAILING_BUCKET", "BAILING_JOBS_QUEUE_URL", "BAILING_CALLBACKS_QUEUE_URL", "BAILING_APPROVALS_MACHINE", "BAILING_KMS_KEY"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("err = %v, want one that names %s", err, name)
		}
	}
	full := platform.Config{Bucket: "b", JobsQueueURL: "q", CallbacksQueueURL: "c", ApprovalsMachine: "m", KeyFile: "k"}
	if err := full.Require(worker); err != nil {
		t.Error(err)
	}
}
