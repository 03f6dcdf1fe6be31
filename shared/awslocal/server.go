package awslocal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/sfn"
	"bailing/shared/awslocal/sqs"
	"bailing/shared/clock"
)

const (
	sweepInterval = time.Second
	// drainTime is how long Close waits for requests that are under way, on the machine's clock.
	drainTime = time.Second

	dynamodbTarget = "DynamoDB_20120810."
)

// Options of a server. The zero value makes one in memory, on the machine's clock.
type Options struct {
	Dir    string      // where everything is kept; "" is memory
	Clock  clock.Clock // nil is the machine's
	Logger *slog.Logger
	// ManualExecutions leaves it to the caller to move executions of Step Functions on: see the Step of [Server.StepFunctions].
	ManualExecutions bool
}

// Server is the four stand-ins behind one http.Handler.
type Server struct {
	clock    clock.Clock
	logger   *slog.Logger
	faults   fault.Injector
	services services

	stop    chan struct{}
	sweeper sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	serving []*http.Server
	serves  sync.WaitGroup
}

// Open recovers what is in the directory and returns a server that is ready. The error names the file when the directory is in
// use by another process (wal.ErrLocked) or damaged (*wal.CorruptError).
func Open(o Options) (*Server, error) {
	s := &Server{clock: o.Clock, logger: o.Logger, stop: make(chan struct{})}
	if s.clock == nil {
		s.clock = clock.System()
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := s.services.open(o.Dir, s.clock, &s.faults, s.logger); err != nil {
		return nil, errors.Join(err, s.services.close())
	}
	s.sweeper.Go(s.sweep)
	if !o.ManualExecutions {
		s.services.sfn.Start()
	}
	return s, nil
}

// Faults is the injector that all services ask.
func (s *Server) Faults() *fault.Injector { return &s.faults }

// StepFunctions is where an invoker of functions is set. Until one is, the tasks of executions wait.
func (s *Server) StepFunctions() *sfn.Service { return s.services.sfn }

// ServeHTTP dispatches by protocol: a request with an X-Amz-Target header is for DynamoDB, SQS or Step Functions, any other for S3.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	switch {
	case target == "":
		s.services.s3.ServeHTTP(w, r)
	case strings.HasPrefix(target, dynamodbTarget):
		s.services.dynamodb.ServeHTTP(w, r)
	case strings.HasPrefix(target, sqs.TargetPrefix):
		s.services.sqs.ServeHTTP(w, r)
	case strings.HasPrefix(target, sfn.TargetPrefix):
		s.services.sfn.ServeHTTP(w, r)
	default:
		refuseTarget(w, target)
	}
}

func refuseTarget(w http.ResponseWriter, target string) {
	body, err := json.Marshal(map[string]string{"__type": "UnknownOperationException",
		"message": fmt.Sprintf("The operation %q is not implemented by this stand-in.", target)})
	if err != nil {
		panic(err) // two strings
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	w.Write(body) // a client that left needs no answer
}

// Start listens on addr, for example "127.0.0.1:0", and serves until Close. It returns the endpoint to give to clients,
// "http://host:port".
func (s *Server) Start(addr string) (endpoint string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", http.ErrServerClosed
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("awslocal: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn)}
	s.serving = append(s.serving, srv)
	s.serves.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("the AWS stand-ins stopped serving", "err", err)
		}
	})
	return "http://" + l.Addr().String(), nil
}

// sweep removes what has expired, until Close.
func (s *Server) sweep() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.clock.After(sweepInterval):
			s.services.dynamodb.Sweep()
		}
	}
}

// Close ends long polls, executions' invocations and listeners, waits for requests under way, and releases the directory. Calls after the first do
// nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	serving := s.serving
	s.mu.Unlock()

	close(s.stop)
	s.services.sqs.Close()
	s.services.sfn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, srv := range serving {
		if srv.Shutdown(ctx) != nil {
			srv.Close() // a request that does not end, such as one with an injected delay, is cut off
		}
	}
	s.serves.Wait()
	s.sweeper.Wait()
	return s.services.close()
}
