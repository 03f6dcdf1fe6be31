package business

import (
	"slices"
	"sync"
	"time"
)

// maxRecords is how many records of each kind are kept; the oldest go first.
const maxRecords = 1000

// VerifiedCall is a tool call whose signature was good.
type VerifiedCall struct {
	Operation      string // operationId
	Method         string
	Path           string // with its query, as received and signed
	Body           string
	Timestamp      string // X-Bailing-Timestamp, in seconds
	Signature      string // X-Bailing-Signature
	Subject        string // X-Bailing-On-Behalf-Of
	JobID          string // X-Bailing-Job-Id
	Client         string // X-Bailing-Client, not signed
	Scope          string // X-Bailing-Tool-Scope, not signed
	IdempotencyKey string // X-Bailing-Idempotency-Key, not signed
	At             time.Time
}

// Callback is a callback all of whose signatures were good.
type Callback struct {
	Body      string
	WebhookID string // "" when only the X-Bailing headers were sent
	At        time.Time
}

// SpecRead is a read of the specification. Those that are refused do not count as rejected: a hub makes two on purpose, to
// see that they are (core §4.2).
type SpecRead struct {
	Signed bool // it carried a signature, good or not
	Served bool // the signature was good, and the document was the answer
	At     time.Time
}

// Probe is a question that was asked of the rule for subjects.
type Probe struct {
	Subject    string
	Authorized bool
	At         time.Time
}

type records struct {
	mu        sync.Mutex
	calls     []VerifiedCall
	callbacks []Callback
	reads     []SpecRead
	probes    []Probe
	questions []Question
	rejected  int
}

func (r *records) add(c VerifiedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = keep(r.calls, c)
}

func (r *records) addCallback(c Callback) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.callbacks = keep(r.callbacks, c)
}

func (r *records) addRead(read SpecRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = keep(r.reads, read)
}

func (r *records) addProbe(p Probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes = keep(r.probes, p)
}

// keep adds a record to a list and lets the oldest go.
func keep[T any](list []T, record T) []T {
	return append(list[max(0, len(list)-maxRecords+1):], record)
}

func (r *records) reject() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected++
}

// Verified lists the last 1000 tool calls with a good signature, oldest first, whatever their answer was.
func (b *Business) Verified() []VerifiedCall {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return slices.Clone(b.records.calls)
}

// Callbacks lists the last 1000 callbacks with a good signature, oldest first.
func (b *Business) Callbacks() []Callback {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return slices.Clone(b.records.callbacks)
}

// SpecReads lists the last 1000 reads of the specification, oldest first.
func (b *Business) SpecReads() []SpecRead {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return slices.Clone(b.records.reads)
}

// Probes lists the last 1000 signed authorization probes, oldest first.
func (b *Business) Probes() []Probe {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return slices.Clone(b.records.probes)
}

// Rejected counts calls, probes, callbacks and approval requests whose signature was missing, wrong or out of the window.
func (b *Business) Rejected() int {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return b.records.rejected
}
