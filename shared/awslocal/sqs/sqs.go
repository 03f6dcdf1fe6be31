package sqs

import (
	"context"
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
	TargetPrefix = "AmazonSQS."

	account = "000000000000"
	region  = "us-east-1"

	// maxRequestBytes bounds what is read of a request: a full batch in which every byte is a JSON escape.
	maxRequestBytes = 8 << 20
)

// Journal keeps the service's records; a [bailing/shared/awslocal/wal.Log] is one.
type Journal interface {
	// Append returns when rec is on stable storage.
	Append(rec []byte) error
	// AppendNoSync returns when rec survives the death of the process.
	AppendNoSync(rec []byte) error
}

// Options of a service. The zero value makes one in memory, on the machine's clock, without faults.
type Options struct {
	Clock  clock.Clock
	Faults *fault.Injector
	Log    Journal // nil keeps everything in memory only
	Logger *slog.Logger
}

// Service is the stand-in. It is an http.Handler, safe for concurrent use.
type Service struct {
	clock  clock.Clock
	faults *fault.Injector
	log    Journal
	logger *slog.Logger

	closeOnce sync.Once
	closed    chan struct{}

	// gate is held shared while a record is appended and applied, exclusively by what needs all of them to be still:
	// snapshots and changes of queues. Lock order: gate, then mu. mu is never held while a sync is waited for.
	gate sync.RWMutex

	mu        sync.Mutex
	queues    map[uint64]*queue
	byName    map[string]*queue
	nextQueue uint64
	nextSeq   uint64 // of messages, over all queues
}

// New returns a service without queues. Hand it the journal's records with Replay before it serves.
func New(o Options) *Service {
	s := &Service{clock: o.Clock, faults: o.Faults, log: o.Log, logger: o.Logger, closed: make(chan struct{}),
		queues: map[uint64]*queue{}, byName: map[string]*queue{}, nextQueue: 1, nextSeq: 1}
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
	return s
}

// Close ends the long polls that are waiting, with empty answers. It does not close the journal.
func (s *Service) Close() { s.closeOnce.Do(func() { close(s.closed) }) }

// request is one decoded call of an operation.
type request struct {
	ctx       context.Context
	http      *http.Request
	body      []byte
	accessKey string
	duplicate bool // the injected fault
}

type operation func(*Service, *request) (any, error)

// operations by name. A function, because the package keeps no state of its own.
func operations(name string) operation {
	switch name {
	case "CreateQueue":
		return (*Service).createQueue
	case "GetQueueUrl":
		return (*Service).getQueueURL
	case "ListQueues":
		return (*Service).listQueues
	case "GetQueueAttributes":
		return (*Service).getQueueAttributes
	case "SetQueueAttributes":
		return (*Service).setQueueAttributes
	case "PurgeQueue":
		return (*Service).purgeQueue
	case "DeleteQueue":
		return (*Service).deleteQueue
	case "SendMessage":
		return (*Service).sendMessage
	case "SendMessageBatch":
		return (*Service).sendMessageBatch
	case "ReceiveMessage":
		return (*Service).receiveMessage
	case "DeleteMessage":
		return (*Service).deleteMessage
	case "DeleteMessageBatch":
		return (*Service).deleteMessageBatch
	case "ChangeMessageVisibility":
		return (*Service).changeVisibility
	case "ChangeMessageVisibilityBatch":
		return (*Service).changeVisibilityBatch
	}
	return nil
}

// ServeHTTP serves a POST with an X-Amz-Target header, at the root or at a queue's URL.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	action, ok := strings.CutPrefix(target, TargetPrefix)
	op := operations(action)
	if !ok || op == nil || r.Method != http.MethodPost {
		errUnknownOperation(target).write(w)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		errSerialization(err).write(w)
		return
	}
	req := &request{ctx: r.Context(), http: r, body: body, accessKey: wire.AccessKey(r)}
	wire.Serve(w, r, s.faults, s.clock, wire.Operation{
		Op: fault.Op{Service: "sqs", Action: action, Resource: queueNamed(body), AccessKey: req.accessKey},
		Run: func(w http.ResponseWriter, duplicate bool) {
			req.duplicate = duplicate
			s.run(w, op, req)
		},
		Throttle: func(w http.ResponseWriter) { errThrottled().write(w) },
		Fail:     func(w http.ResponseWriter) { errInternal().write(w) },
	})
}

func (s *Service) run(w http.ResponseWriter, op operation, req *request) {
	answer, err := op(s, req)
	var api *apiError
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, answer)
	case errors.As(err, &api):
		api.write(w)
	default:
		s.logger.Error("sqs request failed", "err", err)
		errInternal().write(w)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	return body, nil
}

// queueNamed finds the name of the queue that a request is about, for the fault injector.
func queueNamed(body []byte) string {
	var in struct{ QueueUrl, QueueName string }
	if json.Unmarshal(body, &in) != nil {
		return ""
	}
	if in.QueueName != "" {
		return in.QueueName
	}
	return in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:]
}

// decode reads the members of a request into in. A member that in does not have is refused, and named.
func (r *request) decode(in any) error {
	d := json.NewDecoder(strings.NewReader(string(r.body)))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return errSerialization(err)
	}
	if d.More() {
		return errSerialization(errors.New("the body has more than one value"))
	}
	return nil
}

// noJournal is the journal of a service in memory.
type noJournal struct{}

func (noJournal) Append([]byte) error       { return nil }
func (noJournal) AppendNoSync([]byte) error { return nil }
