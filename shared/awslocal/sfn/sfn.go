package sfn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/wire"
	"bailing/shared/clock"
)

const (
	// TargetPrefix begins the X-Amz-Target header of every request to the service.
	TargetPrefix = "AWSStepFunctions."

	account = "000000000000"
	region  = "us-east-1"

	// maxRequestBytes bounds what is read of a request: the largest definition, in which every byte is a JSON escape.
	maxRequestBytes = 8 << 20
	// defaultConcurrency is how many functions a new account may run at a time.
	defaultConcurrency = 10
)

// Journal keeps the service's records; a [bailing/shared/awslocal/wal.Log] is one.
type Journal interface {
	// Append returns when rec is on stable storage.
	Append(rec []byte) error
	// AppendNoSync returns when rec survives the death of the process.
	AppendNoSync(rec []byte) error
}

// Invoker runs a function once and returns what it answers. The function is named as in its ARN. A [*FunctionError] names the error
// that retriers and catchers see; any other one is Lambda.Unknown to them.
type Invoker func(ctx context.Context, function string, payload []byte) (result []byte, err error)

// FunctionError is the failure of a function. Type is the name of the error, such as "errorString" or "Sandbox.Timedout".
type FunctionError struct{ Type, Message string }

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Options of a service. The zero value makes one in memory, on the machine's clock, without faults, that invokes nothing.
type Options struct {
	Clock       clock.Clock
	Faults      *fault.Injector
	Log         Journal // nil keeps everything in memory only
	Logger      *slog.Logger
	Invoke      Invoker   // nil lets tasks wait for SetInvoke
	Concurrency int       // invocations at a time; 0 is 10, as many as a new account may have
	Random      io.Reader // of the key that authenticates tokens; nil is crypto/rand
}

// Service is the stand-in. It is an http.Handler, safe for concurrent use.
type Service struct {
	clock  clock.Clock
	faults *fault.Injector
	log    Journal
	logger *slog.Logger

	// ctx is that of all invocations; cancel ends them.
	ctx    context.Context
	cancel context.CancelFunc
	run    sync.WaitGroup // the goroutine of Start, and those of invocations
	slots  int
	wake   chan struct{} // something may be due; capacity 1

	// gate is held shared while a record is appended and applied, exclusively by a snapshot and by changes of machines.
	// Lock order: an execution's mu, gate, mu. mu is never held while a sync is waited for.
	gate sync.RWMutex

	mu         sync.Mutex
	invoke     Invoker
	key        []byte // authenticates tokens
	machines   map[string]*machine
	executions map[uint64]*execution
	byName     map[executionName]*execution
	nextSeq    uint64
	due        agenda       // executions that wait for a moment
	ready      []*execution // those of which a function is to be invoked now, in order
	inflight   int
	idle       chan struct{} // closed when inflight is 0 and someone waits for that; nil when nobody does
	ended      []*execution  // in the order of their ends
}

// executionName is a name of an execution, which is one within its machine.
type executionName struct{ machine, name string }

// New returns a service without machines. Hand it the journal's records with Replay before it serves or starts.
func New(o Options) *Service {
	s := &Service{clock: o.Clock, faults: o.Faults, log: o.Log, logger: o.Logger, slots: o.Concurrency, invoke: o.Invoke,
		wake: make(chan struct{}, 1), key: make([]byte, 32), machines: map[string]*machine{}, executions: map[uint64]*execution{},
		byName: map[executionName]*execution{}, nextSeq: 1}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.clock == nil {
		s.clock = clock.System()
	}
	if s.faults == nil {
		s.faults = &fault.Injector{}
	}
	if s.log == nil {
		s.log = noJournal{}
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.slots == 0 {
		s.slots = defaultConcurrency
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if _, err := io.ReadFull(o.Random, s.key); err != nil {
		panic("sfn: no randomness: " + err.Error()) // crypto/rand never fails
	}
	return s
}

// request is one decoded call of an operation.
type request struct{ body []byte }

type operation func(*Service, *request) (any, error)

// operations by name. A function, because the package keeps no state of its own.
func operations(name string) operation {
	switch name {
	case "CreateStateMachine":
		return (*Service).createMachine
	case "UpdateStateMachine":
		return (*Service).updateMachine
	case "DescribeStateMachine":
		return (*Service).describeMachine
	case "StartExecution":
		return (*Service).startExecution
	case "DescribeExecution":
		return (*Service).describeExecution
	case "StopExecution":
		return (*Service).stopExecution
	case "SendTaskSuccess":
		return (*Service).sendTaskSuccess
	case "SendTaskFailure":
		return (*Service).sendTaskFailure
	}
	return nil
}

// ServeHTTP serves a POST with an X-Amz-Target header.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	action, ok := strings.CutPrefix(target, TargetPrefix)
	op := operations(action)
	if !ok || op == nil || r.Method != http.MethodPost {
		errUnknownOperation(target).write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err == nil && !utf8.Valid(body) {
		err = errors.New("the body is not UTF-8")
	}
	if err != nil {
		errSerialization(err).write(w)
		return
	}
	wire.Serve(w, r, s.faults, s.clock, wire.Operation{
		Op:       fault.Op{Service: "sfn", Action: action, Resource: s.machineNamed(body), AccessKey: wire.AccessKey(r)},
		Run:      func(w http.ResponseWriter, _ bool) { s.answer(w, op, &request{body: body}) },
		Throttle: func(w http.ResponseWriter) { errThrottled().write(w) },
		Fail:     func(w http.ResponseWriter) { errInternal().write(w) },
	})
}

func (s *Service) answer(w http.ResponseWriter, op operation, req *request) {
	answer, err := op(s, req)
	var api *apiError
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, answer)
	case errors.As(err, &api):
		api.write(w)
	default:
		s.logger.Error("step functions request failed", "err", err)
		errInternal().write(w)
	}
}

// machineNamed finds the name of the machine that a request is about, for the fault injector; that of an invalid token is "".
func (s *Service) machineNamed(body []byte) string {
	var in struct{ Name, StateMachineArn, ExecutionArn, TaskToken string }
	if json.Unmarshal(body, &in) != nil {
		return ""
	}
	switch {
	case in.StateMachineArn != "":
		return in.StateMachineArn[strings.LastIndexByte(in.StateMachineArn, ':')+1:]
	case in.ExecutionArn != "":
		if parts := strings.Split(in.ExecutionArn, ":"); len(parts) == 8 {
			return parts[6]
		}
		return ""
	case in.TaskToken != "":
		if x, _, err := s.taskOf(in.TaskToken); err == nil {
			return x.machine
		}
		return ""
	}
	return in.Name
}

// decode reads the members of a request into in. A member that in does not have is refused, and named.
func (r *request) decode(in any) error {
	d := json.NewDecoder(strings.NewReader(string(r.body)))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return errSerialization(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errSerialization(errors.New("the body has more than one value"))
	}
	return nil
}

// noJournal is the journal of a service in memory.
type noJournal struct{}

func (noJournal) Append([]byte) error       { return nil }
func (noJournal) AppendNoSync([]byte) error { return nil }
