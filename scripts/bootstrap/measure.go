package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/scripts/local/stack"
	"bailing/scripts/runtimeapi"
	"bailing/shared/topology"
)

// measureStarts fills in how long each function takes from its start to its first poll, in the environment that a stack gives
// it. The functions take turns, so that a machine that slows down slows all of them.
func measureStarts(ctx context.Context, t target, rows []row, rounds int) (err error) {
	env := map[string]map[string]string{}
	var logs bytes.Buffer
	host := runtimeapi.Host{Dir: t.dir}
	s, err := stack.Start(ctx, stack.Options{
		Addr: "127.0.0.1:0", Manual: true, Output: &logs,
		Build: func(ctx context.Context, f topology.Function, e map[string]string, output io.Writer) (lambda.Handler, error) {
			env[f.Name] = e
			return host.Start(ctx, f, e, output)
		},
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, logs.Bytes())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for range rounds {
		for i := range rows {
			took, err := start(ctx, t, rows[i].name, env[rows[i].name])
			if err != nil {
				return fmt.Errorf("%s: %w", rows[i].name, err)
			}
			rows[i].starts = append(rows[i].starts, took)
		}
	}
	return nil
}

// start runs a function until it polls for the first time.
func start(ctx context.Context, t target, name string, env map[string]string) (took time.Duration, err error) {
	f, err := runtimeapi.New(runtimeapi.Options{Name: name, Path: t.program(name), Env: env, Timeout: time.Minute, Max: 1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Warm(ctx)
}
