package envelope

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/clock"
)

// memoryKeys is a key source that counts its calls and can fail.
type memoryKeys struct {
	fileKey
	mu              sync.Mutex
	generated, open int
	fail            error
}

func (m *memoryKeys) Generate(ctx context.Context, c map[string]string) (DataKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generated++; m.fail != nil {
		return DataKey{}, m.fail
	}
	return m.fileKey.Generate(ctx, c)
}

func (m *memoryKeys) Open(ctx context.Context, wrapped []byte, c map[string]string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open++; m.fail != nil {
		return nil, m.fail
	}
	return m.fileKey.Open(ctx, wrapped, c)
}

func (m *memoryKeys) calls() (generated, open int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generated, m.open
}

type bundle struct {
	keys  *memoryKeys
	clock *clock.Manual
	cfg   Config
	env   *Envelope
}

func setup(t testing.TB, change func(*Config)) *bundle {
	t.Helper()
	b := &bundle{keys: &memoryKeys{fileKey: fileKey{aead: testAEAD(t, 7), rand: rand.Reader}}, clock: clock.NewManual(time.Unix(1760000000, 0))}
	b.cfg = Config{Keys: b.keys, Clock: b.clock}
	if change != nil {
		change(&b.cfg)
	}
	b.env = b.fresh(t)
	return b
}

// fresh is an Envelope over the same keys that remembers nothing.
func (b *bundle) fresh(t testing.TB) *Envelope {
	t.Helper()
	env, err := New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func testAEAD(t testing.TB, fill byte) cipher.AEAD {
	t.Helper()
	aead, err := newAEAD(bytes.Repeat([]byte{fill}, keySize))
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

var (
	ctx   = context.Background()
	place = Context{"client", "shop", "token"}
)

func (b *bundle) seal(t testing.TB, plaintext string, c Context) string {
	t.Helper()
	sealed, err := b.env.Seal(ctx, []byte(plaintext), c)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, plaintext := range []string{"", "hunter2", strings.Repeat("x", MaxPlaintext)} {
		sealed := b.seal(t, plaintext, place)
		for what, env := range map[string]*Envelope{"the same envelope": b.env, "one without the key": b.fresh(t)} {
			if got, err := env.Open(ctx, sealed, place); err != nil || string(got) != plaintext {
				t.Errorf("%s: %d bytes, %v", what, len(got), err)
			}
		}
		if plaintext == "hunter2" && (strings.Contains(sealed, plaintext) || strings.Contains(sealed, base64.RawURLEncoding.EncodeToString([]byte(plaintext)))) {
			t.Error("the plaintext shows")
		}
	}
	if _, err := b.env.Seal(ctx, make([]byte, MaxPlaintext+1), place); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte past the limit: %v", err)
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	sealed := setup(t, nil).seal(t, "hunter2", place)
	parts := strings.Split(sealed, ".")
	if len(parts) != 4 || parts[0] != "v1" {
		t.Fatalf("form %q", sealed)
	}
	for i, want := range []int{nonceLen + keySize + 16, nonceLen, len("hunter2") + 16} {
		if raw, err := base64.RawURLEncoding.DecodeString(parts[i+1]); err != nil || len(raw) != want {
			t.Errorf("part %d: %d bytes, %v; want %d", i+1, len(raw), err, want)
		}
	}
}

func TestEqualSecretsSealDifferently(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	first, second := b.seal(t, "a", place), b.seal(t, "a", place)
	if first == second {
		t.Error("two equal texts: the nonce is not random")
	}
}

func TestAnotherContextDoesNotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	sealed := b.seal(t, "hunter2", place)
	for _, c := range []Context{{"provider", "shop", "token"}, {"client", "shop2", "token"}, {"client", "shop", "secret"}, {"client", "shop\",\"kind", "token"}, {"shop", "client", "token"}} {
		for what, env := range map[string]*Envelope{"with the key remembered": b.env, "without": b.fresh(t)} {
			if got, err := env.Open(ctx, sealed, c); !errors.Is(err, ErrWrongContext) || got != nil {
				t.Errorf("%v %s: %q, %v", c, what, got, err)
			}
		}
	}
	for _, c := range []Context{{}, {"client", "shop", ""}, {"client", "", "token"}, {"", "shop", "token"}} {
		if _, err := b.env.Seal(ctx, nil, c); !errors.Is(err, ErrIncompleteContext) {
			t.Errorf("Seal with %v: %v", c, err)
		}
		if _, err := b.env.Open(ctx, sealed, c); !errors.Is(err, ErrIncompleteContext) {
			t.Errorf("Open with %v: %v", c, err)
		}
	}
}

func TestEveryAlteredCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	sealed := b.seal(t, "hunter2", place)
	for i := range len(sealed) {
		for _, c := range []byte{'A', 'B', '.', '=', '\n'} {
			altered := sealed[:i] + string([]byte{c}) + sealed[i+1:]
			if altered == sealed {
				continue
			}
			if _, err := b.env.Open(ctx, altered, place); !errors.Is(err, ErrTampered) || strings.Contains(err.Error(), "hunter2") {
				t.Fatalf("character %d as %q: %v", i, c, err)
			}
		}
	}
	for _, text := range []string{"", "v1", "v1...", "v2" + sealed[2:], sealed + ".", sealed[:len(sealed)-1], sealed + "\n", strings.Repeat("a", maxText+1)} {
		if _, err := b.env.Open(ctx, text, place); !errors.Is(err, ErrTampered) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestAnotherWrappingKeyDoesNotOpen(t *testing.T) {
	t.Parallel()
	sealed := setup(t, nil).seal(t, "hunter2", place)
	other := setup(t, nil)
	other.keys.aead = testAEAD(t, 8)
	if _, err := other.env.Open(ctx, sealed, place); !errors.Is(err, ErrTampered) {
		t.Error(err)
	}
}

func TestADataKeySealsABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.MaxSeals = 3 })
	seal := func(n int, c Context, want int) {
		t.Helper()
		for range n {
			b.seal(t, "a", c)
		}
		if got, _ := b.keys.calls(); got != want {
			t.Errorf("%d data keys, want %d", got, want)
		}
	}
	seal(3, place, 1)
	seal(1, place, 2)
	seal(2, place, 2)
	seal(1, place, 3)
	seal(1, Context{"client", "other", "token"}, 4) // never shared between contexts
}

