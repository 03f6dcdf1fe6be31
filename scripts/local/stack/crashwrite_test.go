package stack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/scripts/demo/business"
	"bailing/shared/delivery"
	"bailing/shared/job"
)

// write is a directive that makes the scripted model open a ticket; read one that looks an order up.
func write(subject string) string {
	return fmt.Sprintf(`[[tool ticket_create {"subject":%q,"body":"It arrived dented."}]]`, subject)
}

const read = `[[tool order_get {"order_no":"SO-1001"}]]`

// ended is how a job with writes came to its end.
type ended struct {
	reconciliation bool
	writes         []string // subjects that reached the business, sorted
}

// checkWrites requires that the job is done or waits for a person to reconcile it, and that no write of it reached the business
// twice, not even as a repetition that the business could tell by its key (I1, I4, I5).
func (w *crashWorld) checkWrites(id string) (e ended) {
	w.t.Helper()
	var v struct {
		Status job.Status `json:"status"`
		Error  string     `json:"error"`
		Result struct {
			Text          string `json:"text"`
			State         string `json:"governance_state"`
			AutoRetry     *bool  `json:"auto_retry_allowed"`
			ToolExecution struct {
				State string `json:"state"`
				Tool  string `json:"tool"`
				Key   string `json:"idempotency_key"`
			} `json:"tool_execution"`
		} `json:"result"`
	}
	w.request(http.MethodGet, "/jobs/"+id, "", http.StatusOK, &v)
	keys := map[string]bool{}
	for _, c := range w.s.Demo.Business.Verified() {
		if c.JobID != id || c.Operation != "ticket_create" {
			continue
		}
		var body struct {
			Subject string `json:"subject"`
		}
		if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
			w.t.Fatal(err)
		}
		if slices.Contains(e.writes, body.Subject) || c.IdempotencyKey == "" || keys[c.IdempotencyKey] {
			w.t.Errorf("the write %q came twice, or without a key of its own (%q)", body.Subject, c.IdempotencyKey)
		}
		e.writes, keys[c.IdempotencyKey] = append(e.writes, body.Subject), true
	}
	slices.Sort(e.writes)
	r := v.Result
	switch {
	case v.Status == job.Done:
	case v.Status == job.Failed && v.Error == job.ReasonReconciliation && r.State == "reconciliation_required" &&
		r.AutoRetry != nil && !*r.AutoRetry && r.ToolExecution.Tool == "ticket_create" && len(r.ToolExecution.Key) == 64:
		e.reconciliation = true
	default:
		w.t.Errorf("job is %s: %s, result %+v", v.Status, v.Error, r)
	}
	if n := w.s.Demo.Business.Rejected(); n != 0 {
		w.t.Errorf("the business rejected %d signatures", n)
	}
	return e
}

// checkCallback requires that the business gets the callback of a finished job, whoever died before (I6). It may come again, but
// only as the same event.
func (w *crashWorld) checkCallback(id string) {
	w.t.Helper()
	for range 4 {
		w.clock.Advance(2 * delivery.ResendAfter)
		w.sweep()
		w.deliverCallbacks()
		events := map[string]bool{}
		for _, c := range w.s.Demo.Business.Callbacks() {
			events[c.WebhookID] = true
		}
		if len(events) == 1 && events[id+"_1_callback"] {
			return
		}
		if len(events) > 1 {
			w.t.Fatalf("callbacks of %v", events)
		}
	}
	w.t.Error("the callback did not arrive")
}

