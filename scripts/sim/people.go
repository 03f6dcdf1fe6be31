package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

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

const (
	modelAddress = "127.0.0.1:7100"
	trapAddress  = "127.0.0.1:6666" // whoever comes here followed a redirect
)

func businessAddress(i int) string { return fmt.Sprintf("127.0.0.1:%d", 7001+i) }

// configure sets the product up as administrators do.
func (w *world) configure() error {
	handlers := map[string]lambda.Handler{}
	for _, f := range w.topology.Functions {
		handlers[f.Name] = handler{w, f}
	}
	n := 0
	var err error
	logger := slog.New(slog.NewJSONHandler(w.logs, nil))
	w.gateway, err = gateway.New(w.topology, handlers, gateway.Options{Logger: logger, NewID: func() string {
		n++
		return fmt.Sprintf("00000000-0000-4000-9000-%012d", n)
	}})
	if err != nil {
		return err
	}
	w.modelKey = w.canary("key of the model")
	w.net.servers[modelAddress] = w.modelServer()
	w.net.servers[trapAddress] = w.trapServer()
	type save struct {
		kind, name string
		body       map[string]any
	}
	steps := []save{
		{"targets", "llm", map[string]any{"name": "llm", "kind": "inhub"}},
		{"credentials", "model", map[string]any{"name": "model", "kind": "chat", "base_url": "http://" + modelAddress + "/v1", "api_key": w.modelKey, "default_model": "scripted"}},
	}
	for i := range 1 + w.rng.IntN(2) {
		name := "biz" + string(rune('a'+i))
		w.businesses = append(w.businesses, name)
		w.secrets[name] = w.canary("secret of business " + name)
		w.net.servers[businessAddress(i)] = w.businessServer(name)
		body := map[string]any{
			"name": name, "base_url": "http://" + businessAddress(i), "spec_source": "inline", "spec_json": w.published(name, "always"), "secret": w.secrets[name],
			"rate_limit_per_min": pick(w.schedule, 0, 0, 30), "timeout_ms": 10000,
		}
		steps = append(steps, save{"tool-providers", name, body})
	}
	for i := range 1 + w.rng.IntN(2) {
		key := fmt.Sprintf("route_%d", i)
		w.routes = append(w.routes, key)
		var sources []any
		for _, b := range w.businesses {
			sources = append(sources, map[string]any{"provider": b, "allow": []any{"sim.*"}, "subject_field": "operator"})
		}
		body := map[string]any{
			"route_key": key, "name": key, "target": "llm", "target_config": map[string]any{"credential": "model", "timeout_ms": 30000},
			"session_policy": "per_key", "session_key_field": "session",
			"tools": map[string]any{"sources": sources, "max_calls": 4 + w.rng.IntN(6), "approval": map[string]any{
				"type": "business_webhook", "url": fmt.Sprintf("http://127.0.0.1:%d/approvals", 7300+i), "expires_in_s": pick(w.schedule, 120, 3600, 7200),
			}},
		}
		w.net.servers[fmt.Sprintf("127.0.0.1:%d", 7300+i)] = w.approverServer()
		if w.flip(0.15) { // a few jobs, and then no more
			body["budget"] = map[string]any{"window": "day", "hard_tokens": 30 + w.rng.IntN(100)}
		}
		if w.flip(0.5) {
			body["retry"] = map[string]any{"max": 1 + w.rng.IntN(3), "backoff_ms": pick(w.schedule, 500, 5000, 60000)}
		}
		if w.flip(0.3) {
			address := fmt.Sprintf("127.0.0.1:%d", 7200+i)
			body["delivery"] = map[string]any{"type": "webhook", "url": "http://" + address + "/delivery"}
			w.net.servers[address] = w.receiver(address)
		}
		steps = append(steps, save{"routes", key, body})
	}
	for i := range 1 + w.rng.IntN(2) {
		name := fmt.Sprintf("client-%d", i)
		var routes []any
		for _, r := range w.routes {
			routes = append(routes, r)
		}
		w.clients = append(w.clients, &client{name: name})
		steps = append(steps, save{"clients", name, map[string]any{"app_id": name, "name": name, "allowed_routes": routes, "rate_limit_per_min": pick(w.schedule, 0, 20)}})
	}
	made := 0
	for _, s := range steps {
		out, err := w.must(http.MethodPost, "/admin/api/"+s.kind, s.body)
		if err != nil {
			return err
		}
		if s.kind == "clients" {
			w.clients[made].token, _ = out["token"].(string)
			w.canaries[w.clients[made].token] = "token of " + s.name
			made++
		}
		w.settings[s.kind+"/"+s.name] = s.body
	}
	return nil
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
		case status == http.StatusTooManyRequests, status >= 500, w.off["clients/"+j.client.name], w.off["routes/"+j.route], status == http.StatusForbidden, status == http.StatusUnauthorized:
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

// minute is what happens by itself every minute of the faulty part.
func (w *world) minute() {
	if !w.faulty {
		return
	}
	if at := w.due(); w.flip(w.mix.sweep) || !at.IsZero() && !at.After(time.Now()) {
		w.sweep()
		if w.flip(0.2) {
			w.in(w.between(0, time.Second), w.sweep)
		}
	}
	if w.flip(w.mix.jump) && len(w.pool) > 0 {
		i := pick(w.schedule, w.pool...)
		by := w.between(time.Minute, 45*time.Minute)
		w.trace.add("the clock of %s jumps by %s", i.name, by)
		w.faults++
		i.clock.by.Add(int64(by))
	}
	if w.flip(w.mix.operator) {
		w.operate()
	}
}

// operate lets an administrator do something.
func (w *world) operate() {
	admin := func(method, path string, body any) {
		w.api(method, path, w.config.ServerToken, body, func(int, []byte) {})
	}
	switch w.rng.IntN(11) {
	case 8:
		w.toggle("routes/" + pick(w.schedule, w.routes...))
	case 9: // what a tool is for is told in other words, which changes no approval
		b := pick(w.schedule, w.businesses...)
		w.revision++
		w.settings["tool-providers/"+b]["spec_json"] = w.published(b, fmt.Sprintf("always, says revision %d", w.revision))
		w.save("tool-providers/" + b)
	case 10:
		for _, r := range w.scan(topology.TableJobs) {
			if strings.HasPrefix(r.str("sk"), "outbox#") && r.str("state") == "dead" && r["resolved"].N == nil {
				parts := strings.Split(r.str("sk"), "#")
				id := fmt.Sprintf("%s_%s_%s", strings.TrimPrefix(r.str("pk"), "job#"), strings.TrimLeft(parts[1], "0"), parts[2])
				admin(http.MethodPost, "/admin/api/delivery-dlq/"+id+"/"+pick(w.schedule, "resend", "resolve"), map[string]any{})
				break
			}
		}
	case 5, 6:
		w.administer()
	case 7:
		w.reconcile()
	case 0:
		w.paused = !w.paused
		admin(http.MethodPost, map[bool]string{true: "/admin/pause", false: "/admin/resume"}[w.paused], nil)
	case 1:
		w.toggle("tool-providers/" + pick(w.schedule, w.businesses...))
	case 2:
		w.toggle("clients/" + pick(w.schedule, w.clients...).name)
	case 3:
		if j := pick(w.schedule, w.jobs...); j.id != "" {
			admin(http.MethodPost, "/admin/api/runs/"+j.id+"/rerun", nil)
		}
	case 4:
		admin(http.MethodPost, "/admin/api/delivery-dlq/replay", map[string]any{})
	}
}

// reconcile lets an administrator close a call of unknown outcome.
func (w *world) reconcile() {
	for _, r := range w.scan(topology.TableJobs) {
		if state := r.str("state"); !strings.HasPrefix(r.str("sk"), "call#") || state != "dispatching" && state != "uncertain" {
			continue
		}
		body := map[string]any{"outcome": "not_happened", "reason": "looked it up"}
		if w.times[effect{strings.TrimPrefix(r.str("pk"), "job#"), r.str("tool"), r.str("hash")}] > 0 {
			body = map[string]any{"outcome": "happened", "status": 200, "reason": "looked it up"}
		}
		path := fmt.Sprintf("/admin/api/reconciliations/%s/%s/close", strings.TrimPrefix(r.str("pk"), "job#"), r.str("key"))
		w.api(http.MethodPost, path, w.config.ServerToken, body, func(status int, answer []byte) {
			if status == http.StatusBadRequest {
				w.fail("", "close: %d %s", status, answer)
			}
		})
		return
	}
}

// toggle switches a provider or a client off, or on again.
func (w *world) toggle(name string) {
	w.off[name] = !w.off[name]
	w.save(name)
}

func (w *world) save(name string) {
	kind, _, _ := strings.Cut(name, "/")
	body := map[string]any{"enabled": !w.off[name]}
	for k, v := range w.settings[name] {
		body[k] = v
	}
	w.api(http.MethodPost, "/admin/api/"+kind, w.config.ServerToken, body, func(status int, answer []byte) {
		if status >= 400 && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests {
			w.fail("", "save %s: %d %s", name, status, answer)
		}
	})
}
