package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"bailing/scripts/local/gateway"
	"bailing/shared/topology"
)

// people are those around the product: clients, administrators, businesses, the model, receivers.
type people struct {
	gateway    *gateway.Gateway
	nobody     *invocation // by whom nothing is invoked
	clients    []*client
	businesses []string
	routes     []string
	secrets    map[string]string // of businesses
	modelKey   string
	settings   map[string]map[string]any // what was saved last, by kind/name
	off        map[string]bool           // what is switched off now
	paused     bool
	jobs       []*job
	byID       map[string]*job
	received   int
	revision   int // of specifications
	calls      int
}

// client is a business application that submits jobs.
type client struct {
	name  string
	token string
}

// job is one request for work.
type job struct {
	number    int
	client    *client
	requestID string
	route     string
	body      string
	script    script
	callback  string // address of its receiver, "" for none
	id        string // "" until it is accepted
	refused   string // the answer that will not change
	status    string
}

func (w *world) newPeople() {
	w.nobody = &invocation{}
	w.byID = map[string]*job{}
	w.secrets, w.settings, w.off = map[string]string{}, map[string]map[string]any{}, map[string]bool{}
}

// handler lets the gateway invoke a function through the schedule.
type handler struct {
	w *world
	f topology.Function
}

// Invoke waits for the answer, or for the death of the instance.
func (h handler) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	h.w.invoke(h.f, payload, func(out []byte, err error) { done <- result{out, err} })
	r := <-done
	return r.out, r.err
}

// api makes a request to the product; then runs in the schedule with its answer. Nothing else may begin a request in the same
// moment.
func (w *world) api(method, path, token string, body any, then func(status int, answer []byte)) {
	w.apiWith(http.Header{}, method, path, token, body, then)
}

func (w *world) apiWith(header http.Header, method, path, token string, body any, then func(status int, answer []byte)) {
	var b []byte
	switch v := body.(type) {
	case nil:
	case string:
		b = []byte(v)
	default:
		var err error
		if b, err = json.Marshal(v); err != nil {
			panic(err)
		}
	}
	w.calls++
	r := httptest.NewRequest(method, "https://hub.example"+path, bytes.NewReader(b))
	r.Header = header
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	number := w.calls
	w.trace.add("request %d: %s %s", number, method, path)
	answer := httptest.NewRecorder()
	v := &invocation{number: -number, instance: &instance{name: "gateway"}, told: false}
	v.end = func([]byte, error) {
		w.trace.add("request %d: %d", number, answer.Code)
		then(answer.Code, answer.Body.Bytes())
	}
	go func() {
		w.gateway.ServeHTTP(answer, r)
		w.finished(v)
	}()
	w.settle()
}

// must makes a request of the set-up.
func (w *world) must(method, path string, body any) (map[string]any, error) {
	var out map[string]any
	done, err := false, error(nil)
	w.api(method, path, w.config.ServerToken, body, func(status int, answer []byte) {
		done = true
		if status != http.StatusOK {
			err = fmt.Errorf("%s %s: %d %s", method, path, status, answer)
			return
		}
		err = json.Unmarshal(answer, &out)
	})
	for limit := time.Now().Add(time.Minute); !done; {
		if !w.turn(limit) {
			return nil, fmt.Errorf("%s %s: no answer", method, path)
		}
	}
	return out, err
}

// published is the specification that a business publishes.
func (w *world) published(business, when string) string {
	s := specification(business, when)
	if w.mutant.publishes != nil {
		s = w.mutant.publishes(s)
	}
	return s
}

