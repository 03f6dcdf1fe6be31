package sim

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bailing/shared/topology"
)

// checks is what is known of the product from outside, and which promises it broke.
type checks struct {
	canaries map[string]string // secrets, and what they are

	arrivals []*arrival
	bare     map[int]bool           // jobs whose model had no tools once
	tickets  map[int64]*ticket      // that somebody was shown
	early    map[int64]bool         // tickets that a clock ended which was ahead
	healthy  time.Time              // since when nothing breaks
	holder   map[string]*invocation // who claimed a job last, by its key
	times    map[effect]int
	bodies   map[string]string // events by receiver and id
	heard    map[string]bool   // events that were accepted, by id

	seen map[string]int // what happened, and how often: a schedule in which nothing happens proves nothing

	duplicates, lostApprovals, lostJobs, stuck int
	failures                                   []Failure
}

// Failure is a broken promise.
type Failure struct {
	Invariant string // I1 to I10; "" for the simulator's own
	Text      string
	At        time.Duration // since the start of the schedule
}

// maxFailures bounds what is kept of one schedule.
const maxFailures = 20

func (w *world) newChecks() {
	w.canaries, w.times, w.bodies, w.heard = map[string]string{}, map[effect]int{}, map[string]string{}, map[string]bool{}
	w.seen, w.early = map[string]int{}, map[int64]bool{}
	w.bare, w.holder, w.tickets = map[int]bool{}, map[string]*invocation{}, map[int64]*ticket{}
}

func (w *world) fail(invariant, format string, args ...any) {
	f := Failure{invariant, fmt.Sprintf(format, args...), time.Since(w.trace.start)}
	w.trace.add("BROKEN %s: %s", f.Invariant, f.Text)
	if len(w.failures) < maxFailures {
		w.failures = append(w.failures, f)
	}
}

// canary is a secret that must not be seen anywhere.
func (w *world) canary(what string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d.%d.%s", w.o.Seed, w.o.Schedule, what))
	secret := "canary" + hex.EncodeToString(sum[:])[:32]
	w.canaries[secret] = what
	return secret
}

const (
	jobRow = "job"
	// reconciling is the error of a job that ended with a call of unknown outcome.
	reconciling = "tool_execution_reconciliation_required"
)

func jobPK(id string) string { return "job#" + id }

// recorded checks that a side effect which has just reached its business was in the journal and in the audit before (I2).
func (w *world) recorded(a *arrival) {
	entry := w.get(topology.TableJobs, jobPK(a.job), "call#"+a.tool+"#"+a.hash)
	if entry == nil || entry.str("key") != a.key || a.key == "" {
		w.fail("I2", "job %s: %s(%s) reached the business, and its journal entry is %v", a.job, a.tool, a.args, entry)
		return
	}
	for _, r := range w.partition(topology.TableLedger, jobPK(a.job), "0") {
		if strings.Contains(r.str("sk"), "#tool_call") && strings.Contains(string(w.content(r, "doc")), a.key) {
			return
		}
	}
	w.fail("I2", "job %s: %s(%s) reached the business without an audit record", a.job, a.tool, a.args)
}

// content is a value of a row, wherever it is stored.
func (w *world) content(r row, name string) []byte {
	v, ref := r[name].B, r.str(name+"_ref")
	if ref != "" {
		w.mu.Lock()
		for _, o := range w.objects {
			if strings.HasSuffix(o.name, ref) {
				v = o.body
			}
		}
		w.mu.Unlock()
	}
	return plain(v)
}

// plain is v, decompressed if it is compressed.
func plain(v []byte) []byte {
	if z, err := gzip.NewReader(bytes.NewReader(v)); err == nil {
		if b, err := io.ReadAll(z); err == nil {
			return b
		}
	}
	return v
}

