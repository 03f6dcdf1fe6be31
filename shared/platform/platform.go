package platform

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"bailing/shared/agentsession"
	"bailing/shared/capability"
	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/queue"
	"bailing/shared/store"
	"bailing/shared/topology"
	"bailing/shared/waits"
)

// Platform is the ground of one function. It is safe for concurrent use.
type Platform struct {
	Config  Config
	Clock   clock.Clock
	Logger  *slog.Logger
	Metrics *Metrics

	dial outbound.DialFunc // nil = the machine's network
	http aws.HTTPClient    // nil = the SDK's own
}

// Options replaces parts of the platform; the zero value is what a Lambda uses.
type Options struct {
	Clock  clock.Clock
	Output io.Writer // logs and metrics, a JSON object a line; default standard output
	Level  slog.Level
	Dial   outbound.DialFunc // outbound connections
	HTTP   aws.HTTPClient    // requests to AWS
}

// New builds the platform of one function, whose name appears in every log line and metric.
func New(function string, c Config, o Options) *Platform {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	out := &lockedWriter{w: o.Output}
	return &Platform{
		Config: c, Clock: o.Clock, Logger: NewLogger(out, o.Level).With("function", function),
		Metrics: NewMetrics(out, o.Clock, function), dial: o.Dial, http: o.HTTP,
	}
}

// Load builds the platform of a function that runs as a Lambda, from its environment.
func Load(function string) (*Platform, error) {
	c, err := FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	if f, ok := topology.System().FunctionNamed(function); ok {
		if err := c.Require(f); err != nil {
			return nil, err
		}
	}
	p := New(function, c, Options{})
	if err := p.loadServerToken(context.Background()); err != nil {
		return nil, err
	}
	return p, nil
}

// AWS is the configuration of SDK clients. Lambda puts its credentials into the environment for the life of the process.
func (p *Platform) AWS() aws.Config {
	c := aws.Config{
		Region:      p.Config.Region,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(p.Config.AccessKey, p.Config.SecretKey, p.Config.SessionToken)),
		HTTPClient:  p.http,
	}
	if p.http == nil {
		c.HTTPClient = &http.Client{Transport: detachedBody{next: awsTransport()}}
	}
	if p.Config.Endpoint != "" {
		c.BaseEndpoint = aws.String(p.Config.Endpoint)
	}
	return c
}

// awsPatience is how long an endpoint may be silent after a request: longer than a long poll of SQS, and far less than an
// invocation, which a dead connection would otherwise use up.
const awsPatience = 30 * time.Second

// awsTransport keeps enough idle connections for one function's parallel calls to one endpoint.
func awsTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	t.ResponseHeaderTimeout = awsPatience
	return t
}

// detachedBody gives each request a body of its own in memory. The SDK closes the body that it made as soon as an answer's head
// arrives; when the transport is still writing then, it takes that for a failed request and cuts the answer off. Nearby
// endpoints answer that fast.
type detachedBody struct{ next http.RoundTripper }

func (d detachedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return d.next.RoundTrip(r)
	}
	b, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, fmt.Errorf("platform: request body: %w", err)
	}
	own := *r
	own.Body = io.NopCloser(bytes.NewReader(b))
	own.ContentLength = int64(len(b))
	return d.next.RoundTrip(&own)
}

// Store is the product's storage.
func (p *Platform) Store() *store.Store {
	c := p.AWS()
	return store.New(store.Options{
		DB: dynamodb.NewFromConfig(c),
		Values: &store.S3Values{
			Client: s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = p.Config.Endpoint != "" }),
			Bucket: p.Config.Bucket,
		},
		Prefix: p.Config.TablePrefix, Clock: p.Clock, Logger: p.Logger, AuditRetention: p.Config.AuditRetention,
	})
}

// JobsQueue sends to the jobs queue.
func (p *Platform) JobsQueue() *queue.Jobs {
	return &queue.Jobs{Client: sqs.NewFromConfig(p.AWS()), URL: p.Config.JobsQueueURL}
}

// CallbacksQueue sends to the callbacks queue.
func (p *Platform) CallbacksQueue() *queue.Callbacks {
	return &queue.Callbacks{Client: sqs.NewFromConfig(p.AWS()), URL: p.Config.CallbacksQueueURL}
}

// Waits starts and ends the waits of approvals.
func (p *Platform) Waits() *waits.Machine {
	return &waits.Machine{Client: sfn.NewFromConfig(p.AWS()), ARN: p.Config.ApprovalsMachine}
}

// Lifecycle moves jobs on.
func (p *Platform) Lifecycle(s *store.Store) *job.Lifecycle {
	return &job.Lifecycle{Store: s, Queue: p.JobsQueue(), Notifier: p.CallbacksQueue(), Clock: p.Clock, Logger: p.Logger}
}

