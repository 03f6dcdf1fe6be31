package sim

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bailing/shared/awslocal"
	"bailing/shared/awslocal/provision"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

const (
	prefix = "sim-"
	region = "us-east-1"
)

// Options say what one schedule is like.
type Options struct {
	Seed     uint64
	Schedule int // of the seed; each has another mix of faults
	Dir      string
	Mutant   Mutant
	Trace    *bytes.Buffer // nil, or takes every line
	Settle   func()        // waits until all goroutines of the bubble are blocked: synctest.Wait
	Reseed   func(uint64)  // seeds the generator of crypto/rand
}

// world is one schedule: the product, everybody around it, and what is known of both.
type world struct {
	*schedule
	o      Options
	mix    mix
	faulty bool // faults happen now
	mutant Mutant

	aws      *awslocal.Server
	injected *injected
	config   platform.Config
	topology topology.Topology
	net      *network
	pool     []*instance

	draws                  uint64
	instances, invocations int
	running                map[string]int // invocations by queue

	over    chan struct{} // closed at the end
	mu      sync.Mutex
	objects []stored // that were put into the bucket
	logs    *log

	people
	checks
}

// stored is a value in the bucket.
type stored struct {
	name string
	body []byte
}

// log takes what all functions write.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// quiet is the clock of the stand-ins. Nothing that they wait for is needed here, and what they do every second would be most of
// the work of a schedule that lasts for days.
type quiet struct{}

func (quiet) Now() time.Time { return time.Now().UTC() }
func (quiet) After(d time.Duration) <-chan time.Time {
	return time.After(max(d, 12*time.Hour))
}

func newWorld(o Options) *world {
	rng := rand.New(rand.NewPCG(o.Seed, uint64(o.Schedule)))
	w := &world{
		o: o, mutant: o.Mutant, injected: &injected{}, topology: topology.System(), running: map[string]int{}, logs: &log{}, over: make(chan struct{}),
	}
	t := newTrace(nil)
	if o.Trace != nil {
		t.out = o.Trace
	}
	w.schedule = newSchedule(rng, o.Settle, t)
	w.mix = newMix(w.schedule, o.Schedule)
	w.net = &network{w: w, servers: map[string]*server{}}
	w.newPeople()
	w.newChecks()
	return w
}

// open starts the stand-ins and configures the product, without faults.
func (w *world) open() error {
	var err error
	if w.aws, err = awslocal.Open(awslocal.Options{Clock: quiet{}, ManualExecutions: true}); err != nil {
		return err
	}
	w.aws.Faults().Set(w.injected.hook)
	w.config = platform.Config{
		Region: region, Endpoint: "http://aws.local", AccessKey: "world", SecretKey: "world", TablePrefix: prefix, Bucket: prefix + w.topology.Bucket.Name,
		KeyFile: filepath.Join(w.o.Dir, "secrets.key"), ServerToken: w.canary("server token"), EgressAllow: "127.0.0.0/24", BodyMax: 1 << 20,
		PublicURL: "https://hub.example", BootstrapUsername: "admin", BootstrapPassword: w.canary("password of the first administrator"),
	}
	if w.mutant.egress != "" {
		w.config.EgressAllow = w.mutant.egress
	}
	for _, q := range w.topology.Queues {
		url := "http://aws.local/000000000000/" + prefix + q.Name
		switch q.Name {
		case topology.QueueJobs:
			w.config.JobsQueueURL = url
		case topology.QueueCallbacks:
			w.config.CallbacksQueueURL = url
		}
	}
	p := platform.New("world", w.config, platform.Options{Output: w.logs, HTTP: direct{w}})
	made, err := provision.Create(context.Background(), p.AWS(), w.topology, prefix)
	if err != nil {
		return err
	}
	w.config.ApprovalsMachine = made.Machines[topology.MachineApprovals]
	w.aws.StepFunctions().SetInvoke(func(ctx context.Context, function string, payload []byte) ([]byte, error) {
		name := function[strings.LastIndexByte(function, ':')+1:]
		f, ok := w.topology.FunctionNamed(strings.TrimPrefix(name, prefix))
		if !ok {
			return nil, fmt.Errorf("there is no function %s", function)
		}
		return handler{w, f}.Invoke(ctx, payload)
	})
	return w.configure()
}

