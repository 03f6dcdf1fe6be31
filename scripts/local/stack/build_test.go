package stack

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/platform"
	"bailing/shared/topology"
)

// outside is a function that somebody else runs.
type outside struct {
	lambda.Handler
	closed *atomic.Int32
}

func (o outside) Close() error {
	o.closed.Add(1)
	return nil
}

func TestFunctionsFromElsewhereGetTheirEnvironmentAndAreClosed(t *testing.T) {
	t.Parallel()
	var closed atomic.Int32
	env := map[string]map[string]string{}
	s, err := Start(t.Context(), Options{
		Addr: "127.0.0.1:0", Manual: true,
		Build: func(_ context.Context, f topology.Function, e map[string]string, _ io.Writer) (lambda.Handler, error) {
			env[f.Name] = e
			return outside{closed: &closed}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	token := s.ServerToken
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	functions := topology.System().Functions
	if int(closed.Load()) != len(functions) || len(env) != len(functions) {
		t.Errorf("%d functions built and %d closed, want %d", len(env), closed.Load(), len(functions))
	}
	for _, f := range functions {
		c, err := platform.FromEnv(func(name string) string { return env[f.Name][name] })
		if err := errors.Join(err, c.Require(f)); err != nil {
			t.Error(err)
		}
		if c.AccessKey != f.Name || c.Endpoint == "" {
			t.Errorf("%s: access key %q, endpoint %q", f.Name, c.AccessKey, c.Endpoint)
		}
	}
	if env["runs"]["BAILING_SERVER_TOKEN"] != token {
		t.Error("runs does not know the server token")
	}
}

func TestAFunctionsEnvironmentHoldsWhatItIsGranted(t *testing.T) {
	t.Parallel()
	always := []string{"AWS_ACCESS_KEY_ID", "AWS_REGION"}
	s := &Stack{env: map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_REGION": "us-east-1", "BAILING_BUCKET": "b", "BAILING_KEY_FILE": "k",
		"BAILING_BOOTSTRAP_ADMIN_USERNAME": "a", "BAILING_BOOTSTRAP_ADMIN_PASSWORD": "p",
		"BAILING_SERVER_TOKEN": "t", "BAILING_JOBS_QUEUE_URL": "j", "BAILING_EGRESS_ALLOW": "",
	}}
	cases := []struct {
		name string
		f    topology.Function
		want []string
	}{
		{"nothing, and no empty variable", topology.Function{}, nil},
		{"the bucket", topology.Function{Grants: []topology.Grant{{Kind: topology.OnBucket, Name: topology.BucketValues}}}, []string{"BAILING_BUCKET"}},
		{"the key", topology.Function{Grants: []topology.Grant{{Kind: topology.OnKey, Name: topology.KeySecrets}}}, []string{"BAILING_KEY_FILE"}},
		{"a queue", topology.Function{Grants: []topology.Grant{{Kind: topology.OnQueue, Name: topology.QueueJobs}}}, []string{"BAILING_JOBS_QUEUE_URL"}},
		{"another kind of the same name", topology.Function{Grants: []topology.Grant{{Kind: topology.OnTable, Name: topology.QueueJobs}}}, nil},
		{"logins", topology.Function{Logins: true}, []string{"BAILING_BOOTSTRAP_ADMIN_USERNAME", "BAILING_BOOTSTRAP_ADMIN_PASSWORD"}},
		{"a public route", topology.Function{Routes: []topology.Route{{Auth: topology.Public}}}, nil},
		{"a route with a credential", topology.Function{Routes: []topology.Route{{Auth: topology.Public}, {Auth: topology.ClientOrAdmin}}}, []string{"BAILING_SERVER_TOKEN"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.f.Name = "f"
			env := s.environment(tc.f)
			if got, want := slices.Sorted(maps.Keys(env)), slices.Sorted(slices.Values(slices.Concat(always, tc.want))); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if env["AWS_ACCESS_KEY_ID"] != "f" {
				t.Errorf("the access key is %q, not the function's name", env["AWS_ACCESS_KEY_ID"])
			}
		})
	}
}

func TestAFunctionThatDoesNotStartEndsTheStack(t *testing.T) {
	t.Parallel()
	var closed atomic.Int32
	broken := errors.New("it does not start")
	first := topology.System().Functions[0].Name
	_, err := Start(t.Context(), Options{
		Addr: "127.0.0.1:0",
		Build: func(_ context.Context, f topology.Function, _ map[string]string, _ io.Writer) (lambda.Handler, error) {
			if f.Name != first {
				return nil, broken
			}
			return outside{closed: &closed}, nil
		},
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), topology.System().Functions[1].Name) {
		t.Errorf("err = %v", err)
	}
	if closed.Load() != 1 {
		t.Errorf("%d functions closed, want the one that had started", closed.Load())
	}
}
