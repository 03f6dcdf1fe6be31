package awslocaltest

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"bailing/shared/awslocal"
	"bailing/shared/clock"
)

// Region is the region of every client.
const Region = "us-east-1"

// Env is a running server. It ends with the test.
type Env struct {
	Server   *awslocal.Server
	Endpoint string // http://127.0.0.1:port

	// Clock is the server's clock, for code under test to share. Manual is the same clock, or nil with the machine's.
	Clock  clock.Clock
	Manual *clock.Manual

	noRetries bool
	client    *http.Client
}

// Option changes what Start starts.
type Option func(*settings)

type settings struct {
	dir       string
	manual    *clock.Manual
	noRetries bool
}

// Dir keeps everything under dir instead of in memory.
func Dir(dir string) Option { return func(s *settings) { s.dir = dir } }

// ManualClock starts the server on a clock that stands at start until the test advances it.
func ManualClock(start time.Time) Option {
	return func(s *settings) { s.manual = clock.NewManual(start) }
}

// SharedClock starts the server on a manual clock that the test has already.
func SharedClock(m *clock.Manual) Option { return func(s *settings) { s.manual = m } }

// NoRetries turns the SDK's retries off, so that one call is one request.
func NoRetries() Option { return func(s *settings) { s.noRetries = true } }

// Start starts a server on a port of its own: in memory and on the machine's clock, unless options say otherwise.
func Start(t testing.TB, opts ...Option) *Env {
	t.Helper()
	var set settings
	for _, o := range opts {
		o(&set)
	}
	e := &Env{Clock: clock.System(), Manual: set.manual, noRetries: set.noRetries}
	// Clients of one test share connections, and never those of another test.
	e.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	if e.Manual != nil {
		e.Clock = e.Manual
	}
	var err error
	if e.Server, err = awslocal.Open(awslocal.Options{Dir: set.dir, Clock: e.Clock}); err != nil {
		t.Fatalf("open the AWS stand-ins: %v", err)
	}
	t.Cleanup(func() {
		e.client.CloseIdleConnections()
		if err := e.Server.Close(); err != nil {
			t.Errorf("close the AWS stand-ins: %v", err)
		}
	})
	if e.Endpoint, err = e.Server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return e
}

// Config configures clients that sign with the given access key id, which tells callers apart in injected faults. S3 clients
// also need UsePathStyle.
func (e *Env) Config(accessKey string) aws.Config {
	c := aws.Config{
		Region:                     Region,
		Credentials:                credentials.NewStaticCredentialsProvider(accessKey, "secret", ""),
		BaseEndpoint:               aws.String(e.Endpoint),
		HTTPClient:                 e.client,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
	if e.noRetries {
		c.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	}
	return c
}
