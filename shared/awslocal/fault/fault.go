package fault

import (
	"sync"
	"time"
)

// Op describes one request to a stand-in.
type Op struct {
	Service   string // "dynamodb", "sqs", "s3" or "sfn"
	Action    string // the API's operation name, for example "TransactWriteItems"
	Resource  string // name of the table, queue, bucket or state machine; the first one of a batch
	AccessKey string // access key id that signed the request; tells callers apart
	Seq       int    // 1 for the first request of this caller since the injector was made or reset
}

// Kind is what goes wrong.
type Kind int

const (
	None             Kind = iota
	Throttle              // refused before it takes effect, with the service's throttling error
	Conflict              // refused before it takes effect: a transaction conflict (DynamoDB only)
	ErrorBefore           // HTTP 500, nothing took effect
	ErrorAfterCommit      // took full effect, then HTTP 500
	Drop                  // the connection is closed before it takes effect
	DropAfterCommit       // took full effect, then the connection is closed without an answer
	Duplicate             // SQS receive only: the messages returned stay visible and are delivered again
)

// Fault is the decision for one operation.
type Fault struct {
	Kind  Kind
	Delay time.Duration // waited before the operation runs, whatever Kind is
}

// Hook decides the fate of an operation. It is called concurrently.
type Hook func(Op) Fault

// Injector numbers operations and asks the installed hook. The zero value injects nothing.
type Injector struct {
	mu   sync.Mutex
	hook Hook
	seq  map[string]int
}

// Set installs hook (nil for none) and starts numbering again at 1.
func (i *Injector) Set(hook Hook) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hook = hook
	i.seq = nil
}

// Next numbers op and returns what should happen to it.
func (i *Injector) Next(op Op) Fault {
	i.mu.Lock()
	if i.seq == nil {
		i.seq = map[string]int{}
	}
	i.seq[op.AccessKey]++
	op.Seq = i.seq[op.AccessKey]
	hook := i.hook
	i.mu.Unlock()
	if hook == nil {
		return Fault{}
	}
	return hook(op)
}
