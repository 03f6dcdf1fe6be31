package envelope

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/clock"
)

// What can go wrong.
var (
	// ErrTampered: the sealed text is not what Seal wrote, or it was sealed for another context or under another key.
	ErrTampered = errors.New("sealed value does not open: altered, or of another record")
	// ErrWrongContext is ErrTampered: authenticated encryption cannot tell the two apart.
	ErrWrongContext = ErrTampered
	// ErrKeyUnavailable: the key source could not answer; the same call may succeed later.
	ErrKeyUnavailable = errors.New("key source is unavailable")
	// ErrIncompleteContext: a member of the Context is empty, which would let records share secrets.
	ErrIncompleteContext = errors.New("encryption context is incomplete")
	// ErrTooLarge: the plaintext is longer than [MaxPlaintext].
	ErrTooLarge = errors.New("secret is too large to seal")
)

const (
	// MaxPlaintext is the longest secret in bytes: a whole answer of a model, with arguments of 1 MiB, is one. What an item
	// holds is the business of whoever stores the sealed text.
	MaxPlaintext = 16 << 20

	version  = "v1"
	keySize  = 32
	maxText  = MaxPlaintext/3*4 + 64<<10 // in base64, with room for the wrapped key
	nonceLen = 12
)

// DataKey is a fresh 256-bit key and the form in which it may be stored.
type DataKey struct {
	Plain   []byte // 32 bytes
	Wrapped []byte
}

// KeySource makes and unwraps data keys. Both calls are bound to a context, which Open must be given again. Open answers an error
// that is [ErrTampered] when wrapped is not its own or the context differs; every other error counts as
// [ErrKeyUnavailable]. Implementations are safe for concurrent use.
type KeySource interface {
	Generate(ctx context.Context, context map[string]string) (DataKey, error)
	Open(ctx context.Context, wrapped []byte, context map[string]string) ([]byte, error)
}

// Context names where a sealed value belongs. All three are required, and none is secret: key sources may log them.
type Context struct {
	Kind  string // of the record: "client", "provider", ...
	ID    string // of the record
	Field string // of the secret in the record
}

// Map is the form that key sources get.
func (c Context) Map() map[string]string {
	return map[string]string{"kind": c.Kind, "id": c.ID, "field": c.Field}
}

// Config of an [Envelope]. Zero members take the defaults.
type Config struct {
	Keys     KeySource     // required
	Clock    clock.Clock   // required
	Rand     io.Reader     // nonces; default crypto/rand
	MaxKeys  int           // unwrapped data keys kept, and contexts with a key in use; default 1000 each
	TTL      time.Duration // how long after unwrapping or making it a data key is kept; default 1 h
	MaxSeals int           // seals with one data key; default 1000
}

// Envelope seals and opens secrets. It is safe for concurrent use.
type Envelope struct {
	cfg Config

	mu     sync.Mutex
	opened *lru[string, *dataKey]  // by wrapped key
	active *lru[Context, *dataKey] // the key in use for sealing
}

// dataKey is an unwrapped key; seals and since are guarded by the Envelope's lock.
type dataKey struct {
	aead    cipher.AEAD
	wrapped []byte
	since   time.Time
	seals   int
}

// New returns an Envelope over cfg.Keys.
func New(cfg Config) (*Envelope, error) {
	if cfg.Keys == nil || cfg.Clock == nil {
		return nil, errors.New("envelope: Keys and Clock are required")
	}
	if cfg.MaxKeys < 0 || cfg.TTL < 0 || cfg.MaxSeals < 0 {
		return nil, errors.New("envelope: negative limit")
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = 1000
	}
	if cfg.TTL == 0 {
		cfg.TTL = time.Hour
	}
	if cfg.MaxSeals == 0 {
		cfg.MaxSeals = 1000
	}
	return &Envelope{cfg: cfg, opened: newLRU[string, *dataKey](cfg.MaxKeys), active: newLRU[Context, *dataKey](cfg.MaxKeys)}, nil
}

// Seal encrypts plaintext so that only [Envelope.Open] with the same context reads it. Equal plaintexts give different texts.
// Errors: [ErrIncompleteContext], [ErrTooLarge], [ErrKeyUnavailable], ctx's own.
func (e *Envelope) Seal(ctx context.Context, plaintext []byte, encCtx Context) (string, error) {
	if err := encCtx.validate(); err != nil {
		return "", err
	}
	if len(plaintext) > MaxPlaintext {
		return "", ErrTooLarge
	}
	key, err := e.sealingKey(ctx, encCtx)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, nonceLen)
	if _, err := io.ReadFull(e.cfg.Rand, nonce); err != nil {
		return "", fmt.Errorf("envelope: random nonce: %w", err)
	}
	sealed := key.aead.Seal(nil, nonce, plaintext, additional(encCtx.Map()))
	enc := base64.RawURLEncoding
	return strings.Join([]string{version, enc.EncodeToString(key.wrapped), enc.EncodeToString(nonce), enc.EncodeToString(sealed)}, "."), nil
}

