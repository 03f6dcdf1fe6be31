package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"bailing/scripts/local/stack"
	"bailing/shared/job"
	"bailing/shared/outbound"
	"bailing/shared/platform"
	"bailing/shared/store"
)

// parts is what the product's functions are made of, on the stand-ins of a stack that delivers no messages: whoever measures
// moves the jobs on.
type parts struct {
	stack    *stack.Stack
	client   *hub // as the demo's client sees it
	platform *platform.Platform
	store    *store.Store
	jobs     *job.Lifecycle
}

// partRows measures governed calls and callbacks by themselves, with the store and the demo business behind them.
func partRows(ctx context.Context, o options, p *progress) (rows []row, err error) {
	if o.calls == 0 && o.callbacks == 0 {
		return nil, nil
	}
	p.step("starting the stand-ins")
	s, err := stack.Start(ctx, stack.Options{Addr: "127.0.0.1:0", Demo: true, Manual: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := newHub(s, o.clients).liftLimits(ctx); err != nil {
		return nil, err
	}
	a := &parts{stack: s, client: newHub(s, o.clients), platform: platform.New("bench", s.Config, platform.Options{Output: io.Discard})}
	a.client.token = s.Demo.ClientToken
	a.store = a.platform.Store()
	a.jobs = a.platform.Lifecycle(a.store)
	a.jobs.Notifier = nil // the rows of the outbox are enough: nobody reads the queue
	for _, measure := range []func(context.Context, options, *progress) ([]row, error){a.callRows, a.callbackRows} {
		more, err := measure(ctx, o, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if n := s.Demo.Business.Rejected(); n > 0 {
		return nil, fmt.Errorf("the business rejected %d signatures", n)
	}
	return rows, nil
}

// claimed submits n jobs and claims each. name keeps their request ids apart from those of others; callback may be "".
func (a *parts) claimed(ctx context.Context, o options, n int, name, callback string) ([]*job.Job, error) {
	jobs := make([]*job.Job, n)
	err := times(ctx, o.clients, n, func(ctx context.Context, i int) error {
		body := fmt.Appendf(nil, `{"request_id":"%s-%d","route":%q,"input":"Where is order SO-1001?","metadata":{"operator_uid":"u_42"}`,
			name, i, stack.DemoRoute)
		if callback != "" {
			body = fmt.Appendf(body, `,"callback_url":%q`, callback)
		}
		var accepted struct {
			JobID string `json:"job_id"`
		}
		if err := a.client.do(ctx, http.MethodPost, "/run", append(body, '}'), &accepted); err != nil {
			return err
		}
		var err error
		jobs[i], err = a.jobs.Claim(ctx, accepted.JobID, "bench")
		return err
	})
	return jobs, err
}

func fence(j *job.Job) job.Fence { return job.Fence{JobID: j.ID, Claim: j.Claim} }

// times calls f with 0 to n-1 from several goroutines.
func times(ctx context.Context, clients, n int, f func(ctx context.Context, i int) error) error {
	_, err := inParallel(ctx, clients, func(ctx context.Context, i int) (bool, error) {
		if i >= n {
			return false, nil
		}
		return true, f(ctx, i)
	})
	return err
}

// tap is the guarded client. It keeps the last request, for the baseline to repeat.
type tap struct {
	next *outbound.Client
	last atomic.Pointer[outbound.Request]
}

func (a *parts) tap() (*tap, error) {
	c, err := a.platform.Outbound()
	return &tap{next: c}, err
}

func (t *tap) Do(ctx context.Context, r outbound.Request) (*outbound.Response, error) {
	t.last.Store(&r)
	return t.next.Do(ctx, r)
}

// turns is into how many parts a measurement is cut. Value and baseline take turns, so that a machine that slows down slows both.
const turns = 5

// compare returns how many of n calls of f, each of which sends a request, end in a second, and how many times a second the
// last of these requests, with its signature, gets through a client of net/http that keeps its connections.
func (t *tap) compare(
	ctx context.Context, o options, clients, n int, f func(ctx context.Context, i int) error,
) (value, baseline float64, err error) {
	c := client(clients)
	defer c.CloseIdleConnections()
	var took, bareTook time.Duration
	sent := 0
	for turn := range turns {
		first, end := n*turn/turns, n*(turn+1)/turns
		if first == end {
			continue
		}
		start := time.Now()
		err := times(ctx, clients, end-first, func(ctx context.Context, i int) error { return f(ctx, first+i) })
		if err != nil {
			return 0, 0, err
		}
		took += time.Since(start)
		r := t.last.Load()
		start = time.Now()
		m, err := inParallel(ctx, clients, func(ctx context.Context, _ int) (more bool, err error) {
			return time.Since(start) < o.duration/turns, bare(ctx, c, r)
		})
		if err != nil {
			return 0, 0, err
		}
		bareTook += time.Since(start)
		sent += m
	}
	return float64(n) / took.Seconds(), float64(sent) / bareTook.Seconds(), nil
}

func bare(ctx context.Context, c *http.Client, r *outbound.Request) error {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	req.Header = r.Header.Clone()
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: status %d", r.Method, r.URL, res.StatusCode)
	}
	return nil
}

func rateRow(name, against string, value, baseline float64) row {
	return row{name: name, value: fmt.Sprintf("%.0f /s", value), baseline: fmt.Sprintf("%.0f /s  %s", baseline, against), ratio: value / baseline}
}