// A worker that dies before or after any call of a job with a read and two writes never leads to a second write; when it
// dies between reserving a write and storing its answer, a person reconciles. Every message comes twice, and the callback
// arrives all the same.
func TestAWorkerMayDieAtEveryCallOfAWrite(t *testing.T) {
	t.Parallel()
	world := func(t *testing.T) *crashWorld {
		w := emptyCrashWorld(t)
		w.again = true
		w.jobs = []string{w.askTo("writes", read+"[[round]]"+write("first")+write("second")+write("first"), "s", w.s.Demo.BusinessURL+business.CallbackPath)}
		return w
	}
	clean := world(t)
	calls := clean.runVictim(0, false)
	if e := clean.checkWrites(clean.jobs[0]); e.reconciliation || len(e.writes) != 2 {
		t.Fatalf("the clean run: %+v", e)
	}
	if calls < 20 {
		t.Fatalf("the clean run made %d calls; it cannot have made two writes", calls)
	}
	t.Logf("a clean run makes %d calls", calls)
	var reconciliations atomic.Int32
	t.Run("each", func(t *testing.T) {
		for k := 1; k <= calls; k++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("call %d, took effect %v", k, after), func(t *testing.T) {
					t.Parallel()
					w := world(t)
					w.runVictim(k, after)
					w.recover()
					e := w.checkWrites(w.jobs[0])
					w.checkCallback(w.jobs[0])
					if e.reconciliation {
						reconciliations.Add(1)
					} else if len(e.writes) != 2 {
						t.Errorf("done with the writes %v", e.writes)
					}
				})
			}
		}
	})
	// For each write: RESERVE that took effect, the connection before and after the request, COMPLETE that did not.
	if n := reconciliations.Load(); n != 8 {
		t.Errorf("%d deaths led to a reconciliation, want 8", n)
	}
}

func (w *crashWorld) status(id string) job.Status {
	w.t.Helper()
	var v struct {
		Status job.Status `json:"status"`
	}
	w.request(http.MethodGet, "/jobs/"+id, "", http.StatusOK, &v)
	return v.Status
}

// crashRounds is how many random rounds are played: BAILING_CRASH_ROUNDS, or a few.
func crashRounds(t *testing.T) int {
	text := os.Getenv("BAILING_CRASH_ROUNDS")
	if text == "" {
		return 30
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_CRASH_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// Random jobs of reads and writes, whose workers die up to three times at random calls, with messages that come twice and late.
func TestRandomDeathsNeverWriteTwice(t *testing.T) {
	t.Parallel()
	rounds := crashRounds(t)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("BAILING_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds, BAILING_CRASH_SEED=%d", rounds, seed)
	w := emptyCrashWorld(t)
	r := rand.New(rand.NewPCG(seed, 1))
	done, reconciled := 0, 0
	for n := range rounds {
		script, want := randomScript(r)
		w.jobs, w.again = []string{w.ask(fmt.Sprint("random-", n), script, fmt.Sprint("s", n))}, r.IntN(2) == 0
		for range 1 + r.IntN(3) {
			w.runVictim(1+r.IntN(45), r.IntN(2) == 0)
			if w.status(w.jobs[0]) == job.Running {
				w.clock.Advance(job.Lease + time.Duration(r.IntN(60))*time.Second)
			}
			if _, err := w.s.Functions["sweeper"].Invoke(t.Context(), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(2 * time.Minute) // its back-off is over, and nobody gave it up
		}
		w.recover()
		e := w.checkWrites(w.jobs[0])
		switch {
		case e.reconciliation:
			reconciled++
		case !slices.Equal(e.writes, want):
			t.Errorf("done with the writes %v, want %v", e.writes, want)
		default:
			done++
		}
		if t.Failed() {
			t.Fatalf("in round %d: %s", n, script)
		}
	}
	t.Logf("%d done, %d to reconcile", done, reconciled)
}

// randomScript is up to three rounds of calls, as many as a job may make, and the writes that they are, each once and sorted.
func randomScript(r *rand.Rand) (script string, writes []string) {
	var b strings.Builder
	calls := 0
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString("[[round]]")
		}
		for range 1 + r.IntN(3) {
			if calls++; calls > 5 {
				break
			}
			if r.IntN(3) == 0 {
				b.WriteString(read)
				continue
			}
			subject := string(rune('a' + r.IntN(4)))
			b.WriteString(write(subject))
			if !slices.Contains(writes, subject) {
				writes = append(writes, subject)
			}
		}
	}
	slices.Sort(writes)
	return b.String(), writes
}
