package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"bailing/scripts/local/invoke"
	"bailing/shared/clock"
)

// state of a process, as its requests show it:
//
//	starting ──next──► polling ──event──► running ──response or error──► answered ──next──► polling
//	                                         └─────response of a stream──► streaming ──its end──┘ answered
type state int

const (
	starting state = iota
	polling        // stands still, unless an event is on its way
	running
	streaming // its answer is on the way
	answered
)

// invocation is one event and what came of it. The members below stream belong to the process's mutex.
type invocation struct {
	id, arn  string
	event    []byte
	deadline time.Time
	over     chan struct{} // closed when the process polls again
	stream   io.Writer     // takes the answer as it comes; nil = in one piece

	response []byte
	err      error
	passing  chan struct{} // of a stream that began: closed when nothing more of it reaches the writer
}

// process is one running program with the Runtime API that it talks to.
type process struct {
	clock   clock.Clock
	cmd     *exec.Cmd
	tail    *tail
	began   time.Time
	work    chan *invocation // for the poll that waits
	polled  chan struct{}    // closed at the first poll
	refused chan struct{}    // closed when the program says that it cannot start
	gone    chan struct{}    // closed when the process was reaped and its API is closed
	exit    error            // why it ended; set before gone

	mu      sync.Mutex
	state   state
	current *invocation
	took    time.Duration // from start to first poll
	initErr error
}

// outputGrace is how long the outputs of a process that ended may stay open, in case it left children.
const outputGrace = time.Second

// launch starts the program. The process ends with kill, or by itself; either way gone is closed then.
func launch(o Options, output *sharedOutput) (*process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &process{
		clock: o.Clock, tail: &tail{}, work: make(chan *invocation, 1), polled: make(chan struct{}),
		refused: make(chan struct{}), gone: make(chan struct{}),
	}
	stdout, stderr := output.stream(), output.stream()
	p.cmd = exec.Command(o.Path)
	p.cmd.Dir = filepath.Dir(o.Path)
	p.cmd.Env = environment(o, listener.Addr().String())
	p.cmd.Stdout, p.cmd.Stderr = stdout, io.MultiWriter(stderr, p.tail)
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = outputGrace
	p.began = p.clock.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: p.api(), ReadHeaderTimeout: initMax, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with Close
	}()
	go func() {
		defer close(p.gone)
		p.exit = p.cmd.Wait()
		_ = server.Close()
		<-served
		stdout.flush()
		stderr.flush()
	}()
	return p, nil
}

// awaitPoll waits for the first poll. The process is gone when it returns an error.
func (p *process) awaitPoll(ctx context.Context) error {
	ctx, stop := invoke.WithTimeout(ctx, p.clock, initMax)
	defer stop()
	select {
	case <-p.polled:
		return nil
	case <-p.refused:
		p.kill()
		<-p.gone
		return p.notStarted()
	case <-p.gone:
		return p.notStarted()
	case <-ctx.Done():
		p.kill()
		<-p.gone
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ctx.Err()
		}
		return fmt.Errorf("%w: no poll within %s%s", ErrInit, initMax, p.tail)
	}
}

// notStarted says why a process that is gone never polled.
func (p *process) notStarted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initErr != nil {
		return fmt.Errorf("%w: %w", ErrInit, p.initErr)
	}
	return fmt.Errorf("%w: %s before it polled%s", ErrInit, p.ended(), p.tail)
}

// ended says how the process ended; p.gone must be closed.
func (p *process) ended() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// invoke hands an invocation to the polling process and waits until it is over. The process is gone or polls when it returns.
func (p *process) invoke(ctx context.Context, inv *invocation) ([]byte, error) {
	p.mu.Lock()
	p.state, p.current = running, inv
	thaw(p.cmd.Process)
	p.mu.Unlock()
	p.work <- inv
	var failure error
	select {
	case <-inv.over:
	case <-p.gone:
		failure = fmt.Errorf("%w: %s", ErrExited, p.ended())
	case <-ctx.Done():
		p.kill()
		<-p.gone
		if failure = ctx.Err(); errors.Is(failure, context.DeadlineExceeded) {
			failure = invoke.ErrTimeout
		}
	}
	p.mu.Lock()
	if p.state == running {
		p.state = answered // an answer that arrives from now on is too late
		p.mu.Unlock()
		return nil, failure
	}
	p.mu.Unlock()
	if inv.passing != nil {
		<-inv.passing
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == streaming {
		return nil, failure // it broke off
	}
	return inv.response, inv.err
}

// alive is false once the process has ended.
func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) startup() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.took
}

// kill ends the process without asking it, frozen or not. It does not wait.
func (p *process) kill() { signal(p.cmd.Process, os.Kill) }

// signal ignores that a process is gone already: whoever cares waits for that.
func signal(p *os.Process, s os.Signal) { _ = p.Signal(s) }
