package job

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bailing/shared/textlimit"
)

// OutboxTarget is who is told about the end of a job.
type OutboxTarget string

const (
	ToCallback OutboxTarget = "callback" // the job's callback_url (core §2.4)
	ToDelivery OutboxTarget = "delivery" // the delivery webhook of the job's route (core §2.5)
)

// maxTerminal is the highest terminal number that a row of the outbox is named with.
const maxTerminal = 9999

// OutboxKey names one row of the outbox: one terminal event of one job, for one target. A job that is continued after its
// end ends again, under the next number.
type OutboxKey struct {
	JobID    string
	Terminal int // 1, 2, ...
	Target   OutboxTarget
}

// ID is the key as one word. It is the webhook-id of every attempt (D7) and the id of the dead letter (D44).
func (k OutboxKey) ID() string { return fmt.Sprintf("%s_%d_%s", k.JobID, k.Terminal, k.Target) }

// ErrOutboxKey says that a text is no [OutboxKey.ID].
var ErrOutboxKey = errors.New("job: not the key of an outbox row")

// ParseOutboxKey reads what [OutboxKey.ID] wrote, and nothing else.
func ParseOutboxKey(id string) (OutboxKey, error) {
	parts := strings.Split(id, "_")
	if len(parts) != 3 {
		return OutboxKey{}, ErrOutboxKey
	}
	n, err := strconv.Atoi(parts[1])
	k := OutboxKey{JobID: parts[0], Terminal: n, Target: OutboxTarget(parts[2])}
	if err != nil || k.ID() != id || !k.Valid() {
		return OutboxKey{}, ErrOutboxKey
	}
	return k, nil
}

// Valid reports whether a row could have this key.
func (k OutboxKey) Valid() bool {
	return textlimit.UUID(k.JobID) && k.Terminal >= 1 && k.Terminal <= maxTerminal && (k.Target == ToCallback || k.Target == ToDelivery)
}

// Notifier puts the key of an outbox row on the callbacks queue.
type Notifier interface {
	Notify(ctx context.Context, k OutboxKey, delay time.Duration) error
}

// Ended is what follows from the end of a job.
type Ended struct {
	Next   *NextHead   // the new head of its thread, or nil
	Outbox []OutboxKey // rows written with the end
}