func TestDataKeysAreForgottenAfterTheirTime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.TTL = time.Minute })
	sealed := b.seal(t, "a", place)
	open := func(want int) {
		t.Helper()
		if _, err := b.env.Open(ctx, sealed, place); err != nil {
			t.Fatal(err)
		}
		if _, got := b.keys.calls(); got != want {
			t.Errorf("%d unwraps, want %d", got, want)
		}
	}
	b.clock.Advance(time.Minute - time.Nanosecond)
	open(0)
	b.clock.Advance(time.Nanosecond)
	open(1)
	open(1)
	b.seal(t, "a", place)
	if got, _ := b.keys.calls(); got != 2 {
		t.Errorf("%d data keys, want 2: the old one is past its time", got)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.MaxKeys = 2 })
	var sealed []string
	places := []Context{{"client", "1", "t"}, {"client", "2", "t"}, {"client", "3", "t"}}
	for _, c := range places {
		sealed = append(sealed, b.seal(t, "a", c))
	}
	open := func(i, want int) {
		t.Helper()
		if _, err := b.env.Open(ctx, sealed[i], places[i]); err != nil {
			t.Fatal(err)
		}
		if _, got := b.keys.calls(); got != want {
			t.Errorf("%d unwraps, want %d", got, want)
		}
	}
	open(1, 0)
	open(2, 0)
	open(1, 0)
	open(0, 1) // pushed out by the third; pushes out the third, used longest ago
	open(1, 1)
	open(2, 2)
	if len(b.env.opened.items) != 2 || b.env.opened.order.Len() != 2 || len(b.env.active.items) != 2 {
		t.Error("the caches grow")
	}
}

func TestKeySourceFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	sealed := b.seal(t, "hunter2", place)
	cause := errors.New("connection refused")
	b.keys.fail = cause
	env := b.fresh(t)
	_, err := env.Open(ctx, sealed, place)
	if !errors.Is(err, ErrKeyUnavailable) || !errors.Is(err, cause) || errors.Is(err, ErrTampered) {
		t.Errorf("Open: %v", err)
	}
	if _, err = env.Seal(ctx, []byte("hunter2"), place); !errors.Is(err, ErrKeyUnavailable) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Seal: %v", err)
	}
	b.keys.fail = nil
	if got, err := env.Open(ctx, sealed, place); err != nil || string(got) != "hunter2" {
		t.Errorf("a failure was remembered: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.fresh(t).Open(cancelled, sealed, place); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrKeyUnavailable) {
		t.Errorf("cancelled: %v", err)
	}
}

type badKeys struct{ key DataKey }

func (b badKeys) Generate(context.Context, map[string]string) (DataKey, error) { return b.key, nil }
func (b badKeys) Open(context.Context, []byte, map[string]string) ([]byte, error) {
	return b.key.Plain, nil
}

func TestAKeySourceThatGivesNoKey(t *testing.T) {
	t.Parallel()
	for rule, key := range map[string]DataKey{
		"short": {make([]byte, 16), []byte("w")}, "none": {nil, []byte("w")}, "not wrapped": {make([]byte, 32), nil},
	} {
		env := setup(t, func(c *Config) { c.Keys = badKeys{key} }).env
		if _, err := env.Seal(ctx, nil, place); !errors.Is(err, ErrKeyUnavailable) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestARandomSourceThatFails(t *testing.T) {
	t.Parallel()
	env := setup(t, func(c *Config) { c.Rand = strings.NewReader("short") }).env
	if _, err := env.Seal(ctx, []byte("a"), place); err == nil {
		t.Error("sealed without a nonce")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := setup(t, nil).cfg
	for rule, change := range map[string]func(*Config){
		"no keys": func(c *Config) { c.Keys = nil }, "no clock": func(c *Config) { c.Clock = nil }, "negative TTL": func(c *Config) { c.TTL = -1 },
		"negative cache": func(c *Config) { c.MaxKeys = -1 }, "negative seals": func(c *Config) { c.MaxSeals = -1 },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", rule)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.MaxSeals, c.MaxKeys = 3, 2 })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := Context{"client", string(rune('a' + i%4)), "token"}
			for range 50 {
				sealed, err := b.env.Seal(ctx, []byte("a"), c)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := b.env.Open(ctx, sealed, c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzOpen(f *testing.F) {
	b := setup(f, nil)
	sealed := b.seal(f, "hunter2", place)
	f.Add(sealed)
	f.Add("v1.AA.AAAAAAAAAAAAAAAA.AA")
	f.Add("v1...")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := b.env.Open(ctx, text, place)
		if err == nil && (text != sealed || string(got) != "hunter2") {
			t.Fatalf("opened %q", text)
		}
		if err != nil && !errors.Is(err, ErrTampered) {
			t.Fatal(err)
		}
	})
}
