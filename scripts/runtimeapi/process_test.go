//go:build unix

package runtimeapi

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"bailing/scripts/local/invoke"
)

// A control, whose process runs, shows that the frozen one would have ticked.
func TestAProcessIsFrozenBetweenInvocations(t *testing.T) {
	w := setup(t, "function", 2)
	ticks, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ticks.Close()
	next := func() string {
		b := make([]byte, 20)
		n, _, err := ticks.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	pid := func(r result) string { return strconv.Itoa(w.seen(r).PID) }

	frozen := pid(w.invoke(command{Do: "tick", To: ticks.LocalAddr().String()}))
	held := w.f.idle[0]
	w.f.idle = nil // the control gets a process of its own
	control := pid(w.invoke(command{Do: "tick", To: ticks.LocalAddr().String()}))
	working := w.begin(command{Do: "hold"})

	for n := 0; n < 10; { // what was sent before the freeze has been read then
		if next() == control {
			n++
		}
	}
	for n := 0; n < 50; {
		switch next() {
		case control:
			n++
		case frozen:
			t.Fatal("the frozen process ticked")
		}
	}
	w.f.mu.Lock()
	w.f.idle = append(w.f.idle, held)
	w.f.mu.Unlock()
	thawed := w.begin(command{Do: "hold"})
	for next() != frozen { // ticks again, or this waits for ever
	}
	w.clock.Advance(timeout)
	for _, r := range []result{<-working, <-thawed} {
		if !errors.Is(r.err, invoke.ErrTimeout) {
			t.Errorf("%v", r.err)
		}
	}
}

func TestTheRulesOfTheRuntimeAPI(t *testing.T) {
	w := setup(t, "rude", 1)
	// An answer before the first event, a poll while it works, an unknown invocation, an error of a start that is over.
	if r := w.invoke(command{}); r.err != nil || string(r.out) != "[400,403,400,403]" {
		t.Errorf("%s, %v", r.out, r.err)
	}
	// And before these: the answer, a second answer, an error after the answer.
	if r := w.invoke(command{}); r.err != nil || string(r.out) != "[202,403,403,400,403,400,403]" {
		t.Errorf("%s, %v", r.out, r.err)
	}
}

func TestAnAnswerCountsThoughTheProcessThenDies(t *testing.T) {
	w := setup(t, "dying", 1)
	for range 2 {
		if r := w.invoke(command{}); r.err != nil || string(r.out) != `"last words"` {
			t.Errorf("%s, %v", r.out, r.err)
		}
	}
}

func TestAnAnswerCountsThoughTheProcessDoesNotPollAgain(t *testing.T) {
	w := setup(t, "lingering", 1)
	done := w.begin(command{})
	<-w.lines
	w.clock.Advance(timeout)
	if r := <-done; r.err != nil || string(r.out) != `"answered"` {
		t.Errorf("%s, %v", r.out, r.err)
	}
	if len(w.f.idle) != 0 {
		t.Error("a process that does not poll is taken for idle")
	}
}

func TestWhyAProgramDoesNotStart(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"init-error": "function does not start: Config: no region",
		"exiting":    "function does not start: exit status 1 before it polled: AWS_REGION is not set",
	} {
		t.Run(program, func(t *testing.T) {
			w := setup(t, program, 1)
			for range 2 { // the first one's slot is free again
				if r := w.invoke(command{}); !errors.Is(r.err, ErrInit) || r.err.Error() != want {
					t.Errorf("%v, want %s", r.err, want)
				}
			}
		})
	}
}

func TestAProgramHasTenSecondsToPoll(t *testing.T) {
	w := setup(t, "mute", 1)
	done := make(chan error, 1)
	go func() {
		_, err := w.f.Warm(t.Context())
		done <- err
	}()
	<-w.lines
	w.clock.Advance(initMax)
	if err := <-done; !errors.Is(err, ErrInit) || !strings.Contains(err.Error(), "no poll within 10s") {
		t.Errorf("%v", err)
	}
	if len(w.f.all) != 0 {
		t.Error("the process is kept")
	}
}
