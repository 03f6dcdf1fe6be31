//go:build unix

package runtimeapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bailing/shared/clock"
	"bailing/shared/topology"
)

const timeout = 29 * time.Second

// epoch is when the manual clock starts. The real runtime compares deadlines with the machine's clock, so it lies ahead.
var epoch = time.Now().Add(time.Hour).Truncate(time.Second).UTC()

// world is one function on a manual clock.
type world struct {
	t     *testing.T
	f     *Function
	clock *clock.Manual
	lines chan string // the function's output
}

func setup(t *testing.T, program string, max int) *world {
	t.Helper()
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clock.NewManual(epoch), lines: make(chan string, 1000)}
	w.f, err = New(Options{
		Name: "f", Path: self, Env: map[string]string{fakeVariable: program}, Timeout: timeout, MemoryMB: 256, Max: max,
		Output: lineWriter(w.lines), Clock: w.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.f.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

type lineWriter chan string

func (l lineWriter) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default: // nobody reads that far
	}
	return len(b), nil
}

// result is what an invocation returns.
type result struct {
	out []byte
	err error
}

func (w *world) invoke(c command) result {
	w.t.Helper()
	payload, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := w.f.Invoke(w.t.Context(), payload)
	return result{out, err}
}

// begin invokes without waiting for the result.
func (w *world) begin(c command) <-chan result {
	done := make(chan result, 1)
	go func() { done <- w.invoke(c) }()
	return done
}

// look invokes a fake function and returns what it saw.
func (w *world) look() seen {
	w.t.Helper()
	return w.seen(w.invoke(command{}))
}

func (w *world) seen(r result) seen {
	w.t.Helper()
	var s seen
	if r.err != nil {
		w.t.Fatal(r.err)
	}
	if err := json.Unmarshal(r.out, &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// gate holds requests of fake functions until they are released.
type gate struct {
	url      string
	arrived  chan string // process ids
	released chan struct{}
}

func newGate(t *testing.T) *gate {
	g := &gate{arrived: make(chan string), released: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		g.arrived <- strings.TrimPrefix(r.URL.Path, "/")
		select {
		case <-g.released:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	g.url = s.URL + "/"
	return g
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestWhatEndsAnInvocationAndItsProcess(t *testing.T) {
	t.Parallel()
	cases := []struct {
		do    string
		want  string
		fresh bool
	}{
		{"", "", false},
		{"error", "errorString: own error", false},
		{"panic", "string: out of order", true},
		{"exit", "function exited: exit status 3", true},
	}
	for _, tc := range cases {
		t.Run("do "+tc.do, func(t *testing.T) {
			w := setup(t, "function", 1)
			before := w.look().PID
			r := w.invoke(command{Do: tc.do})
			text := ""
			if r.err != nil {
				text = r.err.Error()
			}
			if text != tc.want {
				t.Errorf("error %q, want %q", text, tc.want)
			}
			if after := w.look().PID; (after != before) != tc.fresh || gone(before) != tc.fresh {
				t.Errorf("process %d, then %d, the first one gone: %v", before, after, gone(before))
			}
		})
	}
}

func TestErrorsAreTyped(t *testing.T) {
	w := setup(t, "function", 1)
	var own *FunctionError
	if r := w.invoke(command{Do: "error"}); !errors.As(r.err, &own) || own.Message != "own error" {
		t.Errorf("%v", r.err)
	}
	if r := w.invoke(command{Do: "exit"}); !errors.Is(r.err, ErrExited) {
		t.Errorf("%v", r.err)
	}
}

// An idle process that is killed, for example for its memory, costs no invocation.
func TestAProcessThatDiedIdleIsReplaced(t *testing.T) {
	w := setup(t, "function", 1)
	pid := w.look().PID
	idle := w.f.idle[0]
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-idle.gone
	if after := w.look().PID; after == pid {
		t.Error("the dead process answered")
	}
}

func TestParallelInvocationsGetProcessesUpToTheCap(t *testing.T) {
	w := setup(t, "function", 2)
	g := newGate(t)
	var results []<-chan result
	for range 5 {
		results = append(results, w.begin(command{Do: "wait", To: g.url}))
	}
	first, second := <-g.arrived, <-g.arrived
	if first == second {
		t.Fatal("one process has two invocations")
	}
	pids := map[string]bool{first: true, second: true}
	for range 3 {
		g.released <- struct{}{}
		pids[<-g.arrived] = true
	}
	close(g.released)
	for _, r := range results {
		if r := <-r; r.err != nil {
			t.Error(r.err)
		}
	}
	if len(pids) != 2 {
		t.Errorf("%d processes, want 2", len(pids))
	}
}

func TestWarmStartsAtMostOneProcess(t *testing.T) {
	w := setup(t, "function", 3)
	for range 2 {
		if took, err := w.f.Warm(t.Context()); took != 0 || err != nil { // the clock stands still
			t.Errorf("%s, %v", took, err)
		}
	}
	if len(w.f.all) != 1 {
		t.Errorf("%d processes", len(w.f.all))
	}
	if got := w.look().PID; got != w.f.idle[0].cmd.Process.Pid {
		t.Error("the warm process is not used")
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	w := setup(t, "function", 2)
	g := newGate(t)
	frozen := w.look().PID
	one, two := w.begin(command{Do: "wait", To: g.url}), w.begin(command{Do: "wait", To: g.url})
	<-g.arrived
	<-g.arrived
	if err := w.f.Close(); err != nil {
		t.Error(err)
	}
	for _, r := range []result{<-one, <-two} {
		if !errors.Is(r.err, ErrExited) {
			t.Errorf("%v", r.err)
		}
	}
	if !gone(frozen) { // a zombie would still be there
		t.Error("a process is left")
	}
	if r := w.invoke(command{}); !errors.Is(r.err, ErrClosed) {
		t.Errorf("%v", r.err)
	}
}

func TestOutputComesInWholeLines(t *testing.T) {
	w := setup(t, "function", 1)
	w.invoke(command{Do: "print"})
	got := []string{<-w.lines, <-w.lines, <-w.lines}
	if slices.Sort(got); !slices.Equal(got, []string{"one\n", "two\n", "unfinished\n"}) {
		t.Errorf("%q", got)
	}
}

func TestOptionsThatMakeNoFunction(t *testing.T) {
	t.Parallel()
	good := Options{Name: "f", Path: "/bootstrap", Timeout: time.Second, Max: 1}
	for name, spoil := range map[string]func(*Options){
		"no name":    func(o *Options) { o.Name = "" },
		"no program": func(o *Options) { o.Path = "" },
		"no time":    func(o *Options) { o.Timeout = 0 },
		"no process": func(o *Options) { o.Max = 0 },
	} {
		o := good
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestAHostRunsTheProgramOfItsFolder(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "f"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "f", "bootstrap")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{fakeVariable: "function"}
	h, err := Host{Dir: dir}.Start(t.Context(), topology.Function{Name: "f", Timeout: timeout}, env, lineWriter(make(chan string)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invoke(t.Context(), []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if err := h.(*Function).Close(); err != nil {
		t.Error(err)
	}
	_, err = Host{Dir: dir}.Start(t.Context(), topology.Function{Name: "g", Timeout: timeout}, env, nil)
	if !errors.Is(err, ErrInit) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
