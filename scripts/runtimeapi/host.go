package runtimeapi

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/topology"
)

// hostMax is how many processes of one function a [Host] runs at a time: as many invocations as a new account may have.
const hostMax = 10

// Host runs the functions of a topology as the built programs Dir/<function>/bootstrap.
type Host struct{ Dir string }

// Start makes one function and starts its first process, so that a program that cannot start is seen here. The handler is an
// io.Closer, which must be closed. env is what the deployment sets for this function. Errors leave its name to the caller.
func (h Host) Start(ctx context.Context, f topology.Function, env map[string]string, output io.Writer) (lambda.Handler, error) {
	path, err := filepath.Abs(filepath.Join(h.Dir, f.Name, "bootstrap"))
	if err != nil {
		return nil, err
	}
	fn, err := New(Options{
		Name: f.Name, Path: path, Env: env, Timeout: f.Timeout, MemoryMB: f.MemoryMB, Max: hostMax, Output: output,
	})
	if err != nil {
		return nil, err
	}
	if _, err := fn.Warm(ctx); err != nil {
		return nil, errors.Join(err, fn.Close())
	}
	return fn, nil
}
