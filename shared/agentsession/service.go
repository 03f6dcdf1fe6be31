package agentsession

import (
	"context"
	"io"
	"log/slog"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

// Service is the commands of Agent Auth v1 (agent §2). It is safe for concurrent use and must not be copied.
//
// Bodies are JSON values; the zero Value stands for one that could not be read. Errors are *apierr.Error whose message is the
// machine code of agent §2; whatever goes wrong in the store is a 503, so that no agent takes an outage for a refusal and drops its
// tokens. Errors and logs hold ids, never a token, a code or a verifier.
type Service struct {
	Store  Store
	Clock  clock.Clock
	Logger *slog.Logger
	NewID  func() string // lower-case UUIDs
	Random io.Reader     // tokens are drawn from it

	memory memory
}

// now has the precision that is stored.
func (s *Service) now() time.Time { return s.Clock.Now().UTC().Truncate(time.Millisecond) }

func (s *Service) log(ctx context.Context, level slog.Level, what string, ids ...slog.Attr) {
	s.Logger.LogAttrs(ctx, level, what, ids...)
}

// Codes of a 503 (agent §2).
const (
	unavailableAuth      = "agent_auth_unavailable"
	unavailableLifecycle = "agent_auth_lifecycle_unavailable"
	unavailableDisplay   = "subject_display_unavailable"
)

// unavailable hides what went wrong in the store behind a code; nil stays nil.
func unavailable(code string, err error) error {
	if err == nil {
		return nil
	}
	return apierr.Wrap(apierr.Unavailable, code, err)
}

func notFound() error     { return apierr.New(apierr.NotFound, "not_found") }
func unauthorized() error { return apierr.New(apierr.Unauthorized, "unauthorized") }
func invalidGrant() error { return apierr.New(apierr.Invalid, "invalid_grant") }

// timestamp is the wire form of a time (agent §1.5); "" for the zero time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Business is the enabled client whose token bearer is (agent §2.1); else 401. One trip.
func (s *Service) Business(ctx context.Context, bearer string) (*registry.Client, error) {
	if bearer == "" {
		return nil, unauthorized()
	}
	t, err := s.Store.Token(ctx, registry.TokenHash(bearer))
	if err != nil {
		return nil, unavailable(unavailableAuth, err)
	}
	if t == nil || !t.Client.Enabled {
		return nil, unauthorized()
	}
	return &t.Client, nil
}
