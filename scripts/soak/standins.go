package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"bailing/shared/awslocal"
	"bailing/shared/awslocal/fault"
)

// setup is the access key of requests that nothing happens to: they prepare the run.
const setup = "setup"

// kinds are what may go wrong with a request. A conflict is DynamoDB's alone, a duplicate that of receiving messages.
var kinds = []fault.Kind{fault.Throttle, fault.ErrorBefore, fault.ErrorAfterCommit, fault.Drop, fault.DropAfterCommit}

// serveStandIns is the process of the stand-ins. It prints their address, serves until its input ends, and prints how many
// requests failed on purpose.
func serveStandIns(o options, stdin io.Reader, stdout io.Writer) error {
	s, err := awslocal.Open(awslocal.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	var faults atomic.Int64
	s.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey == setup || rand.Float64() >= o.faults {
			return fault.Fault{}
		}
		faults.Add(1)
		choice := kinds
		switch {
		case op.Service == "dynamodb":
			choice = append([]fault.Kind{fault.Conflict}, kinds...)
		case op.Action == "ReceiveMessage":
			choice = append([]fault.Kind{fault.Duplicate}, kinds...)
		}
		return fault.Fault{Kind: choice[rand.IntN(len(choice))]}
	})
	endpoint, err := s.Start("127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, endpoint); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, faults.Load())
	return err
}

// standIns is the other end of that process.
type standIns struct {
	endpoint string
	cmd      *exec.Cmd
	input    io.Closer
	output   *bufio.Reader
}

func startStandIns(ctx context.Context, o options, stderr io.Writer) (*standIns, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &standIns{cmd: exec.CommandContext(ctx, self, "-stand-ins", fmt.Sprintf("-faults=%g", o.faults))}
	s.cmd.Env = append(os.Environ(), beStandIns+"=1")
	s.cmd.Stderr = stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.input, s.output = in, bufio.NewReader(out)
	line, err := s.output.ReadString('\n')
	s.endpoint = strings.TrimSpace(line)
	return s, err
}

// beStandIns tells a test binary that it is the process of the stand-ins.
const beStandIns = "BAILING_SOAK_STAND_INS"

// close ends the process and returns how many faults there were.
func (s *standIns) close() (faults int, err error) {
	if err := s.input.Close(); err != nil {
		return 0, err
	}
	if _, err := fmt.Fscan(s.output, &faults); err != nil {
		return 0, err
	}
	return faults, s.cmd.Wait()
}
