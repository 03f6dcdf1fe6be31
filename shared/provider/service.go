package provider

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/capability"
	"bailing/shared/chance"
	"bailing/shared/clock"
	"bailing/shared/envelope"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

// Sender sends one guarded HTTP request (package outbound).
type Sender interface {
	Do(ctx context.Context, r outbound.Request) (*outbound.Response, error)
}

// Opener opens sealed secrets.
type Opener interface {
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

// Service is the commands on providers. It is safe for concurrent use. Every member is required.
type Service struct {
	Store   registry.Store
	HTTP    Sender
	Secrets Opener
	// Compile turns the text of a specification into tools; CompilerVersion rises when the same text gives others.
	Compile         func(src []byte) *capability.Catalog
	CompilerVersion int
	Clock           clock.Clock
	Logger          *slog.Logger
	NewID           func() string

	// One specification, or catalogue, is worked on at a time: the memory that the largest take is taken once, however many
	// businesses are waited for.
	digesting sync.Mutex
}

// Budget is how long the requests of one administrator's call may take together (architecture §3): the gateway gives up a
// little later.
const Budget = 25 * time.Second

// recordMargin is how much later than its call's budget a finding may still be recorded.
const recordMargin = 3 * time.Second

// recording is ctx with time for one more write: what took all the time of a call goes on record, too.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	whole := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(whole, deadline.Add(recordMargin))
	}
	return context.WithCancel(whole)
}

// By says on whose account a command runs.
type By struct {
	Change *registry.Change // the administrator's call; nil for the schedule
}

// Schedule is the account of the hub itself.
var Schedule = By{}

func (b By) name() string {
	if b.Change != nil {
		return b.Change.By
	}
	return "schedule"
}

// change is the record of the administrator's call, now.
func (s *Service) change(b By) *registry.Change {
	if b.Change == nil {
		return nil
	}
	c := *b.Change
	c.At = s.Clock.Now()
	return &c
}

// get reads the provider called name.
func (s *Service) get(ctx context.Context, name string) (*registry.Versioned[registry.Provider], error) {
	v, err := s.Store.Providers().Get(ctx, name)
	if err == nil && v == nil {
		err = apierr.New(apierr.NotFound, "the tool provider does not exist")
	}
	return v, err
}

func (s *Service) secret(ctx context.Context, p *registry.Provider) ([]byte, error) {
	return s.Secrets.Open(ctx, p.Secret, registry.ProviderSecretContext(p.Name))
}

// A finding is written anew, after a pause, when somebody else changed the record in between. Findings of calls that were made at
// once meet each other, so there are more tries than an ordinary save makes.
const (
	observeAttempts = 20
	observePause    = 50 * time.Millisecond // at most, and at random
)

// errMoved says that the record is no longer the one that a finding is about.
var errMoved = errors.New("provider: the record is another one now")

// observe writes a finding about the record that was read as seen: same decides whether the current record is still the one
// that it is about ([errMoved] otherwise), note enters it. c is the administrator's call that succeeds with it, or nil.
func (s *Service) observe(ctx context.Context, seen *registry.Provider, same func(a, b *registry.Provider) bool,
	note func(*registry.Provider), c *registry.Change, events ...registry.Event) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	for range observeAttempts {
		v, err := s.Store.Providers().Get(ctx, seen.Name)
		if err != nil {
			return err
		}
		if v == nil || !same(&v.Value, seen) {
			return errMoved
		}
		note(&v.Value)
		err = s.Store.Providers().Observe(ctx, *v, c, events...)
		if !errors.Is(err, registry.ErrStale) {
			return err
		}
		if err := clock.Sleep(ctx, s.Clock, chance.N(observePause)); err != nil {
			return err
		}
	}
	return errMoved
}

// Severities of audit records (core §11.7).
const (
	info    = "info"
	warning = "warning"
	severe  = "error"
)

func (s *Service) event(name, severity string, b By, summary string, detail map[string]any) registry.Event {
	return registry.Event{At: s.Clock.Now(), Name: name, Severity: severity, By: b.name(), Summary: summary, Detail: detail}
}
