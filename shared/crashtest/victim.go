package crashtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"bailing/shared/awslocal/fault"
)

// AccessKey signs the requests of a victim to AWS: it tells them from everybody else's.
const AccessKey = "victim"

// Victim is a process that dies at one of its steps. Give its Dial and its HTTP client to the platform under test, and its
// Hook to the stand-ins.
type Victim struct {
	dieAt int
	after bool
	kill  context.CancelFunc

	mu    sync.Mutex
	steps int
	dead  bool
}

// NewVictim returns a victim that dies at step dieAt (1 is the first; 0 lets it live). With after the fatal step takes effect and
// its answer is lost; otherwise it never happens. kill ends the invocation's context at that moment.
func NewVictim(dieAt int, after bool, kill context.CancelFunc) *Victim {
	return &Victim{dieAt: dieAt, after: after, kill: kill}
}

// Steps is how many steps were made.
func (v *Victim) Steps() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.steps
}

// Dead reports whether the fatal step was reached.
func (v *Victim) Dead() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dead
}

// step counts one step and says what happens to it.
func (v *Victim) step() (fatal, dead bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return false, true
	}
	v.steps++
	if v.steps == v.dieAt {
		v.dead = true
		v.kill()
		return true, false
	}
	return false, false
}

// Hook decides the requests to AWS that are signed with [AccessKey], and leaves all others alone.
func (v *Victim) Hook(op fault.Op) fault.Fault {
	if op.AccessKey != AccessKey {
		return fault.Fault{}
	}
	fatal, dead := v.step()
	switch {
	case dead, fatal && !v.after:
		return fault.Fault{Kind: fault.Drop}
	case fatal:
		return fault.Fault{Kind: fault.DropAfterCommit}
	}
	return fault.Fault{}
}

// ErrDead is what a dead victim's connections fail with.
var ErrDead = errors.New("crashtest: the process is dead")

// Dial makes a connection one step: the product's senders make one for each request that may act.
func (v *Victim) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	fatal, dead := v.step()
	if dead || (fatal && !v.after) {
		return nil, ErrDead
	}
	// The far end must be able to do its work although the victim's context has just ended.
	conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, address)
	if err != nil || !fatal {
		return conn, err
	}
	return lostAnswer{conn}, nil
}

// lostAnswer delivers the request and loses the answer.
type lostAnswer struct{ net.Conn }

func (c lostAnswer) Read(b []byte) (int, error) {
	if _, err := c.Conn.Read(b); err != nil {
		return 0, err
	}
	return 0, ErrDead
}

// Do sends a request to AWS, none once the victim is dead. It is an aws.HTTPClient. A request that was sent runs to its end although
// the victim's context has just ended: otherwise the fatal step could take effect long after the victim is gone, or never.
func (v *Victim) Do(r *http.Request) (*http.Response, error) {
	if v.Dead() {
		return nil, deadError{}
	}
	return http.DefaultClient.Do(r.WithContext(context.WithoutCancel(r.Context())))
}

// deadError tells the SDK not to try again.
type deadError struct{}

func (deadError) Error() string       { return ErrDead.Error() }
func (deadError) CanceledError() bool { return true }
