package store_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/awslocal/provision"
	"bailing/shared/clock"
	"bailing/shared/store"
	"bailing/shared/store/storetest"
	"bailing/shared/topology"
)

func TestInMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Backend { return open(t).backend })
}

// On disk all subtests share one store, as they would in AWS.
func TestInADirectory(t *testing.T) {
	t.Parallel()
	shared := open(t, awslocaltest.Dir(t.TempDir())).backend
	storetest.Run(t, func(*testing.T) storetest.Backend { return shared })
}

const (
	prefix = "bailing-"
	caller = "store" // access key of the store's clients, by which injected faults know it
)

var start = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

// stand is a store over stand-ins of its own.
type stand struct {
	*awslocaltest.Env
	*store.Store
	backend storetest.Backend
	config  aws.Config // of a client that asks without faults
}

func open(t *testing.T, options ...awslocaltest.Option) *stand {
	t.Helper()
	manual := clock.NewManual(start)
	env := awslocaltest.Start(t, append(options, awslocaltest.SharedClock(manual))...)
	s := &stand{Env: env, config: env.Config("test")}
	resources, err := provision.Create(t.Context(), s.config, topology.System(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	c := env.Config(caller)
	c.Retryer = impatient
	s.backend = storetest.Backend{
		DB: dynamodb.NewFromConfig(c), S3: s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }),
		Bucket: resources.Bucket, Prefix: prefix, Clock: skipping{manual},
	}
	s.Store = store.New(store.Options{
		DB: s.backend.DB, Values: &store.S3Values{Client: s.backend.S3, Bucket: resources.Bucket}, Prefix: prefix, Clock: s.backend.Clock,
	})
	s.backend.Store = s.Store
	return s
}

// impatient is the SDK's own three attempts, without its back-off of seconds and its budget of retries.
func impatient() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff, o.RateLimiter = time.Microsecond, ratelimit.None })
}

// skipping is a manual clock on which every wait ends at once, by moving the clock.
type skipping struct{ *clock.Manual }

func (s skipping) After(d time.Duration) <-chan time.Time {
	ch := s.Manual.After(d)
	s.Advance(d)
	return ch
}
