package stack

import (
	"context"
	"errors"

	"bailing/scripts/local/invoke"
	"bailing/scripts/runtimeapi"
	"bailing/shared/awslocal/sfn"
	"bailing/shared/topology"
)

// invoker lets state machines invoke the stack's functions, each with its own time-out.
func (s *Stack) invoker(t topology.Topology, o Options) sfn.Invoker {
	functions := map[string]invoke.Function{}
	for _, f := range t.Functions {
		functions[f.Name] = invoke.Function{Name: f.Name, Handler: s.Functions[f.Name], Timeout: f.Timeout, Clock: o.Clock}
	}
	return func(ctx context.Context, name string, payload []byte) ([]byte, error) {
		f, ok := functions[name]
		if !ok {
			return nil, &sfn.FunctionError{Type: "Lambda.ResourceNotFoundException", Message: "there is no function " + name}
		}
		out, err := f.Invoke(ctx, payload)
		if err != nil {
			return nil, functionError(err)
		}
		return out, nil
	}
}

// functionError names a failure as Lambda does, as far as it has a name here.
func functionError(err error) error {
	var reported *runtimeapi.FunctionError
	switch {
	case errors.As(err, &reported):
		return &sfn.FunctionError{Type: reported.Type, Message: reported.Message}
	case errors.Is(err, invoke.ErrTimeout):
		return &sfn.FunctionError{Type: "Sandbox.Timedout", Message: err.Error()}
	case errors.Is(err, runtimeapi.ErrExited):
		return &sfn.FunctionError{Type: "Runtime.ExitError", Message: err.Error()}
	}
	return err
}

// drain gives the invocations of executions their grace. What is cut off is made again by the next start.
func (s *Stack) drain() {
	if s.AWS == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.AWS.StepFunctions().Drain(ctx)
}
