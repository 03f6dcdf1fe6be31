package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/job"
)

// Callbacks sends to the callbacks queue.
type Callbacks struct {
	Client SQS
	URL    string
}

var _ job.Notifier = (*Callbacks)(nil)

// attempt is the body.
type attempt struct {
	JobID    string           `json:"job_id"`
	Terminal int              `json:"terminal"`
	Target   job.OutboxTarget `json:"target"`
}

// Notify sends the key of an outbox row, to be received after delay, rounded up to seconds. A longer delay than MaxDelay is cut
// to it: a row that is not due yet cannot be claimed, and the sweeper sends it again.
func (q *Callbacks) Notify(ctx context.Context, k job.OutboxKey, delay time.Duration) error {
	body, err := json.Marshal(attempt(k))
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return send(ctx, q.Client, q.URL, body, delay)
}

// OutboxKey reads the body of a message of the callbacks queue.
func OutboxKey(body string) (job.OutboxKey, error) {
	var m attempt
	if err := json.Unmarshal([]byte(body), &m); err != nil || !job.OutboxKey(m).Valid() {
		return job.OutboxKey{}, ErrMessage
	}
	return job.OutboxKey(m), nil
}
