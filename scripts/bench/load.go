package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"bailing/scripts/demo/business"
	"bailing/scripts/local/stack"
)

// stackRows runs jobs through the local stack, and the same clients against a server that only echoes.
func stackRows(ctx context.Context, o options, p *progress) (rows []row, err error) {
	if o.jobs == 0 {
		return nil, nil
	}
	p.step("measuring: echo server, %d clients", o.clients)
	echo, err := echoRate(ctx, o)
	if err != nil {
		return nil, err
	}
	p.step("starting the local stack")
	s, err := stack.Start(ctx, stack.Options{Addr: "127.0.0.1:0", Demo: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hub := newHub(s, o.clients)
	if err := hub.liftLimits(ctx); err != nil {
		return nil, err
	}
	p.step("running %d jobs, %d clients", o.jobs, o.clients)
	accepted, done, err := hub.run(ctx, o, p)
	if err != nil {
		return nil, err
	}
	p.step("reading jobs, %d clients", o.clients)
	read, err := hub.reads(ctx, o)
	if err != nil {
		return nil, err
	}
	p.step("running %d jobs at once, and one alone", burst)
	alone, together, err := hub.burst(ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		rateRow("POST /run, while jobs run", "echo server", accepted, echo).beside("425 /s"),
		rateRow("GET /jobs/{id}", "echo server", read, echo).beside("3628 /s"),
		rateRow("jobs, with two model rounds and a call", "echo server", done, echo).beside("27 /s"),
		compared(fmt.Sprintf("%d jobs at once", burst), "one job alone", together, alone).beside("13.8 s"),
	}, nil
}

// burst is how many jobs come at once.
const burst = 30

// reads is how often a second the clients read a job that has ended.
func (h *hub) reads(ctx context.Context, o options) (float64, error) {
	var a struct {
		JobID string `json:"job_id"`
	}
	if err := h.do(ctx, http.MethodPost, "/run", submission(-1), &a); err != nil {
		return 0, err
	}
	if _, err := h.await(ctx, a.JobID); err != nil {
		return 0, err
	}
	start := time.Now()
	n, err := inParallel(ctx, o.clients, func(ctx context.Context, _ int) (bool, error) {
		var j jobView
		err := h.do(ctx, http.MethodGet, "/jobs/"+a.JobID, nil, &j)
		return time.Since(start) < o.duration, err
	})
	return float64(n) / time.Since(start).Seconds(), err
}

// burst is how long one job takes from its submission to its end, and how long many that come at once take together.
func (h *hub) burst(ctx context.Context) (alone, together time.Duration, err error) {
	for _, n := range []int{1, burst} {
		o := options{jobs: n, clients: n}
		start := time.Now()
		ids := make([]string, n)
		_, err := inParallel(ctx, n, func(ctx context.Context, i int) (bool, error) {
			if i >= n {
				return false, nil
			}
			var a struct {
				JobID string `json:"job_id"`
			}
			err := h.do(ctx, http.MethodPost, "/run", submission(-100*o.jobs-i), &a)
			ids[i] = a.JobID
			return true, err
		})
		if err != nil {
			return 0, 0, err
		}
		last := start
		for _, id := range ids {
			j, err := h.await(ctx, id)
			if err != nil {
				return 0, 0, err
			}
			if j.UpdatedAt.After(last) {
				last = j.UpdatedAt
			}
		}
		alone, together = together, last.Sub(start)
	}
	return alone, together, nil
}

// submission is the body of one request to run a job.
func submission(i int) []byte {
	return fmt.Appendf(nil, `{"request_id":"bench-%d","route":%q,"input":"Where is order SO-1001?","metadata":{"operator_uid":"u_42"}}`,
		i, stack.DemoRoute)
}

// echoRate is how many requests a second the clients get through a server that decodes and encodes JSON.
func echoRate(ctx context.Context, o options) (float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	h := &hub{url: "http://" + l.Addr().String(), http: client(o.clients)}
	start := time.Now()
	n, err := inParallel(ctx, o.clients, func(ctx context.Context, i int) (more bool, err error) {
		var answer map[string]any
		err = h.do(ctx, http.MethodPost, "/", submission(i), &answer)
		return time.Since(start) < o.duration, err
	})
	rate := float64(n) / time.Since(start).Seconds()
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return rate, err
}

func echo(w http.ResponseWriter, r *http.Request) {
	var v any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that left needs no answer
}

// inParallel calls f with 0, 1, 2, ... from several goroutines until one has no more or fails, and returns how many calls
// were made.
func inParallel(ctx context.Context, clients int, f func(ctx context.Context, i int) (more bool, err error)) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for more := true; more; {
				if more, errs[c] = f(ctx, int(next.Add(1)-1)); errs[c] != nil {
					cancel() // the others need not go on
					return
				}
			}
		})
	}
	wg.Wait()
	return int(next.Load()), errors.Join(errs...)
}

