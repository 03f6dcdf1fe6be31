package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bailing/shared/clock"
	"bailing/shared/registry"
)

// ErrStale is what a store answers when a row is no longer as a write was decided from.
var ErrStale = registry.ErrStale

// LoginRows is what a login is decided from.
type LoginRows struct {
	Failures Failures
	Roster   Versioned[Roster]
	Account  *Versioned[Account] // nil when there is none of that name
}

// Store keeps accounts and sessions. Reads are strongly consistent. An account that is deleted and made anew never gets a revision
// that the earlier one had.
type Store interface {
	// ReadLogin reads at once; username "" is nobody's.
	ReadLogin(ctx context.Context, username, failureKey string) (LoginRows, error)
	// ReadAccount returns the roster, and the account or nil.
	ReadAccount(ctx context.Context, username string) (Versioned[Roster], *Versioned[Account], error)
	// ListAccounts returns the accounts of the roster by name.
	ListAccounts(ctx context.Context) ([]Account, error)
	// PutAccount writes the account and, if it changes, the roster, each as the revision after its own, and the change, together;
	// [ErrStale] when one of the revisions is not the stored one.
	PutAccount(ctx context.Context, a Versioned[Account], roster *Versioned[Roster], c registry.Change) error
	// DeleteAccount removes the account at its revision, and writes roster and change with it; [ErrStale] as above.
	DeleteAccount(ctx context.Context, a Versioned[Account], roster Versioned[Roster], c registry.Change) error
	// ChangePassword writes the account as the revision after its own, moves the session s, which must exist with the epoch s.Epoch,
	// to the account's new epoch, and writes the change, together; [ErrStale] otherwise.
	ChangePassword(ctx context.Context, a Versioned[Account], s Session, c registry.Change) error

	// OpenSession writes a session while the account is at a.Revision, and with it the account as the next revision when
	// rehashed says that it has changed; [ErrStale] otherwise.
	OpenSession(ctx context.Context, s Session, a Versioned[Account], rehashed bool) error
	// ReadSession returns the session with this hash and its account, nil for what does not exist. guess is the user name that
	// the caller expects: a right one makes it one trip.
	ReadSession(ctx context.Context, hash, guess string) (*Session, *Account, error)
	// ExtendSession moves the end of a session to until, if it exists, has the epoch s.Epoch and ends after now and before until: a
	// session is never shortened or revived. extended says whether it ends then, now.
	ExtendSession(ctx context.Context, s Session, until, now time.Time) (extended bool, err error)
	// CloseSession removes the session with this hash, if there is one.
	CloseSession(ctx context.Context, hash string) error

	// WriteFailures writes f as revision f.Revision+1. won is false when another revision is stored, which comes back.
	WriteFailures(ctx context.Context, key string, f Failures) (stored Failures, won bool, err error)
}

// Bootstrap is the administrator whose first login creates the account, while there is none at all (core §10.1).
type Bootstrap struct {
	Username string
	// Password is called only then.
	Password func(context.Context) (string, error)
}

// Options makes a Service. Store and Random are required.
type Options struct {
	Store     Store
	Random    io.Reader  // tokens, salts, generated passwords
	Bootstrap *Bootstrap // nil for none
	Cost      Cost       // of new hashes; zero is [DefaultCost]
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Service is the commands on accounts and sessions: one method per use case of core §10.1.
type Service struct {
	o       Options
	guesses guesses
}

// NewService returns the commands over o.
func NewService(o Options) *Service {
	if o.Cost == (Cost{}) {
		o.Cost = DefaultCost
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o}
}

// now has the precision of what is stored.
func (s *Service) now() time.Time { return s.o.Clock.Now().UTC().Truncate(time.Millisecond) }

func (s *Service) stamp(c registry.Change) registry.Change {
	c.At = s.now()
	return c
}

// randomHex is n random bytes in lower-case hexadecimal.
func (s *Service) randomHex(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.o.Random, b); err != nil {
		return "", fmt.Errorf("account: random source: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// newEpoch is one that no session has.
func (s *Service) newEpoch() (string, error) { return s.randomHex(8) }

// tokenHash is the key of a session: the SHA-256 of its token in lower-case hexadecimal.
func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
