package registry

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/capability"
	"bailing/shared/clock"
	"bailing/shared/envelope"
)

// ErrStale is what a store answers when a record is no longer at the revision that a write is conditional on, or when
// the token of a new token row exists.
var ErrStale = errors.New("registry: the record has changed")

// Change is the audit record of a successful write, `config_change`, or of a secret that was shown: who, and by which call;
// never its body (core §10.2).
type Change struct {
	Event  string // "" = config_change
	At     time.Time
	By     string // "token" for the server token
	Method string
	Path   string // below /admin/api/, or the last segment of another admin path
}

// Records stores the records of one kind. Reads are strongly consistent.
type Records[T any] interface {
	// Get returns the record, or nil when there is none.
	Get(ctx context.Context, name string) (*Versioned[T], error)
	// List returns every record, ordered by name.
	List(ctx context.Context) ([]T, error)
	// Put writes v.Value as revision v.Revision+1 and the change, together; [ErrStale] when the stored revision is not
	// v.Revision.
	Put(ctx context.Context, name string, v Versioned[T], c Change) error
	// Delete removes the record and writes the change, together; [ErrStale] when the stored revision is not revision. A
	// record that is created anew never has a revision that an earlier one of its name had.
	Delete(ctx context.Context, name string, revision int64, c Change) error
}

// Kind names a kind of record that others refer to.
type Kind string

// The kinds that a route refers to.
const (
	KindTarget     Kind = "target"
	KindCredential Kind = "credential"
	KindProvider   Kind = "provider"
)

// Reference names a record that another one needs.
type Reference struct {
	Kind Kind
	Name string
}

// Routes stores routes.
type Routes interface {
	Records[Route]
	// PutReferring is Put that also needs every record at refs, which are distinct, to exist; [ErrStale] otherwise. Each of
	// them gets the next revision with the same content: who is about to delete one and has not seen this route meets
	// [ErrStale], and looks again.
	PutReferring(ctx context.Context, v Versioned[Route], refs []Reference, c Change) error
	// ListNow is List for who must not miss a route: it has every one whose save has ended, also where List follows later.
	ListNow(ctx context.Context) ([]Route, error)
}

// Clients stores clients and their token rows.
type Clients interface {
	Get(ctx context.Context, appID string) (*Versioned[Client], error)
	List(ctx context.Context) ([]Client, error)
	// Put writes the client, the row of its token and the change, together. When oldHash is not v.Value.TokenHash, the
	// row of oldHash ("": none) goes and the token must be new: [ErrStale] otherwise.
	Put(ctx context.Context, v Versioned[Client], oldHash string, c Change) error
	// Delete removes the client v, the row of its token, and writes the change, together; [ErrStale] when the stored
	// revision is not v.Revision.
	Delete(ctx context.Context, v Versioned[Client], c Change) error
}

// Event is an audit record about a provider that is no [Change]: what the hub found out by itself, or a call that it made
// (core §11.7, Appendix C).
type Event struct {
	At       time.Time
	Name     string // spec_refreshed, ...
	Severity string // info, warning or error
	By       string // "token", or "schedule"
	Summary  string
	Detail   map[string]any // no secret, no payload of a sensitive tool
}

// Providers stores providers.
type Providers interface {
	Records[Provider]
	// Observe writes what the hub found out about a provider, v.Value as revision v.Revision+1, with the events and, unless
	// it is nil, the change that asked for it, together; [ErrStale] when the stored revision is not v.Revision.
	Observe(ctx context.Context, v Versioned[Provider], c *Change, events ...Event) error
	// Note writes audit records about the provider called name, together, and nothing else.
	Note(ctx context.Context, name string, c *Change, events ...Event) error
}

// Store keeps the registry.
type Store interface {
	Targets() Records[Target]
	Credentials() Records[Credential]
	Providers() Providers
	Routes() Routes
	Clients() Clients
	// SetPaused turns the kill switch and records the change, together.
	SetPaused(ctx context.Context, paused bool, c Change) error
	// Note writes an audit record by itself.
	Note(ctx context.Context, c Change) error
	Values
}

// Options makes a Service. Every member but Clock is required.
type Options struct {
	Store  Store
	Sealer Sealer
	// Compile turns the text of a specification into tools; one that cannot be read at all answers Failed.
	Compile func(src []byte) *capability.Catalog
	// CompilerVersion rises when the same text compiles to another catalogue; see [Provider.CatalogVersion].
	CompilerVersion int
	// CheckURL decides whether an outbound request to raw could ever be made; its error completes "is not usable: ".
	CheckURL func(raw string, max int) error
	Random   io.Reader // tokens and generated ids
	Clock    clock.Clock
}

// Service is the commands on the registry: one method per use case of core §10.3.
type Service struct{ o Options }

// NewService returns the commands over o.
func NewService(o Options) *Service {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return &Service{o: o}
}

// Pause turns the kill switch on or off.
func (s *Service) Pause(ctx context.Context, paused bool, c Change) error {
	return s.o.Store.SetPaused(ctx, paused, s.stamp(c))
}

func (s *Service) stamp(c Change) Change {
	c.At = s.o.Clock.Now()
	return c
}

// saveAttempts bounds how often a command reads, decides and writes anew after another one was faster.
const saveAttempts = 5

// errBusy says that every attempt met another write.
var errBusy = apierr.New(apierr.Conflict, "the record is being changed by somebody else; try again")

// attempt runs one read-decide-write until its write meets no other one.
func attempt(try func() error) error {
	for range saveAttempts {
		if err := try(); !errors.Is(err, ErrStale) {
			return err
		}
	}
	return errBusy
}

// current is the stored record, or a zero one of revision 0.
func current[T any](ctx context.Context, r Records[T], name string) (Versioned[T], error) {
	v, err := r.Get(ctx, name)
	if v == nil || err != nil {
		return Versioned[T]{}, err
	}
	return *v, nil
}

// sealSecret seals a new secret, or keeps the stored one when the request carries none, only repeats its mask, or repeats the
// secret itself: saving the same again changes nothing.
func (s *Service) sealSecret(ctx context.Context, given, stored, storedMask string, place envelope.Context) (sealed, mask string, err error) {
	switch {
	case stored != "" && (given == "" || given == storedMask):
		return stored, storedMask, nil
	case given == "":
		return "", "", apierr.Newf(apierr.Invalid, "%s is required", place.Field)
	case strings.Contains(given, maskedPart):
		return "", "", apierr.Newf(apierr.Invalid, "%s is the masked form that lists show; send the secret itself", place.Field)
	case stored != "" && Mask(given) == storedMask:
		// One that cannot be opened any more is mended by saving it again.
		if known, err := s.o.Sealer.Open(ctx, stored, place); err == nil && subtle.ConstantTimeCompare(known, []byte(given)) == 1 {
			return stored, storedMask, nil
		}
	}
	sealed, err = s.o.Sealer.Seal(ctx, []byte(given), place)
	if err != nil {
		return "", "", fmt.Errorf("registry: seal %s: %w", place.Field, err)
	}
	return sealed, Mask(given), nil
}

// randomHex is n random bytes in lower-case hexadecimal.
func (s *Service) randomHex(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.o.Random, b); err != nil {
		return "", fmt.Errorf("registry: random source: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// views turns the records of a list into their list form.
func views[T, V any](ctx context.Context, r interface {
	List(context.Context) ([]T, error)
}, view func(*T) (V, error)) ([]V, error) {
	records, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]V, 0, len(records))
	for i := range records {
		v, err := view(&records[i])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