// AgentSessions lets local agents in (agent §2).
func (p *Platform) AgentSessions(s *store.Store) *agentsession.Service {
	return &agentsession.Service{Store: s.Agents(), Clock: p.Clock, Logger: p.Logger, NewID: NewID, Random: rand.Reader}
}

// Delivery attempts callbacks and deliveries.
func (p *Platform) Delivery(s *store.Store) (*delivery.Service, error) {
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	http, err := p.Outbound()
	if err != nil {
		return nil, err
	}
	return &delivery.Service{
		Store: s, Clients: s.Clients(), Secrets: sealer, HTTP: http, Queue: p.CallbacksQueue(), ServerToken: p.Config.ServerToken,
		Clock: p.Clock, Logger: p.Logger, NewID: NewID,
	}, nil
}

// Providers reads specifications, probes businesses and makes calls by hand. The compiler is handed in, so that only functions that
// need it link it.
func (p *Platform) Providers(s *store.Store, compile func([]byte) *capability.Catalog, version int) (*provider.Service, error) {
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	http, err := p.Outbound()
	if err != nil {
		return nil, err
	}
	return &provider.Service{
		Store: s, HTTP: http, Secrets: sealer, Compile: compile, CompilerVersion: version, Clock: p.Clock, Logger: p.Logger, NewID: NewID,
	}, nil
}

// Sealer seals and opens secrets, with KMS or a local key file.
func (p *Platform) Sealer() (*envelope.Envelope, error) {
	var source envelope.KeySource
	switch {
	case p.Config.KMSKey != "":
		source = &kmsSource{client: kms.NewFromConfig(p.AWS()), key: p.Config.KMSKey}
	case p.Config.KeyFile != "":
		var err error
		if source, err = envelope.FileKey(p.Config.KeyFile); err != nil {
			return nil, fmt.Errorf("platform: key file: %w", err)
		}
	default:
		return nil, errors.New("platform: neither BAILING_KMS_KEY nor BAILING_KEY_FILE is set")
	}
	e, err := envelope.New(envelope.Config{Keys: source, Clock: p.Clock})
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	return e, nil
}

// Outbound is the guarded HTTP client.
func (p *Platform) Outbound() (*outbound.Client, error) {
	policy, err := outbound.ParsePolicy(p.Config.EgressAllow)
	if err != nil {
		return nil, fmt.Errorf("platform: BAILING_EGRESS_ALLOW: %w", err)
	}
	return outbound.New(outbound.Options{Policy: policy, Clock: p.Clock, Logger: p.Logger, Dialer: p.dial}), nil
}

// HTTP are the options of a function that serves HTTP.
func (p *Platform) HTTP() lambdahttp.Options {
	return lambdahttp.Options{Logger: p.Logger, Metrics: p.Metrics, Clock: p.Clock}
}

// lockedWriter lets logs and metrics share one output, a line at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// NewID returns a lower-case UUID v4 (D5).
func NewID() string { return uuid.NewString() }

// NewToken returns 32 lower-case hexadecimal characters of randomness (core §0.2).
func NewToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// kmsSource takes data keys from AWS KMS.
type kmsSource struct {
	client *kms.Client
	key    string
}

var _ envelope.KeySource = (*kmsSource)(nil)

// Generate returns a new data key and its wrapped form.
func (k *kmsSource) Generate(ctx context.Context, encryptionContext map[string]string) (envelope.DataKey, error) {
	out, err := k.client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{
		KeyId: aws.String(k.key), NumberOfBytes: aws.Int32(32), EncryptionContext: encryptionContext,
	})
	if err != nil {
		return envelope.DataKey{}, fmt.Errorf("kms: generate data key: %w", err)
	}
	return envelope.DataKey{Plain: out.Plaintext, Wrapped: out.CiphertextBlob}, nil
}

// Open unwraps a data key. KMS answers InvalidCiphertextException for an altered one and for another context alike.
func (k *kmsSource) Open(ctx context.Context, wrapped []byte, encryptionContext map[string]string) ([]byte, error) {
	out, err := k.client.Decrypt(ctx, &kms.DecryptInput{
		KeyId: aws.String(k.key), CiphertextBlob: wrapped, EncryptionContext: encryptionContext,
	})
	var invalid *types.InvalidCiphertextException
	var otherKey *types.IncorrectKeyException
	switch {
	case errors.As(err, &invalid), errors.As(err, &otherKey):
		return nil, fmt.Errorf("kms: decrypt: %w: %w", envelope.ErrTampered, err)
	case err != nil:
		return nil, fmt.Errorf("kms: decrypt: %w", err)
	}
	return out.Plaintext, nil
}