// direct sends requests to the stand-ins past the schedule.
type direct struct{ w *world }

func (d direct) Do(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	if own.Body == nil {
		own.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	d.w.aws.ServeHTTP(answer, own)
	return answer.Result(), nil
}

// maxSteps bounds a schedule: one that needs more goes round in circles.
const maxSteps = 60_000

// turn lets one thing happen: what ended is told, what is due runs, or one step goes on. It reports false when nothing can happen
// before until.
func (w *world) turn(until time.Time) bool {
	w.settle()
	w.reseed()
	select {
	case <-w.signal: // whatever it told of is looked at now
	default:
	}
	if ended := w.takeEnded(); len(ended) > 0 {
		for _, v := range ended {
			if !v.told {
				w.trace.add("%s #%d ends: %s", v.instance.name, v.number, brief(v.out, v.err))
				w.tell(v, v.out, v.err)
				w.settle()
			}
		}
		return true
	}
	for _, st := range w.unseen() {
		if st.arrived != nil {
			st.arrived()
		}
	}
	if at, ok := w.aws.StepFunctions().Next(); ok && !at.After(time.Now()) {
		go func() {
			w.aws.StepFunctions().Step(context.Background())
			w.wake()
		}()
		return true
	}
	if e := w.nextEvent(); e != nil {
		e.do()
		return true
	}
	if steps := w.ready(); len(steps) > 0 {
		w.goOn(pick(w.schedule, steps...))
		return true
	}
	if !time.Now().Before(until) {
		return false
	}
	if at, ok := w.aws.StepFunctions().Next(); ok && at.Before(until) {
		until = at
	}
	w.sleep(until)
	return true
}

// reseed makes what is drawn from now on independent of what was drawn before: a dying process, or two that wake up in one moment,
// draw in no order.
func (w *world) reseed() {
	w.draws++
	w.o.Reseed(w.o.Seed<<32 | uint64(w.o.Schedule)<<28 | w.draws)
}

// run lets everything happen until a time.
func (w *world) run(until time.Time) {
	for !w.proved() && w.turn(until) {
		if w.steps > maxSteps {
			w.fail("stuck", "the schedule does not end: %d steps", w.steps)
			return
		}
	}
}

// goOn lets a step go on, with what the seed decides.
func (w *world) goOn(st *step) {
	w.steps++
	if w.faulty && !st.delayed && w.flip(w.mix.delay) {
		st.delayed = true
		st.after = time.Now().Add(w.between(time.Millisecond, w.mix.longest))
		w.faults++
		w.trace.add("#%d %s: late", st.by.number, st.key)
		return
	}
	st.delayed = true
	if w.flip(0.3) {
		time.Sleep(w.between(0, 20*time.Millisecond))
	}
	var f fault
	if w.faulty {
		f = w.draw(st)
	}
	if f != none {
		w.faults++
	}
	w.trace.add("#%d %s %s", st.by.number, st.key, f)
	if st.choice != nil {
		st.choice()
	}
	w.reseed()
	if f == crashBefore || f == crashAfter {
		if f == crashAfter {
			w.release(st, verdict{fault: f})
			w.settle()
		}
		w.crash(st.by)
		return
	}
	w.release(st, verdict{fault: f})
}

func brief(out []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.80s", out)
}

// close ends everything that still runs, so that the bubble can end.
func (w *world) close() {
	w.faulty = false
	close(w.over)
	for _, i := range w.pool {
		i.dead.Store(true)
		if i.by != nil && !i.by.told {
			w.crash(i.by)
		}
	}
	for {
		w.settle()
		steps := w.all()
		if len(steps) == 0 {
			break
		}
		for _, st := range steps {
			w.release(st, verdict{dead: true})
		}
	}
	if w.aws != nil {
		if err := w.aws.Close(); err != nil {
			w.fail("", "the stand-ins: %v", err)
		}
	}
}
