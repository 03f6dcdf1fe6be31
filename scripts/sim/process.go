package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/admin"
	"bailing/functions/agentauth"
	"bailing/functions/approvals"
	"bailing/functions/approvalwait"
	"bailing/functions/callbackworker"
	"bailing/functions/jobworker"
	"bailing/functions/refresher"
	"bailing/functions/runs"
	"bailing/functions/sweeper"
	"bailing/scripts/local/invoke"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

// functions are the handlers under test.
var functions = map[string]func(*platform.Platform) (lambda.Handler, error){
	"runs": runs.New, "approvals": approvals.New, "approvalwait": approvalwait.New, "admin": admin.New, "agentauth": agentauth.New,
	"jobworker": jobworker.New, "callbackworker": callbackworker.New,
	"sweeper": sweeper.New, "refresher": refresher.New,
}

// instance is one execution environment of a function: it handles one invocation at a time and keeps what it has in memory, until
// it dies.
type instance struct {
	w        *world
	name     string
	function topology.Function
	clock    *skewed
	handler  lambda.Handler
	by       *invocation // that runs, or ran last
	busy     bool
	dead     atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

// invocation is one event in the hands of an instance.
type invocation struct {
	number   int
	instance *instance
	cancel   context.CancelFunc
	end      func(out []byte, err error) // runs once, when the event source learns what came of it
	told     bool
	out      []byte
	err      error
}

// skewed is a clock that shows another time than the machine's.
type skewed struct{ by atomic.Int64 }

func (c *skewed) Now() time.Time                         { return time.Now().UTC().Add(time.Duration(c.by.Load())) }
func (c *skewed) After(d time.Duration) <-chan time.Time { return time.After(d) }

// errCrashed is what an event source learns of an instance that died.
var errCrashed = errors.New("sim: the process died")

// errDead is what a dead process's requests fail with. It tells the SDK not to try again.
type errDead struct{}

func (errDead) Error() string       { return errCrashed.Error() }
func (errDead) CanceledError() bool { return true }

// start makes an instance of a function.
func (w *world) start(f topology.Function) *instance {
	w.instances++
	i := &instance{w: w, name: fmt.Sprintf("%s-%d", f.Name, w.instances), function: f, clock: &skewed{}}
	if w.faulty {
		i.clock.by.Store(int64(w.between(-w.mix.skew, w.mix.skew)))
	}
	c := w.config
	c.AccessKey = i.name
	p := platform.New(f.Name, c, platform.Options{Output: w.logs, Level: -4, Clock: i.clock, Dial: i.dial, HTTP: i})
	h, err := functions[f.Name](p)
	if err != nil {
		panic(fmt.Sprintf("sim: function %s: %v", f.Name, err))
	}
	i.handler = h
	w.pool = append(w.pool, i)
	return i
}

// idle is an instance that handles nothing now, started if need be.
func (w *world) idle(f topology.Function) *instance {
	for _, i := range w.pool {
		if i.function.Name == f.Name && !i.busy && !i.dead.Load() && !(w.faulty && w.flip(w.mix.cold)) {
			return i
		}
	}
	return w.start(f)
}

// invoke hands payload to an instance of the function; end learns what came of it.
func (w *world) invoke(f topology.Function, payload []byte, end func(out []byte, err error)) {
	i := w.idle(f)
	w.invocations++
	v := &invocation{number: w.invocations, instance: i, end: end}
	i.by, i.busy = v, true
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	w.trace.add("%s #%d begins", i.name, v.number)
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", v.number)
	fn := invoke.Function{Name: f.Name, Handler: i.handler, Timeout: f.Timeout, Clock: i.clock, NewID: func() string { return id }}
	go func() {
		v.out, v.err = fn.Invoke(ctx, payload)
		cancel()
		w.finished(v)
	}()
	// The platform stops what goes on after its time.
	w.in(f.Timeout+time.Second, func() {
		if !v.told {
			w.trace.add("%s #%d is stopped after its time", i.name, v.number)
			w.crash(v)
		}
	})
}

// crash ends an instance: what it still does reaches nobody.
func (w *world) crash(v *invocation) {
	i := v.instance
	i.dead.Store(true)
	v.cancel()
	i.mu.Lock()
	conns := i.conns
	i.conns = nil
	i.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	for _, st := range w.all() {
		if st.by == v && st.kind != toServe {
			w.release(st, verdict{dead: true})
		}
	}
	w.tell(v, nil, errCrashed)
}

// tell lets the event source know, once.
func (w *world) tell(v *invocation, out []byte, err error) {
	if v.told {
		return
	}
	v.told = true
	v.instance.busy = false
	v.end(out, err)
}

// Do sends a request to AWS. It is an aws.HTTPClient.
func (i *instance) Do(r *http.Request) (*http.Response, error) {
	if i.dead.Load() {
		return nil, errDead{}
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	q := i.w.describe(r, body)
	v, err := i.w.park(r.Context(), &step{kind: toAWS, key: q.key, by: i.by})
	if v.dead || i.dead.Load() {
		return nil, errDead{}
	}
	if err != nil {
		return nil, err
	}
	res, err := i.w.carryOut(i, q, r, body, v.fault)
	if v.fault == crashAfter {
		return nil, errDead{}
	}
	return res, err
}

// dial makes a connection one step: the product makes one for each request that may act.
func (i *instance) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if i.dead.Load() {
		return nil, errDead{}
	}
	by := i.by
	v, err := i.w.park(ctx, &step{kind: toConnect, key: "connect " + address, by: by})
	if v.dead || i.dead.Load() {
		return nil, errDead{}
	}
	if err != nil {
		return nil, err
	}
	if v.fault == refused {
		return nil, errors.New("connection refused")
	}
	conn, err := i.w.net.connect(by, address)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.conns = append(i.conns, conn)
	i.mu.Unlock()
	return conn, nil
}
