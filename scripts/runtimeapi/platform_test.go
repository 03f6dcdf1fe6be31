//go:build unix

package runtimeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp"
)

func TestTheProgramSeesWhatLambdaShows(t *testing.T) {
	w := setup(t, "function", 1)
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "id-1", InvokedFunctionArn: "arn:one"})
	out, err := w.f.Invoke(ctx, []byte(`{}`))
	s := w.seen(result{out, err})
	if s.ID != "id-1" || s.ARN != "arn:one" || !s.Deadline.Equal(epoch.Add(timeout)) {
		t.Errorf("id %q, ARN %q, deadline %s", s.ID, s.ARN, s.Deadline)
	}
	if !strings.HasPrefix(s.Trace, fmt.Sprintf("Root=1-%08x-", epoch.Unix())) || !strings.HasSuffix(s.Trace, ";Sampled=0") {
		t.Errorf("trace %q", s.Trace)
	}
	if want := filepath.Dir(w.f.o.Path); s.Dir != want {
		t.Errorf("it runs in %s, want %s", s.Dir, want)
	}
	if s := w.look(); s.ID == "" || s.ID == "id-1" || s.ARN != "arn:aws:lambda:us-east-1:000000000000:function:f" {
		t.Errorf("without a Lambda context: id %q, ARN %q", s.ID, s.ARN)
	}
}

func TestADeadlineOfTheCallerComesFirst(t *testing.T) {
	w := setup(t, "function", 1)
	ctx, stop := invoke.WithTimeout(t.Context(), w.clock, 5*time.Second)
	defer stop()
	out, err := w.f.Invoke(ctx, []byte(`{}`))
	if s := w.seen(result{out, err}); !s.Deadline.Equal(epoch.Add(5 * time.Second)) {
		t.Errorf("deadline %s", s.Deadline)
	}
}

func TestNothingOfTheEnvironmentIsInherited(t *testing.T) {
	w := setup(t, "function", 1)
	w.f.o.Env["BAILING_BUCKET"], w.f.o.Env["AWS_REGION"] = "values", "eu-central-1"
	var fixed []string
	names := map[string]bool{}
	for _, e := range w.look().Env {
		name, _, _ := strings.Cut(e, "=")
		names[name] = true
		if name != "AWS_LAMBDA_RUNTIME_API" && name != "_X_AMZN_TRACE_ID" { // an address; set by the runtime itself
			fixed = append(fixed, e)
		}
	}
	slices.Sort(fixed)
	want := []string{
		"AWS_DEFAULT_REGION=eu-central-1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256", "AWS_LAMBDA_FUNCTION_NAME=f",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_INITIALIZATION_TYPE=on-demand", "AWS_REGION=eu-central-1",
		"BAILING_BUCKET=values", fakeVariable + "=function", "LANG=en_US.UTF-8",
		"PATH=/usr/local/bin:/usr/bin/:/bin:/opt/bin", "TZ=:UTC", "_HANDLER=bootstrap",
	}
	if !slices.Equal(fixed, want) || !names["AWS_LAMBDA_RUNTIME_API"] {
		t.Errorf("environment\n%s\nwant\n%s", strings.Join(fixed, "\n"), strings.Join(want, "\n"))
	}
}

func TestSizesAtTheLimitAndPastIt(t *testing.T) {
	t.Parallel()
	pad := func(n int) command {
		empty, _ := json.Marshal(command{Pad: "x"})
		return command{Pad: strings.Repeat("x", n-len(empty)+1)}
	}
	cases := []struct {
		name  string
		event command
		want  error
		size  int // of the answer, 0 = any
	}{
		{"an event at the limit", pad(lambdahttp.EventMax), nil, 0},
		{"an event past the limit", pad(lambdahttp.EventMax + 1), invoke.ErrEventTooLarge, 0},
		{"a response at the limit", command{Do: "bytes", Bytes: lambdahttp.ResponseMax}, nil, lambdahttp.ResponseMax},
		{"a response past the limit", command{Do: "bytes", Bytes: lambdahttp.ResponseMax + 1}, invoke.ErrResponseTooLarge, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := setup(t, "function", 1)
			r := w.invoke(tc.event)
			if !errors.Is(r.err, tc.want) || (tc.size > 0 && len(r.out) != tc.size) {
				t.Errorf("%d bytes, %v; want %d bytes, %v", len(r.out), r.err, tc.size, tc.want)
			}
			if errors.Is(tc.want, invoke.ErrEventTooLarge) && len(w.f.all) != 0 {
				t.Error("the event reached a process")
			}
			if s := w.look(); s.Event == 0 {
				t.Error("the next invocation saw no event")
			}
		})
	}
}

func TestAFunctionIsKilledAtItsTimeout(t *testing.T) {
	w := setup(t, "function", 1)
	g := newGate(t)
	done := w.begin(command{Do: "wait", To: g.url})
	pid := <-g.arrived
	w.clock.Advance(timeout)
	if r := <-done; !errors.Is(r.err, invoke.ErrTimeout) || r.out != nil {
		t.Errorf("%q, %v", r.out, r.err)
	}
	if s := w.look(); fmt.Sprint(s.PID) == pid {
		t.Error("the process lives on")
	}
}

func TestAFunctionMayUseItsWholeTime(t *testing.T) {
	w := setup(t, "function", 1)
	g := newGate(t)
	done := w.begin(command{Do: "wait", To: g.url})
	<-g.arrived
	w.clock.Advance(timeout - time.Nanosecond)
	close(g.released)
	if r := <-done; r.err != nil {
		t.Error(r.err)
	}
}

func TestTheCallersEndKillsTheProcess(t *testing.T) {
	w := setup(t, "function", 1)
	g := newGate(t)
	pid := w.look().PID
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.f.Invoke(ctx, fmt.Appendf(nil, `{"do":"wait","to":%q}`, g.url))
		done <- err
	}()
	<-g.arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !gone(pid) {
		t.Errorf("err = %v, process gone: %v", err, gone(pid))
	}
}
