package jobtest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"bailing/shared/approval"
	"bailing/shared/awslocal/awslocaltest"
	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/provision"
	"bailing/shared/clock"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/platform"
	"bailing/shared/store"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

const (
	// Prefix of the tables, the queue and the bucket.
	Prefix = "test-"
	// ServerToken is the administrator's token.
	ServerToken = "server-token-for-jobtest-worlds"
	// AccessKey signs the hub's own requests: faults can tell them from the test's.
	AccessKey = "hub"
)

// Start is the time at which every world begins. It is far ahead of the machine's clock, by which the network judges the
// deadlines that tests set on the world's.
var Start = time.Date(2099, 7, 1, 12, 0, 0, 0, time.UTC)

// World is one hub.
type World struct {
	Env      *awslocaltest.Env
	Clock    *clock.Manual
	Platform *platform.Platform // for the functions' New; logs and metrics go to Logs
	Store    *store.Store
	Secrets  *envelope.Envelope
	Queue    *Queue
	Notices  *Notices // messages of the callbacks queue
	Model    *Model
	Business *Business
	Logs     *Logs

	Launcher  *job.Launcher
	Reader    *job.Reader
	Lifecycle *job.Lifecycle
	Sweeper   *job.Sweeper
	Tools     *toolcall.Service
	Runner    *jobrun.Runner
	Clerk     *approval.Clerk
	Keeper    *approval.Keeper
	Waits     *Waits

	t testing.TB
}

// Option changes a world before it is built.
type Option func(*settings)

type settings struct {
	noRetries bool
	adjust    []func(*platform.Config)
}

// NoRetries makes each failed request to AWS final, so that a test can count and break single requests.
func NoRetries() Option { return func(s *settings) { s.noRetries = true } }

// Configure changes the configuration that functions see.
func Configure(f func(*platform.Config)) Option {
	return func(s *settings) { s.adjust = append(s.adjust, f) }
}

// New builds a world without any record.
func New(t testing.TB, options ...Option) *World {
	t.Helper()
	var set settings
	for _, o := range options {
		o(&set)
	}
	w := &World{t: t, Clock: clock.NewManual(Start), Queue: &Queue{}, Notices: &Notices{}, Logs: &Logs{}, Business: &Business{}, Model: &Model{}, Waits: &Waits{}}
	start := []awslocaltest.Option{awslocaltest.SharedClock(w.Clock)}
	if set.noRetries {
		start = append(start, awslocaltest.NoRetries())
	}
	w.Env = awslocaltest.Start(t, start...)
	made, err := provision.Create(t.Context(), w.Env.Config("test"), topology.System(), Prefix)
	if err != nil {
		t.Fatal(err)
	}
	hub := w.Env.Config(AccessKey)
	config := platform.Config{
		Region: hub.Region, Endpoint: w.Env.Endpoint, AccessKey: AccessKey, SecretKey: "secret",
		TablePrefix: Prefix, Bucket: made.Bucket, JobsQueueURL: made.QueueURLs[topology.QueueJobs],
		CallbacksQueueURL: made.QueueURLs[topology.QueueCallbacks], ApprovalsMachine: made.Machines[topology.MachineApprovals], KeyFile: filepath.Join(t.TempDir(), "secrets.key"), ServerToken: ServerToken, BodyMax: 1 << 20,
	}
	for _, f := range set.adjust {
		f(&config)
	}
	w.Platform = platform.New("test", config, platform.Options{Clock: w.Clock, Output: w.Logs, Level: slog.LevelDebug, HTTP: hub.HTTPClient})
	if w.Secrets, err = w.Platform.Sealer(); err != nil {
		t.Fatal(err)
	}
	w.wire(hub, config.Bucket)
	return w
}

func (w *World) wire(c aws.Config, bucket string) {
	log := w.Platform.Logger
	objects := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	w.Store = store.New(store.Options{
		DB: dynamodb.NewFromConfig(c), Values: &store.S3Values{Client: objects, Bucket: bucket},
		Prefix: Prefix, Clock: w.Clock, Logger: log,
	})
	w.Launcher = &job.Launcher{Store: w.Store, Queue: w.Queue, Clock: w.Clock, Logger: log, NewID: platform.NewID}
	w.Reader = &job.Reader{Store: w.Store}
	w.Lifecycle = &job.Lifecycle{Store: w.Store, Queue: w.Queue, Notifier: w.Notices, Clock: w.Clock, Logger: log}
	w.Sweeper = &job.Sweeper{Lifecycle: w.Lifecycle}
	w.Tools = &toolcall.Service{Store: w.Store, HTTP: w.Business, Secrets: w.Secrets, Waits: w.Waits, Clock: w.Clock, Logger: log}
	w.Clerk = &approval.Clerk{Store: w.Store, Queue: w.Queue, Waits: w.Waits, Clock: w.Clock, Logger: log}
	w.Keeper = &approval.Keeper{Store: w.Store, Waits: w.Waits, Clock: w.Clock, Logger: log}
	w.Runner = &jobrun.Runner{
		Jobs: w.Lifecycle, Store: w.Store, Model: w.Model, Tools: w.Tools, Secrets: w.Secrets, Clock: w.Clock, Logger: log,
		Worker: func() string { return "worker-" + platform.NewID() },
	}
}

// Faults breaks requests to AWS. The hub's own are signed with AccessKey.
func (w *World) Faults() *fault.Injector { return w.Env.Server.Faults() }

// Job reads a job as it is stored.
func (w *World) Job(id string) *job.Job {
	w.t.Helper()
	j, err := w.Store.ReadJob(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("job %s: %v", id, err)
	}
	return j
}

// Event is a stored audit record.
type Event struct {
	TS       string         `json:"ts"`
	JobID    string         `json:"job_id"`
	Name     string         `json:"event"`
	Stage    string         `json:"stage"`
	Severity string         `json:"severity"`
	Title    string         `json:"title"`
	Summary  string         `json:"summary"`
	Detail   map[string]any `json:"detail"`
}

// Events are the audit records of a job called name, or all of them for "", oldest first.
func (w *World) Events(jobID, name string) []Event {
	w.t.Helper()
	records, err := w.Store.JobAudit(w.t.Context(), jobID)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []Event
	for _, r := range records {
		var e Event
		if err := json.Unmarshal(r, &e); err != nil {
			w.t.Fatal(err)
		}
		if name == "" || e.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// Run delivers one message to the worker.
func (w *World) Run(ctx context.Context, jobID string) {
	w.t.Helper()
	if err := w.Runner.Run(ctx, jobID); err != nil {
		w.t.Fatalf("run %s: %v", jobID, err)
	}
}

// Deliver runs the messages that are queued, and those that they lead to, until none is left. Delays are not waited for.
func (w *World) Deliver() {
	w.t.Helper()
	for {
		messages := w.Queue.Take()
		if len(messages) == 0 {
			return
		}
		for _, m := range messages {
			w.Run(w.t.Context(), m.JobID)
		}
	}
}

// Sweep runs the sweeper once.
func (w *World) Sweep() job.Swept {
	w.t.Helper()
	n, err := w.Sweeper.Sweep(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Logs collects log lines and metrics.
type Logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends b.
func (l *Logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// String is everything written so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
