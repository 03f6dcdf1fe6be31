package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"bailing/shared/apierr"
)

const (
	// MaxFailures and FailureWindow: after so many failures within so long, one address gets no further try at one user name
	// (core §10.1).
	MaxFailures   = 5
	FailureWindow = 10 * time.Minute
)

// Failures are the failed logins of one address and user name, and those that are being decided: a try counts as failed
// until it has succeeded, so that no number of tries side by side gets more than [MaxFailures] guesses.
type Failures struct {
	Revision int64 // 0 for none stored
	At       []time.Time
}

// take adds a try at now, or says how long to wait for one.
func (f Failures) take(now time.Time) (next Failures, wait time.Duration) {
	next.Revision = f.Revision
	for _, at := range f.At {
		if at.After(now.Add(-FailureWindow)) {
			next.At = append(next.At, at)
		}
	}
	if len(next.At) >= MaxFailures {
		return f, next.At[len(next.At)-MaxFailures].Add(FailureWindow).Sub(now)
	}
	next.At = append(next.At, now)
	slices.SortFunc(next.At, time.Time.Compare)
	return next, 0
}

// giveBack removes the try that was taken at a time; ok is false when it is gone.
func (f Failures) giveBack(at time.Time) (next Failures, ok bool) {
	i := slices.IndexFunc(f.At, at.Equal)
	if i < 0 {
		return f, false
	}
	return Failures{Revision: f.Revision, At: slices.Delete(slices.Clone(f.At), i, i+1)}, true
}

// failureKey names the row of an address and a user name. It is a hash: its length is bounded whatever was typed into a form,
// and a password that was typed into the wrong field is not stored. An IPv6 client has a whole /64 to call from, which counts
// as one address.
func failureKey(address, username string) string {
	if ip, err := netip.ParseAddr(address); err == nil {
		if ip = ip.Unmap().WithZone(""); ip.Is6() {
			ip = netip.PrefixFrom(ip, 64).Masked().Addr()
		}
		address = ip.String()
	}
	sum := sha256.Sum256([]byte(address + "\x00" + username))
	return hex.EncodeToString(sum[:])
}

// throttleWrites bounds how often a lost race for the row is tried anew. Each one is lost to another try, of which there are at
// most MaxFailures before all are refused, or to one that was given back.
const throttleWrites = 64

// try takes one try for key, which known is the state of. giveBack returns it; a process that dies before leaves it spent
// until the window has passed.
func (s *Service) try(ctx context.Context, key string, known Failures) (giveBack func(), err error) {
	now := s.o.Clock.Now().UTC().Truncate(time.Millisecond)
	for range throttleWrites {
		next, wait := known.take(now)
		if wait > 0 {
			return nil, apierr.New(apierr.RateLimited, "too many failed logins; try again later").With("retry_after_ms", wait.Milliseconds())
		}
		var won bool
		if known, won, err = s.o.Store.WriteFailures(ctx, key, next); err != nil {
			return nil, err
		}
		if won {
			return func() { s.giveBack(ctx, key, known, now) }, nil
		}
	}
	return nil, errBusy
}

// giveBack cannot fail a login that has succeeded: what is not given back counts until the window has passed.
func (s *Service) giveBack(ctx context.Context, key string, known Failures, at time.Time) {
	for range throttleWrites {
		next, ok := known.giveBack(at)
		if !ok {
			return
		}
		var won bool
		var err error
		if known, won, err = s.o.Store.WriteFailures(ctx, key, next); won || err != nil {
			if err != nil {
				s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "login try not given back", slog.String("error", err.Error()))
			}
			return
		}
	}
}

// errBusy is what a command answers that others were always faster than.
var errBusy error = apierr.New(apierr.Conflict, "the record is being changed by somebody else; try again")

// attempts bounds how often a command reads, decides and writes anew after another one was faster.
const attempts = 5

// attempt runs one read-decide-write until its write meets no other one.
func attempt(try func() error) error {
	for range attempts {
		if err := try(); !errors.Is(err, ErrStale) {
			return err
		}
	}
	return errBusy
}