func client(clients int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute}
}

// hub is the administrator's view of a stack.
type hub struct {
	url, token, business string
	http                 *http.Client
}

func newHub(s *stack.Stack, clients int) *hub {
	return &hub{url: s.URL, token: s.ServerToken, business: s.Demo.BusinessURL, http: client(clients)}
}

func (h *hub) do(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, res.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// liftLimits lets the demo's tools be called as often as anybody likes: refusals are cheaper than calls.
func (h *hub) liftLimits(ctx context.Context) error {
	var spec any
	if err := json.Unmarshal(business.Spec(), &spec); err != nil {
		return err
	}
	withoutMember(spec, "rate_limit")
	body, err := json.Marshal(map[string]any{
		"name": stack.DemoProvider, "base_url": h.business, "spec_source": "inline", "spec_json": spec, "rate_limit_per_min": 0,
	})
	if err != nil {
		return err
	}
	var saved any
	return h.do(ctx, http.MethodPost, "/admin/api/tool-providers", body, &saved)
}

func withoutMember(v any, name string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, name)
		for _, e := range v {
			withoutMember(e, name)
		}
	case []any:
		for _, e := range v {
			withoutMember(e, name)
		}
	}
}

// jobView is what of a job is of interest.
type jobView struct {
	Status    string
	Error     *string
	Result    struct{ Text string }
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (j *jobView) terminal() bool {
	return j.Status == "done" || j.Status == "error" || j.Status == "rejected"
}

// run submits the jobs and waits for the last one. It returns requests accepted and jobs done per second.
func (h *hub) run(ctx context.Context, o options, p *progress) (accepted, done float64, err error) {
	ids := make([]string, o.jobs)
	start := time.Now()
	_, err = inParallel(ctx, o.clients, func(ctx context.Context, i int) (bool, error) {
		if i >= o.jobs {
			return false, nil
		}
		var a struct {
			JobID string `json:"job_id"`
		}
		err := h.do(ctx, http.MethodPost, "/run", submission(i), &a)
		ids[i] = a.JobID
		return true, err
	})
	if err != nil {
		return 0, 0, err
	}
	accepted = float64(o.jobs) / time.Since(start).Seconds()
	var first, last time.Time
	for i, id := range ids {
		p.update("running %d jobs, %d clients: %d done", o.jobs, o.clients, i)
		j, err := h.await(ctx, id)
		if err != nil {
			return 0, 0, err
		}
		if first.IsZero() || j.CreatedAt.Before(first) {
			first = j.CreatedAt
		}
		if j.UpdatedAt.After(last) {
			last = j.UpdatedAt
		}
	}
	return accepted, float64(o.jobs) / last.Sub(first).Seconds(), nil
}

// pollEvery is how often a job is looked at: seldom enough not to slow the others down.
const pollEvery = 100 * time.Millisecond

// await reads a job until it has ended. A job that did not succeed makes the numbers worthless.
func (h *hub) await(ctx context.Context, id string) (*jobView, error) {
	for {
		var j jobView
		if err := h.do(ctx, http.MethodGet, "/jobs/"+id, nil, &j); err != nil {
			return nil, err
		}
		switch {
		case j.Status == "done" && j.Result.Text != "":
			return &j, nil
		case j.terminal():
			return nil, fmt.Errorf("job %s ended as %s: %v", id, j.Status, j.Error)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