// check judges the whole schedule at its end.
func (w *world) check() {
	rows := w.scan(topology.TableJobs)
	byPK, jobs := map[string][]row{}, map[string]row{}
	for _, r := range rows {
		if r.str("sk") == jobRow {
			jobs[r.str("pk")] = r
		}
		byPK[r.str("pk")] = append(byPK[r.str("pk")], r)
	}
	for _, j := range w.jobs {
		if j.id == "" {
			if j.refused == "" {
				w.stuck++
				w.fail("I5", "request %s has no answer", j.requestID)
			}
			continue
		}
		w.checkJob(j, byPK[jobPK(j.id)])
	}
	for _, r := range rows {
		switch {
		case strings.HasPrefix(r.str("sk"), "outbox#"):
			w.checkOutbox(r)
		case r.str("sk") == "ticket":
			w.checkTicket(r, jobs)
		}
	}
	w.checkSecrets(rows)
}

func (w *world) checkJob(j *job, rows []row) {
	at := slices.IndexFunc(rows, func(r row) bool { return r.str("sk") == jobRow })
	if at < 0 {
		w.lostJobs++
		w.fail("I5", "job %s was accepted and is not there", j.id)
		return
	}
	r := rows[at]
	j.status = r.str("state")
	if j.status != "done" && j.status != "error" && j.status != "rejected" {
		w.stuck++
		w.fail("I5", "job %s is %s, head %v, dsk %s", j.id, j.status, r.bool("head"), r.str("dsk"))
		return
	}
	rounds := 0
	for _, r := range rows {
		sk := r.str("sk")
		switch {
		case strings.HasPrefix(sk, "round#") && !strings.Contains(sk, "#call#"):
			rounds++
		case strings.HasPrefix(sk, "call#"):
			w.checkEntry(j, rows[at], r)
		}
	}
	ends := int(r.num("term"))
	w.seen["jobs that are "+j.status]++
	if ends > 1 {
		w.seen["jobs that went on after their end"]++
	}
	if r.num("claim") > int64(ends) {
		w.seen["jobs that changed hands"]++
	}
	for n := 1; n <= ends && j.callback != ""; n++ {
		want := fmt.Sprintf("outbox#%04d#callback", n)
		if !slices.ContainsFunc(rows, func(r row) bool { return r.str("sk") == want }) {
			w.fail("I6", "end %d of job %s has no callback", n, j.id)
		}
	}
	if j.status == "done" && rounds < len(j.script.Rounds) && !w.bare[j.number] {
		w.lostJobs++
		w.fail("I5", "job %s is done after %d rounds of %d", j.id, rounds, len(j.script.Rounds))
	}
	if again := w.audited(j.id, "rerun"); ends > 1+again {
		w.duplicates++
		w.fail("I9", "job %s ended %d times and was run again %d times", j.id, ends, again)
	}
}

// audited counts the audit records of a job with this name.
func (w *world) audited(id, name string) (n int) {
	for _, r := range w.partition(topology.TableLedger, jobPK(id), "0") {
		_, rest, _ := strings.Cut(r.str("sk"), "#")
		if strings.HasPrefix(rest, name+"-") {
			n++
		}
	}
	return n
}

// consulted checks that a job whose model is asked may go on: it has no call of unknown outcome (I4; core §5.8).
func (w *world) consulted(by *invocation, body []byte) {
	in, s, err := read(body)
	if err != nil || s.Job >= len(w.jobs) {
		w.fail("", "the model cannot read: %v", err)
		return
	}
	if len(in.Tools) == 0 {
		w.bare[s.Job] = true
	}
	j := w.jobs[s.Job]
	if w.holder[jobPK(j.id)] != by {
		return // it lost the job, and will learn so
	}
	if r := w.get(topology.TableJobs, jobPK(j.id), jobRow); r.str("open") != "" {
		w.fail("I4", "job %s asked its model while the outcome of %s is unknown", j.id, r.str("open"))
	}
}

// claimed checks that a worker took a job that is head of its thread.
func (w *world) claimed(by *invocation, pk string) {
	w.holder[pk] = by
	r := w.get(topology.TableJobs, pk, jobRow)
	thread := w.get(topology.TableJobs, "thread#"+r.str("thread"), "thread")
	if head := thread.str("head"); jobPK(head) != pk {
		w.fail("I5", "%s was taken by a worker, and the head of its thread is %q", pk, head)
	}
}

