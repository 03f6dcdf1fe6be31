package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/shared/topology"
)

// poll asks a queue for messages, as an event source does, and invokes its function.
func (w *world) poll(url string) {
	name := url[strings.LastIndexByte(url, '/')+1+len(prefix):]
	var f topology.Function
	var q topology.Queue
	for _, f = range w.topology.Functions {
		if f.Queue == name {
			break
		}
	}
	for _, q = range w.topology.Queues {
		if q.Name == name {
			break
		}
	}
	for w.running[name] < w.mix.workers {
		want := 1
		if f.BatchSize > 1 {
			want = 1 + w.rng.IntN(3)
		}
		var out struct{ Messages []queued }
		w.ask("AmazonSQS.ReceiveMessage", map[string]any{"QueueUrl": url, "MaxNumberOfMessages": want}, &out)
		if len(out.Messages) == 0 {
			return
		}
		w.in(q.Visibility, func() { w.poll(url) })
		var kept []queued
		for _, m := range out.Messages {
			if w.faulty && w.flip(w.mix.lose) {
				w.faults++
				w.trace.add("message lost: %s", m.Body)
				w.remove(url, m.ReceiptHandle)
				continue
			}
			kept = append(kept, m)
		}
		for _, batch := range batches(kept) {
			deliver := func() { w.deliver(f, url, batch) }
			deliver()
			if w.faulty && w.flip(w.mix.twice) {
				w.faults++
				w.trace.add("messages come twice: %s", batch[0].Body)
				w.in(w.between(0, 3*time.Second), deliver)
			}
		}
	}
}

// queued is a message of a queue.
type queued struct{ MessageId, ReceiptHandle, Body string }

// batches splits messages into what is invoked together. Two that lead to the same address stay apart: which of them went first could
// not be told.
func batches(ms []queued) (out [][]queued) {
	addresses := map[string]bool{}
	var together []queued
	for _, m := range ms {
		var v struct {
			JobID  string `json:"job_id"`
			Target string `json:"target"`
		}
		_ = json.Unmarshal([]byte(m.Body), &v)
		if v.Target != "callback" || addresses[v.JobID] {
			out = append(out, []queued{m})
			continue
		}
		addresses[v.JobID] = true
		together = append(together, m)
	}
	if len(together) > 0 {
		out = append(out, together)
	}
	return out
}

// deliver invokes a function with a batch, and removes what it handled.
func (w *world) deliver(f topology.Function, url string, batch []queued) {
	var e events.SQSEvent
	handles := map[string]queued{}
	for _, m := range batch {
		w.received++
		id := fmt.Sprintf("m%d", w.received)
		handles[id] = m
		e.Records = append(e.Records, events.SQSMessage{MessageId: id, Body: m.Body, EventSource: "aws:sqs", AWSRegion: region})
	}
	payload, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	w.running[f.Queue]++
	w.invoke(f, payload, func(out []byte, err error) {
		w.running[f.Queue]--
		w.in(0, func() { w.poll(url) })
		var answer events.SQSEventResponse
		if err != nil || json.Unmarshal(out, &answer) != nil {
			return // they are visible again after their time
		}
		for _, failed := range answer.BatchItemFailures {
			delete(handles, failed.ItemIdentifier)
		}
		for _, r := range e.Records {
			m, handled := handles[r.MessageId]
			switch {
			case !handled:
			case w.faulty && w.flip(w.mix.again):
				w.faults++
				w.trace.add("message comes again: %s", m.Body)
			default:
				w.remove(url, m.ReceiptHandle)
			}
		}
	})
	w.settle() // what two do in one moment would be in no order
}

func (w *world) remove(url, handle string) {
	w.ask("AmazonSQS.DeleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": handle}, nil)
}

// sweep invokes what the schedule of the product invokes.
func (w *world) sweep() {
	f, _ := w.topology.FunctionNamed("sweeper")
	w.invoke(f, []byte(`{}`), func([]byte, error) {})
	w.settle()
}

// due is the earliest time for which a row waits for the sweeper; zero for none.
func (w *world) due() (first time.Time) {
	for _, r := range w.scan(topology.TableJobs) {
		if r.str("dpk") == "" {
			continue
		}
		var ms int64
		_, _ = fmt.Sscanf(strings.TrimLeft(r.str("dsk"), "0")+" ", "%d", &ms)
		if at := time.UnixMilli(ms); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}