// Open decrypts what [Envelope.Seal] made for the same context. Errors: [ErrTampered], [ErrIncompleteContext],
// [ErrKeyUnavailable], ctx's own.
func (e *Envelope) Open(ctx context.Context, sealed string, encCtx Context) ([]byte, error) {
	if err := encCtx.validate(); err != nil {
		return nil, err
	}
	wrapped, nonce, ciphertext, ok := split(sealed)
	if !ok {
		return nil, ErrTampered
	}
	key, err := e.openingKey(ctx, wrapped, encCtx)
	if err != nil {
		return nil, err
	}
	plaintext, err := key.aead.Open(nil, nonce, ciphertext, additional(encCtx.Map()))
	if err != nil {
		return nil, ErrTampered
	}
	return plaintext, nil
}

// sealingKey is the context's key in use, or a new one when that is too old or has sealed enough.
func (e *Envelope) sealingKey(ctx context.Context, encCtx Context) (*dataKey, error) {
	e.mu.Lock()
	key, ok := e.active.get(encCtx)
	if ok && key.seals < e.cfg.MaxSeals && e.fresh(key) {
		key.seals++
		e.mu.Unlock()
		return key, nil
	}
	e.mu.Unlock()

	made, err := e.cfg.Keys.Generate(ctx, encCtx.Map())
	if err != nil {
		return nil, sourceError(ctx, err)
	}
	if key, err = e.newKey(made.Plain, made.Wrapped); err != nil {
		return nil, err
	}
	key.seals = 1
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active.put(encCtx, key)
	e.opened.put(string(key.wrapped), key)
	return key, nil
}

// openingKey unwraps, or remembers, the key of a sealed value. A remembered key is no way around the context: the ciphertext
// is bound to it too.
func (e *Envelope) openingKey(ctx context.Context, wrapped []byte, encCtx Context) (*dataKey, error) {
	e.mu.Lock()
	key, ok := e.opened.get(string(wrapped))
	ok = ok && e.fresh(key)
	e.mu.Unlock()
	if ok {
		return key, nil
	}
	plain, err := e.cfg.Keys.Open(ctx, wrapped, encCtx.Map())
	if err != nil {
		return nil, sourceError(ctx, err)
	}
	if key, err = e.newKey(plain, wrapped); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened.put(string(wrapped), key)
	return key, nil
}

func (e *Envelope) newKey(plain, wrapped []byte) (*dataKey, error) {
	if len(wrapped) == 0 {
		return nil, fmt.Errorf("%w: it gave no wrapped key", ErrKeyUnavailable)
	}
	aead, err := newAEAD(plain)
	if err != nil {
		return nil, err
	}
	return &dataKey{aead: aead, wrapped: wrapped, since: e.cfg.Clock.Now()}, nil
}

func (e *Envelope) fresh(k *dataKey) bool { return e.cfg.Clock.Now().Sub(k.since) < e.cfg.TTL }

func (c Context) validate() error {
	if c.Kind == "" || c.ID == "" || c.Field == "" {
		return ErrIncompleteContext
	}
	return nil
}

// sourceError sorts an error of the key source. Cancellation stays what it is, beside ErrKeyUnavailable.
func sourceError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrTampered), errors.Is(err, ErrKeyUnavailable):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrKeyUnavailable, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrKeyUnavailable, err)
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("%w: its key has not %d bytes", ErrKeyUnavailable, keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyUnavailable, err)
	}
	return cipher.NewGCM(block)
}

// additional is the authenticated data: version and context, as JSON with sorted keys, so that no two contexts read alike.
func additional(context map[string]string) []byte {
	b := []byte(version + "{")
	for i, name := range slices.Sorted(maps.Keys(context)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonical.AppendString(b, name)
		b = canonical.AppendString(append(b, ':'), context[name])
	}
	return append(b, '}')
}

// split takes sealed text apart. Every value has one text: padding, other alphabets and stray bits are refused.
func split(sealed string) (wrapped, nonce, ciphertext []byte, ok bool) {
	parts := strings.Split(sealed, ".")
	if len(sealed) > maxText || len(parts) != 4 || parts[0] != version || strings.ContainsAny(sealed, "\r\n") {
		return nil, nil, nil, false
	}
	var raw [3][]byte
	for i, p := range parts[1:] {
		b, err := base64.RawURLEncoding.Strict().DecodeString(p)
		if err != nil || len(b) == 0 {
			return nil, nil, nil, false
		}
		raw[i] = b
	}
	return raw[0], raw[1], raw[2], len(raw[1]) == nonceLen
}
