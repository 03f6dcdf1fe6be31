//go:build unix

package agentclient

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	k := b.stored(t)
	for name, want := range map[string]fs.FileMode{b.store.Name(): 0o600, b.store.Name() + ".lock": 0o600, filepath.Dir(b.store.Name()): 0o700 | fs.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o610} {
		if err := os.Chmod(b.store.Name(), mode); err != nil {
			t.Fatal(err)
		}
		_, err := b.store.Load(t.Context())
		if !is(err, ErrExposed) {
			t.Errorf("%v: %v", mode, err)
		}
		wantNoSecret(t, err)
	}
	b.save(t, k) // a login writes it anew
	if info, err := os.Stat(b.store.Name()); err != nil || info.Mode() != 0o600 {
		t.Error(err)
	}
}

func TestAFolderInWhichOthersWriteIsRefused(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	if err := os.Chmod(filepath.Dir(b.store.Name()), 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Lock(t.Context()); !is(err, ErrExposed) {
		t.Error(err)
	}
	if err := b.store.Save(t.Context(), b.session()); !is(err, ErrExposed) {
		t.Error(err)
	}
}

func TestAFileThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	good, err := os.ReadFile(b.store.Name())
	if err != nil {
		t.Fatal(err)
	}
	k := b.stored(t)
	for says, text := range map[string]string{
		"not JSON":        string(good[:len(good)/2]),
		"version is 0":    `{}`,
		"version is 2":    strings.Replace(string(good), `"version": 1`, `"version": 2`, 1),
		"https is needed": strings.Replace(string(good), k.Hub, "http://evil.example", 1),
		"a token is":      strings.Replace(string(good), "bhr_", "bha_", 1),
		"the client":      strings.Replace(string(good), k.ClientAppID, "", 1),
		"more than":       string(good) + strings.Repeat(" ", maxFile),
		"right form":      `{"version":1,"access_token":"` + k.AccessToken + `","hub":7}`,
	} {
		if err := os.WriteFile(b.store.Name(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := b.store.Load(t.Context())
		if !is(err, ErrDamaged) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		wantNoSecret(t, err)
	}
	if _, _, err := b.client.Login(t.Context(), b.options(t, b.hub.Approve)); err != nil {
		t.Errorf("a login does not write it anew: %v", err)
	}
	b.stored(t)
}

// What a process left that died while it wrote is no file of credentials, is replaced, and goes with the logout.
func TestAWriteThatDiedLeavesNothing(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	k := b.stored(t)
	leave := func() {
		if err := os.WriteFile(b.store.next(), []byte(`{"version":1,"acc`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if got := b.stored(t); *got != *k {
		t.Errorf("%+v", got)
	}
	b.save(t, k)
	leave()
	if err := b.store.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(b.store.Name()))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(b.store.Name())+".lock" {
		t.Errorf("%v %v", left, err)
	}
	if err := b.store.Delete(t.Context()); err != nil {
		t.Errorf("nothing to delete: %v", err)
	}
}

func TestALockIsWaitedForAsLongAsTheCallerLikes(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	for name, other := range map[string]*FileStore{"the same store": b.store, "another one on the file": NewFileStore(b.store.Name())} {
		unlock, err := b.store.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*lockPause)
		if _, err := other.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		got := make(chan error)
		go func() {
			release, err := other.Lock(t.Context())
			if err == nil {
				err = release()
			}
			got <- err
		}()
		if err := unlock(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the lock was not released", name)
		}
	}
}