// checkEntry requires that an unknown outcome waits for a person (I4), and that what is completed was sent.
func (w *world) checkEntry(j *job, job, entry row) {
	what := fmt.Sprintf("job %s: %s", j.id, entry.str("sk"))
	switch entry.str("state") {
	case "completed":
		if w.times[effect{j.id, entry.str("tool"), entry.str("hash")}] == 0 {
			w.fail("I2", "%s is completed and never reached the business", what)
		} else if !slices.ContainsFunc(w.arrivals, func(a *arrival) bool { return a.key == entry.str("key") && a.answered.Load() }) {
			w.fail("I4", "%s is completed without an answer", what)
		}
		return
	case "dispatching", "uncertain":
		w.seen["unknown outcomes"]++
	case "closed_happened", "closed_not_happened":
		if c := row(entry["closing"].M); c.str("by") == "" || c.str("reason") == "" {
			w.fail("I4", "%s was closed by nobody, or without a reason", what)
		}
		w.seen["closed calls"]++
		return
	default:
		w.fail("I4", "%s is %s", what, entry.str("state"))
		return
	}
	if job.str("state") != "error" || job.str("open") != entry.str("sk") || !strings.HasPrefix(job.str("err"), reconciling) {
		w.fail("I4", "%s has no known outcome, and its job is %s (%s), open %q", what, job.str("state"), job.str("err"), job.str("open"))
	}
}

func (w *world) checkOutbox(r row) {
	id := strings.TrimPrefix(r.str("pk"), "job#") + " " + r.str("sk")
	switch state := r.str("state"); {
	case state == "delivered":
		parts := strings.Split(r.str("sk"), "#")
		n := 0
		_, _ = fmt.Sscanf(parts[1], "%d", &n)
		if event := fmt.Sprintf("%s_%d_%s", strings.TrimPrefix(r.str("pk"), "job#"), n, parts[2]); !w.heard[event] {
			w.fail("I6", "event %s is delivered, and nobody heard of it", event)
		}
		w.seen["delivered events"]++
	case state == "dead" && r.str("reason") != "":
		w.seen["dead letters"]++
	default:
		w.stuck++
		w.fail("I6", "event %s is %s (%s)", id, state, r.str("reason"))
	}
}

// checkSecrets looks for secrets in everything that is kept or shown (I10).
func (w *world) checkSecrets(jobs []row) {
	look := w.look
	w.logs.mu.Lock()
	logs := bytes.Clone(w.logs.b.Bytes())
	w.logs.mu.Unlock()
	look("a log", logs)
	for _, table := range []string{topology.TableJobs, topology.TableRegistry, topology.TableLedger} {
		rows := jobs
		if table != topology.TableJobs {
			rows = w.scan(table)
		}
		for _, r := range rows {
			b, err := json.Marshal(r)
			if err != nil {
				panic(err)
			}
			look(table+" "+r.str("pk")+"/"+r.str("sk"), b)
			for name, v := range r {
				if v.B != nil {
					look(table+" "+r.str("pk")+"/"+r.str("sk")+" "+name, plain(v.B))
				}
			}
		}
	}
	w.mu.Lock()
	objects := w.objects
	w.mu.Unlock()
	for _, o := range objects {
		look("object "+o.name, plain(o.body))
	}
}

// look looks for secrets in b.
func (w *world) look(where string, b []byte) {
	if !bytes.Contains(b, []byte("canary")) && !w.tokenIn(b) {
		return
	}
	for secret, what := range w.canaries {
		if bytes.Contains(b, []byte(secret)) {
			w.fail("I10", "%s shows the %s", where, what)
		}
	}
}

func (w *world) tokenIn(b []byte) bool {
	return slices.ContainsFunc(w.clients, func(c *client) bool { return c.token != "" && bytes.Contains(b, []byte(c.token)) })
}
