package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/signature"
)

// breaks draws what goes wrong with an answer; ok is what the server would have said.
func (w *world) breaks(ok manner) manner {
	if !w.faulty || !w.flip(w.mix.broken) {
		return ok
	}
	w.faults++
	m := ok
	switch w.rng.IntN(8) {
	case 0:
		m.status, m.body = pick(w.schedule, 500, 503, 425, 429, 400, 404), `{"error":"broken"}`
		if m.status == http.StatusTooManyRequests || m.status == http.StatusServiceUnavailable {
			m.header = http.Header{"Retry-After": {fmt.Sprint(w.rng.IntN(600))}}
		}
	case 1:
		m.status, m.body = pick(w.schedule, 502, 504, 408), `{"error":"an intermediary lost it"}`
	case 2:
		m.reset = true
	case 3:
		m.half = true
	case 4:
		m.wait = w.between(time.Second, 2*time.Minute)
	case 5:
		m.wait = 10 * time.Minute
	case 6:
		m.status, m.header = http.StatusFound, http.Header{"Location": {"http://" + trapAddress + "/"}}
	case 7:
		m.status, m.body = http.StatusOK, `not JSON`
	}
	w.trace.add("  it answers %d, half %v, reset %v, after %s", m.status, m.half, m.reset, m.wait)
	return m
}

// effect is a side effect that a business was asked for.
type effect struct {
	job, tool, args string
}

// arrival is a request that reached a business.
type arrival struct {
	effect
	key      string // idempotency key
	hash     string // of the arguments
	answered atomic.Bool
}

// businessServer is a business system.
func (w *world) businessServer(name string) *server {
	n := 0
	asked := map[*http.Request]*arrival{}
	return &server{
		name: "business " + name,
		seen: func(_ *invocation, r *http.Request, body []byte) { asked[r] = w.reached(name, r, body) },
		act: func(_ *invocation, r *http.Request, _ []byte) manner {
			n++
			body := fmt.Sprintf(`{"number":%d}`, n)
			if strings.HasPrefix(r.URL.Path, "/"+toolSecret) {
				body = fmt.Sprintf(`{"number":%d,"pin":%q}`, n, w.canary(fmt.Sprintf("answer %d of a sensitive tool of business %s", n, name)))
			}
			m := w.breaks(manner{status: http.StatusOK, body: body, wait: w.between(0, 200*time.Millisecond)})
			// Some statuses say that an intermediary lost the answer (D12).
			if a := asked[r]; a != nil && !m.half && !slices.Contains([]int{408, 502, 504}, m.status) {
				m.complete = func() { a.answered.Store(true) }
			}
			delete(asked, r)
			return m
		},
	}
}

// reached checks a request that has arrived at a business, before anything else happens (I1, I2, I3).
func (w *world) reached(business string, r *http.Request, body []byte) *arrival {
	h := signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}
	c := signature.ToolCall{
		Method: r.Method, Path: r.RequestURI, Body: body, OnBehalfOf: r.Header.Get("X-Bailing-On-Behalf-Of"), JobID: r.Header.Get("X-Bailing-Job-Id"),
	}
	if err := signature.VerifyTool(w.secrets[business], c, h, time.Now()); err != nil && w.mix.jump == 0 {
		w.fail("I2", "business %s got a request without a good signature: %v", business, err)
	}
	kind := strings.TrimPrefix(r.URL.Path, "/")
	tool := business + "_" + kind
	if kind != toolNote && kind != toolPay && kind != toolSecret {
		return nil
	}
	args, err := canonical.Parse(body, canonical.Limits{})
	if err != nil {
		w.fail("I3", "business %s got %q", business, body)
		return nil
	}
	a := &arrival{effect: effect{c.JobID, tool, string(args.AppendCompact(nil))}, key: r.Header.Get("X-Bailing-Idempotency-Key"), hash: args.Hash()}
	w.arrivals = append(w.arrivals, a)
	w.times[effect{c.JobID, tool, a.hash}]++
	if n := w.times[effect{c.JobID, tool, a.hash}]; n > 1 {
		w.duplicates++
		w.fail("I1", "job %s: %s(%s) reached the business %d times", a.job, tool, a.args, n)
	}
	w.recorded(a)
	if kind == toolPay {
		w.authorised(a)
	}
	return a
}

// modelServer is the language model.
func (w *world) modelServer() *server {
	seen := func(by *invocation, _ *http.Request, body []byte) { w.consulted(by, body) }
	return &server{name: "model", seen: seen, act: func(_ *invocation, r *http.Request, body []byte) manner {
		if r.Header.Get("Authorization") != "Bearer "+w.modelKey {
			return manner{status: http.StatusUnauthorized, body: `{}`}
		}
		answer, err := reply(body)
		if err != nil {
			w.fail("", "the model cannot answer: %v", err)
		}
		return w.breaks(manner{status: http.StatusOK, body: answer, wait: w.between(0, 2*time.Second)})
	}}
}

// trapServer is where redirects lead.
func (w *world) trapServer() *server {
	return &server{name: "trap", act: func(_ *invocation, r *http.Request, _ []byte) manner {
		w.fail("I7", "a redirect was followed to %s", r.RequestURI)
		return manner{status: http.StatusOK, body: "{}"}
	}}
}

// dialledNobody checks an address that the product dialled and that is nobody's.
func (w *world) dialledNobody(address string) {
	if !strings.HasPrefix(address, "127.0.0.") {
		w.fail("I7", "the product dialled %s, which is not permitted", address)
	}
}

// receiver takes callbacks and deliveries.
func (w *world) receiver(address string) *server {
	gone := false
	return &server{name: "receiver " + address, act: func(_ *invocation, r *http.Request, body []byte) manner {
		id := r.Header.Get("Webhook-Id")
		m := w.breaks(manner{status: http.StatusOK, body: `{}`, wait: w.between(0, 100*time.Millisecond)})
		if w.faulty && w.flip(w.mix.broken/10) {
			gone = true
		}
		if gone {
			m = manner{status: http.StatusGone, body: `{}`}
		}
		w.toldOf(address, id, body, m)
		return m
	}}
}

// approverServer hears of tickets.
func (w *world) approverServer() *server {
	return &server{name: "approver", act: func(_ *invocation, _ *http.Request, body []byte) manner {
		w.asked(body)
		return w.breaks(manner{status: http.StatusOK, body: `{}`})
	}}
}

func (w *world) toldOf(address, id string, body []byte, m manner) {
	var v struct {
		JobID string `json:"job_id"`
	}
	_ = json.Unmarshal(body, &v)
	if first, ok := w.bodies[address+id]; ok && first != string(body) {
		w.fail("I6", "event %s was told in two ways", id)
	}
	w.bodies[address+id] = string(body)
	if m.status < 300 && !m.reset {
		w.heard[id] = true
	}
}
