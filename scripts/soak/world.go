package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// specification of the business: a read, and a write.
const specification = `{"openapi":"3.1.0","info":{"title":"Soak","version":"1.0.0"},"paths":{
"/item":{"get":{"operationId":"item_get","summary":"Read","parameters":[{"name":"n","in":"query","required":true,"schema":{"type":"integer"}}],
"responses":{"200":{"description":"ok"}},"x-agent-capability":{"version":1,"enabled":true,"scope":"soak.read","risk":{"level":"low"},
"subject":{"required":true},"execution":{"timeout_ms":10000},"outcome":{"result":"found","side_effect":"read"},
"guidance":{"when_to_use":"always","returns":"an item","examples":[{"n":1}]}}}},
"/note":{"post":{"operationId":"note_create","summary":"Write","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object",
"properties":{"n":{"type":"integer"},"k":{"type":"integer"}},"required":["n","k"]}}}},"responses":{"200":{"description":"ok"}},
"x-agent-capability":{"version":1,"enabled":true,"scope":"soak.write","risk":{"level":"medium"},"subject":{"required":true},
"execution":{"timeout_ms":10000},"outcome":{"result":"written","side_effect":"write"},
"guidance":{"when_to_use":"always","returns":"a note","examples":[{"n":1,"k":0}]}}}}}}`

// writes is how often a job writes.
const writes = 2

// record is what is known of a job from outside, in a few bytes.
type record struct {
	notes    [writes]uint8 // how often each write arrived
	accepted bool
	status   byte // of the callback: 0 none, 'd' done, 'r' to reconcile, 'e' another error
	ends     uint8
}

// world is the business, the model and the receiver.
type world struct {
	mu       sync.Mutex
	jobs     []record
	errors   []string    // why jobs failed
	progress chan string // their ids
}

func newWorld(jobs int) *world {
	return &world{jobs: make([]record, jobs), progress: make(chan string, 1024)}
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := `{}`
	switch path := r.URL.Path; {
	case path == "/v1/chat/completions":
		answer = model(body)
	case path == "/item":
		answer = `{"item":"a thing"}`
	case path == "/note":
		w.note(body)
	case strings.HasPrefix(path, "/callback/"):
		n, err := strconv.Atoi(strings.TrimPrefix(path, "/callback/"))
		if err == nil {
			w.ended(n, body)
		}
	default:
		rw.WriteHeader(http.StatusNotFound)
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, answer)
}

// model asks for a read and the writes of the job whose number the user says, and then says that it is done.
func model(body []byte) string {
	var in struct {
		Messages []struct{ Role, Content string } `json:"messages"`
	}
	_ = json.Unmarshal(body, &in)
	n, played := "", false
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			n = m.Content
		case "tool":
			played = true
		}
	}
	message := `{"role":"assistant","content":"done"}`
	if !played {
		calls := []string{fmt.Sprintf(`{"id":"r","type":"function","function":{"name":"item_get","arguments":"{\"n\":%s}"}}`, n)}
		for k := range writes {
			calls = append(calls, fmt.Sprintf(`{"id":"w%d","type":"function","function":{"name":"note_create","arguments":"{\"n\":%s,\"k\":%d}"}}`, k, n, k))
		}
		message = `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	return `{"model":"soak","choices":[{"message":` + message + `,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
}

func (w *world) note(body []byte) {
	var v struct{ N, K int }
	if json.Unmarshal(body, &v) != nil || v.N < 0 || v.N >= len(w.jobs) || v.K < 0 || v.K >= writes {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[v.N].notes[v.K]++
}

// ended takes a callback; the same one may come again.
func (w *world) ended(n int, body []byte) {
	var v struct {
		Status      string `json:"status"`
		Error       string `json:"error"`
		TerminalSeq int    `json:"terminal_seq"`
		JobID       string `json:"job_id"`
	}
	if json.Unmarshal(body, &v) != nil || n < 0 || n >= len(w.jobs) {
		return
	}
	status := byte('e')
	if v.Status != "done" {
		w.failed(n, v.Error)
	}
	switch {
	case v.Status == "done":
		status = 'd'
	case v.Error == "tool_execution_reconciliation_required":
		status = 'r'
	}
	w.mu.Lock()
	j := &w.jobs[n]
	j.ends = max(j.ends, uint8(min(v.TerminalSeq, 255)))
	first := j.status == 0
	j.status = status
	w.mu.Unlock()
	if first {
		w.progress <- v.JobID
	}
}

// failed keeps why jobs failed, a few of them.
func (w *world) failed(n int, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.errors) < maxErrors {
		w.errors = append(w.errors, fmt.Sprintf("job %d: %s", n, why))
	}
}

// maxErrors bounds how many failed jobs are told of.
const maxErrors = 10

// verdict counts what went wrong.
func (w *world) verdict() (lost, twice, reconciliations, failed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		again := j.ends > 1
		missing := !j.accepted || j.status == 0
		for _, n := range j.notes {
			again = again || n > 1
			missing = missing || j.status == 'd' && n == 0
		}
		if again {
			twice++
		}
		if missing {
			lost++
		}
		switch j.status {
		case 'r':
			reconciliations++
		case 'e':
			failed++
		}
	}
	return lost, twice, reconciliations, failed
}
