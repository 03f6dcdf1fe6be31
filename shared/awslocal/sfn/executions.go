package sfn

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// maxExecution is how long an execution may live.
	maxExecution = 365 * 24 * time.Hour
	// endedFor and maxEnded bound how long an ended execution is remembered.
	endedFor = 90 * 24 * time.Hour
	maxEnded = 10_000

	maxError = 256   // characters of an error's name
	maxCause = 32768 // characters of its cause
)

// Statuses of an execution.
const (
	running   = "RUNNING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
	timedOut  = "TIMED_OUT"
	aborted   = "ABORTED"
)

// execution is one run of a machine.
type execution struct {
	seq      uint64
	name     string
	machine  string
	revision *revision
	input    string // JSON
	started  time.Time

	// mu is held by whoever moves the execution on, from its decision until the journal has it. progress is written under mu and
	// the service's mu, and read under either.
	mu sync.Mutex
	progress

	// The rest is under the service's mu.
	at      time.Time // when it is to be looked at
	index   int       // in the agenda; -1 when it is not there
	queued  bool      // in the list of the ready
	running uint64    // the attempt of which the function runs; 0 for none
}

// progress is where an execution is. It is replaced as a whole.
type progress struct {
	Status  string    `json:"status"`
	Stopped time.Time `json:"stopped,omitzero"`
	Output  string    `json:"output,omitempty"` // JSON, of one that succeeded
	Error   string    `json:"error,omitempty"`  // of one that did not
	Cause   string    `json:"cause,omitempty"`

	State    string    `json:"state,omitempty"` // the task that is under way
	Input    string    `json:"input,omitempty"` // its input, JSON
	Attempt  uint64    `json:"attempt"`         // number of its attempt, from 1, over all of the execution
	Tries    []int     `json:"tries,omitempty"` // retries made, of each retrier
	ReadyAt  time.Time `json:"ready,omitzero"`  // when the attempt may begin
	Begun    bool      `json:"begun,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`  // of an attempt that began; zero for none
	Answered bool      `json:"answered,omitempty"` // the function has, and the token is waited for
}

// task is the state that is under way.
func (x *execution) task() *state { return x.revision.def.states[x.State] }

func (x *execution) arn() string {
	return fmt.Sprintf("arn:aws:states:%s:%s:execution:%s:%s", region, account, x.machine, x.name)
}

// execution finds an execution by its ARN.
func (s *Service) execution(arn string) (*execution, error) {
	rest, ok := strings.CutPrefix(arn, fmt.Sprintf("arn:aws:states:%s:%s:execution:", region, account))
	machine, name, two := strings.Cut(rest, ":")
	if !ok || !two || !names.MatchString(machine) || !names.MatchString(name) {
		return nil, errARN(arn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if x, ok := s.byName[executionName{machine, name}]; ok {
		return x, nil
	}
	return nil, errNoExecution(arn)
}

type started struct {
	ARN     string `json:"executionArn"`
	Started epoch  `json:"startDate"`
}

func (s *Service) startExecution(r *request) (any, error) {
	var in struct {
		MachineARN string  `json:"stateMachineArn"`
		Name       string  `json:"name"`
		Input      *string `json:"input"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	m, err := s.machine(in.MachineARN)
	if err != nil {
		return nil, err
	}
	input := "{}"
	if in.Input != nil {
		input = *in.Input
	}
	switch _, bad := decode([]byte(input)); {
	case in.Name == "":
		return nil, errUnsupported("An execution without a name")
	case !names.MatchString(in.Name):
		return nil, refused("InvalidName", "Invalid Name: '%s'", in.Name)
	case bad != nil, len(input) > maxData:
		return nil, refused("InvalidExecutionInput", "Invalid State Machine Execution Input: no JSON of at most %d bytes", maxData)
	}
	for {
		x, created := s.reserve(m.name, in.Name, input)
		if created {
			// The execution is locked since it can be found.
			err := s.start(x)
			x.mu.Unlock()
			if err != nil {
				return nil, err
			}
			s.wakeUp()
			return started{x.arn(), epoch(x.started)}, nil
		}
		x.mu.Lock() // waits for a start that is under way
		status := x.Status
		x.mu.Unlock()
		switch {
		case status == "":
			continue // that start failed
		case status == running && x.input == input:
			return started{x.arn(), epoch(x.started)}, nil
		}
		return nil, errExecutionExists(x.arn())
	}
}

// reserve finds the execution of that name, or makes one and returns it locked.
func (s *Service) reserve(machine, name, input string) (x *execution, created bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	key := executionName{machine, name}
	if x, ok := s.byName[key]; ok {
		return x, false
	}
	x = &execution{seq: s.nextSeq, name: name, machine: machine, revision: s.machines[machine].current(), input: input, started: s.clock.Now(), index: -1}
	s.nextSeq++
	x.mu.Lock()
	s.byName[key], s.executions[x.seq] = x, x
	return x, true
}

// start enters the first state of a new execution.
func (s *Service) start(x *execution) error {
	err := s.move(x, x.enter(x.revision.def.startAt, x.input, x.started), true)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byName, executionName{x.machine, x.name})
		delete(s.executions, x.seq)
	}
	return err
}

func (s *Service) describeExecution(r *request) (any, error) {
	var in struct {
		ARN string `json:"executionArn"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	x, err := s.execution(in.ARN)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	p := x.progress
	x.mu.Unlock()
	if p.Status == "" {
		return nil, errNoExecution(in.ARN) // its start failed
	}
	out := struct {
		ARN        string  `json:"executionArn"`
		MachineARN string  `json:"stateMachineArn"`
		Name       string  `json:"name"`
		Status     string  `json:"status"`
		Started    epoch   `json:"startDate"`
		Stopped    *epoch  `json:"stopDate,omitempty"`
		Input      string  `json:"input"`
		Output     *string `json:"output,omitempty"`
		Error      *string `json:"error,omitempty"`
		Cause      *string `json:"cause,omitempty"`
	}{ARN: x.arn(), MachineARN: machineARN(x.machine), Name: x.name, Status: p.Status, Started: epoch(x.started), Input: x.input}
	switch p.Status {
	case running:
	case succeeded:
		out.Stopped, out.Output = (*epoch)(&p.Stopped), &p.Output
	default:
		out.Stopped, out.Error, out.Cause = (*epoch)(&p.Stopped), &p.Error, &p.Cause
	}
	return out, nil
}

func (s *Service) stopExecution(r *request) (any, error) {
	var in struct {
		ARN   string `json:"executionArn"`
		Error string `json:"error"`
		Cause string `json:"cause"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if len(in.Error) > maxError || len(in.Cause) > maxCause {
		return nil, errValidation("The error or the cause is too long.")
	}
	x, err := s.execution(in.ARN)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.Status {
	case "":
		return nil, errNoExecution(in.ARN)
	case running:
		if err := s.move(x, x.end(aborted, in.Error, in.Cause, s.clock.Now()), true); err != nil {
			return nil, err
		}
	}
	return struct {
		Stopped epoch `json:"stopDate"`
	}{epoch(x.Stopped)}, nil
}

// forget drops ended executions that are too old or too many. The caller holds mu.
func (s *Service) forget() {
	now, n := s.clock.Now(), 0
	for _, x := range s.ended {
		if len(s.ended)-n <= maxEnded && now.Sub(x.Stopped) < endedFor {
			break
		}
		n++
		delete(s.executions, x.seq)
		if key := (executionName{x.machine, x.name}); s.byName[key] == x {
			delete(s.byName, key)
		}
	}
	if n > 0 {
		clear(s.ended[:n])
		s.ended = s.ended[n:]
	}
}