// plan draws the jobs of the schedule and when they are submitted.
func (w *world) plan() {
	n := 3 + w.rng.IntN(10)
	for i := range n {
		j := &job{number: i, client: pick(w.schedule, w.clients...), requestID: fmt.Sprintf("req-%d", i), script: w.newScript(i)}
		input, err := json.Marshal(j.script)
		if err != nil {
			panic(err)
		}
		j.route = pick(w.schedule, w.routes...)
		body := map[string]any{
			"request_id": j.requestID, "route": j.route, "input": string(input),
			"metadata": map[string]any{"operator": "u1", "session": fmt.Sprintf("s%d", w.rng.IntN(max(2, n/2)))},
		}
		switch {
		case w.flip(0.06): // an address that is not permitted
			body["callback_url"] = pick(w.schedule, "http://10.1.2.3/callback", "http://169.254.169.254/latest/meta-data", "http://127.0.9.9:80/")
			j.callback = "forbidden"
		case w.flip(0.8):
			j.callback = fmt.Sprintf("127.0.0.1:%d", 9000+i)
			body["callback_url"] = "http://" + j.callback + "/callback"
			w.net.servers[j.callback] = w.receiver(j.callback)
		}
		b, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		j.body = string(b)
		w.jobs = append(w.jobs, j)
		w.in(w.between(0, 40*time.Second), func() { w.submit(j) })
		if w.flip(0.2) {
			w.in(w.between(0, 3*time.Minute), func() { w.submit(j) })
		}
	}
	for m := range 10 {
		w.in(time.Duration(m)*time.Minute+w.between(0, time.Minute), w.minute)
	}
	for range w.rng.IntN(6) {
		w.in(w.between(0, time.Minute), w.stray)
	}
	for range w.mix.early {
		w.in(w.between(0, time.Minute), w.sweepEarly)
	}
}

// stray puts a message for some job on the queue, as one that was delayed for long.
func (w *world) stray() {
	j := pick(w.schedule, w.jobs...)
	if j.id == "" || !w.faulty {
		return
	}
	w.faults++
	w.trace.add("stray message for %s", j.id)
	url := w.config.JobsQueueURL
	w.ask("AmazonSQS.SendMessage", map[string]any{"QueueUrl": url, "MessageBody": fmt.Sprintf(`{"job_id":%q}`, j.id)}, nil)
	w.poll(url)
}

// sweepEarly lets a sweeper look whose clock is so far ahead that it takes workers for dead which are not.
func (w *world) sweepEarly() {
	if !w.faulty {
		return
	}
	f, _ := w.topology.FunctionNamed("sweeper")
	i := w.idle(f)
	by := w.between(21*time.Minute, 45*time.Minute)
	w.trace.add("the clock of %s jumps by %s", i.name, by)
	w.faults++
	i.clock.by.Store(int64(by))
	w.sweep()
}

// newScript draws what a job does.
func (w *world) newScript(n int) script {
	s := script{Job: n}
	var all []call
	for range 1 + w.rng.IntN(3) {
		var round []call
		for range 1 + w.rng.IntN(3) {
			if len(all) > 0 && w.flip(0.15) { // the same again
				round = append(round, pick(w.schedule, all...))
				continue
			}
			tool := pick(w.schedule, toolRead, toolTag, toolNote, toolNote, toolNote, toolPay, toolPay, toolSecret)
			what := fmt.Sprintf("%s of job %d, %d", tool, n, w.rng.IntN(4))
			args := fmt.Sprintf(`{"what":%q,"amount":%d}`, what, w.rng.IntN(2))
			if tool == toolRead {
				args = fmt.Sprintf(`{"what":%q}`, what)
			}
			c := call{Tool: pick(w.schedule, w.businesses...) + "_" + tool, Args: json.RawMessage(args)}
			round, all = append(round, c), append(all, c)
		}
		s.Rounds = append(s.Rounds, round)
	}
	return s
}

// submit sends a job's request until it has an answer that stays.
func (w *world) submit(j *job) {
	w.api(http.MethodPost, "/run", j.client.token, j.body, func(status int, answer []byte) {
		var v struct {
			JobID  string `json:"job_id"`
			Status string `json:"status"`
			Error  string `json:"error"`
		}
		_ = json.Unmarshal(answer, &v)
		switch {
		case status < 300 && v.JobID != "":
			w.accepted(j, v.JobID)
		case status == http.StatusTooManyRequests, status >= 500, status == http.StatusForbidden, status == http.StatusUnauthorized,
			w.off["clients/"+j.client.name], w.off["routes/"+j.route]:
			w.in(w.between(time.Second, 30*time.Second), func() { w.submit(j) })
		default:
			j.refused = fmt.Sprintf("%d %s", status, answer)
			if j.id != "" {
				w.fail("I9", "request %s was accepted as %s and then refused: %s", j.requestID, j.id, j.refused)
			}
		}
	})
}

// accepted notes the job that a request became.
func (w *world) accepted(j *job, id string) {
	if j.id != "" && j.id != id {
		w.fail("I9", "request %s became the jobs %s and %s", j.requestID, j.id, id)
	}
	if other := w.byID[id]; other != nil && other != j {
		w.fail("I9", "requests %s and %s became the same job", j.requestID, other.requestID)
	}
	j.id = id
	w.byID[id] = j
}
