package agentclient

import (
	"context"
	"sync"
	"time"
)

// Credentials are one session: whose it is, and its tokens. They are secret as a whole.
type Credentials struct {
	Hub              string    `json:"hub"` // the tokens are sent nowhere else
	ClientAppID      string    `json:"client_app_id"`
	SessionID        string    `json:"session_id"`
	DeviceLabel      string    `json:"device_label"`
	SubjectDisplay   string    `json:"subject_display,omitempty"`
	AccessToken      string    `json:"access_token"`
	AccessExpiresAt  time.Time `json:"access_expires_at"`
	RenewAt          time.Time `json:"renew_at"` // from when on the access token is replaced before it is used
	RefreshToken     string    `json:"refresh_token"`
	RefreshExpiresAt time.Time `json:"refresh_expires_at"` // when the session ends; a refresh does not move it
	// RefreshStarted is when RefreshToken was sent, if what became of that is not known.
	RefreshStarted *time.Time `json:"refresh_started,omitempty"`
}

// Store keeps the credentials of one session, or none.
//
// Load sees a whole Save or nothing of it, also while another process saves. Save and Delete are called with the lock only.
type Store interface {
	// Lock waits until nobody else holds the lock, in this process or another. It is released by unlock, and by the end of the
	// process, however that comes.
	Lock(ctx context.Context) (unlock func() error, err error)
	// Load returns a copy of what is kept, or [ErrNotLoggedIn].
	Load(ctx context.Context) (*Credentials, error)
	// Save replaces what is kept, and has it for good when it returns nil.
	Save(ctx context.Context, c *Credentials) error
	// Delete forgets what is kept; nothing kept is no error.
	Delete(ctx context.Context) error
}

// MemoryStore keeps credentials until the process ends. The zero value is empty.
type MemoryStore struct {
	gate gate
	mu   sync.Mutex
	kept *Credentials
}

var _ Store = (*MemoryStore)(nil)

// Lock waits for the other goroutines.
func (m *MemoryStore) Lock(ctx context.Context) (unlock func() error, err error) {
	leave, err := m.gate.enter(ctx)
	return func() error { leave(); return nil }, err
}

// Load returns what is kept.
func (m *MemoryStore) Load(context.Context) (*Credentials, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		return nil, ErrNotLoggedIn
	}
	return m.kept.clone(), nil
}

// Save replaces what is kept.
func (m *MemoryStore) Save(_ context.Context, c *Credentials) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = c.clone()
	return nil
}

// Delete forgets what is kept.
func (m *MemoryStore) Delete(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = nil
	return nil
}

func (c *Credentials) clone() *Credentials {
	d := *c
	if c.RefreshStarted != nil {
		t := *c.RefreshStarted
		d.RefreshStarted = &t
	}
	return &d
}

// gate lets one goroutine in. Whoever waits gives up with its context.
type gate struct {
	once sync.Once
	free chan struct{}
}

func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	g.once.Do(func() { g.free = make(chan struct{}, 1) })
	select {
	case g.free <- struct{}{}:
		return func() { <-g.free }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}
