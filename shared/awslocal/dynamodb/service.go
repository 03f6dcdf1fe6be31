package dynamodb

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
)

// Options configure a [Service].
type Options struct {
	Clock  clock.Clock     // decides about expiry and idempotency tokens; nil is the system's clock
	Faults *fault.Injector // nil injects nothing
	Log    Journal         // nil keeps everything in memory only
	Logger *slog.Logger    // nil discards
}

// Journal makes state durable. Append returns once rec is on disk; records are opaque to the journal. The service makes one
// call at a time, in the order in which [Service.Replay] must see the records again, and joins many writes into one record.
type Journal interface {
	Append(rec []byte) error
}

// Service is one DynamoDB endpoint with all its tables. It is safe for concurrent use.
type Service struct {
	clock   clock.Clock
	faults  *fault.Injector
	journal Journal
	log     *slog.Logger

	commits  committer
	requests atomic.Uint64

	mu       sync.RWMutex // guards what follows; changed only by the committer and by Replay
	state    state
	inFlight []byte // the record being appended, nil when none
}

// New returns a service without tables.
func New(o Options) *Service {
	s := &Service{
		clock: o.Clock, faults: o.Faults, journal: o.Log, log: o.Logger,
		commits: newCommitter(),
		state:   newState(),
	}
	if s.clock == nil {
		s.clock = clock.System()
	}
	if s.faults == nil {
		s.faults = &fault.Injector{}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Replay applies one record that an earlier life appended, or that [Service.Snapshot] emitted. It is called in order, before the
// service serves. Applying a record to a state that already contains it changes nothing in the end, as long as every later
// record follows. The error wraps [ErrCorruptRecord] when rec is damaged.
func (s *Service) Replay(rec []byte) error {
	changes, err := decodeRecord(rec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		if err := c.check(&s.state); err != nil {
			return fmt.Errorf("%w: %w", ErrCorruptRecord, err)
		}
		c.apply(&s.state)
	}
	return nil
}

// ErrCorruptRecord means that a record was not written by this package, or is damaged.
var ErrCorruptRecord = errors.New("dynamodb: corrupt journal record")

// Snapshot emits records that rebuild the state of one moment; emit runs without any lock held, while the service serves.
//
// The snapshot contains every record whose Append had been called when Snapshot was called, so a journal may start
// a new log first, then take the snapshot, then drop the old log: replaying snapshot and new log in this order loses nothing.
func (s *Service) Snapshot(emit func(rec []byte) error) error {
	s.mu.RLock()
	changes := s.state.dump()
	inFlight := s.inFlight
	s.mu.RUnlock()

	var rec []byte
	for _, c := range changes {
		if rec == nil {
			rec = newRecord()
		}
		if rec = c.encode(rec); len(rec) < snapshotRecordBytes {
			continue
		}
		if err := emit(rec); err != nil {
			return err
		}
		rec = nil
	}
	for _, last := range [][]byte{rec, inFlight} {
		if last == nil {
			continue
		}
		if err := emit(last); err != nil {
			return err
		}
	}
	return nil
}

// snapshotRecordBytes is when a record of a snapshot is full.
const snapshotRecordBytes = 256 << 10
