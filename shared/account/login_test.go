package account_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
)

func TestALoginOpensASession(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(members{"username": "Alice", "role": "kb_editor", "display_name": "Alice A.", "password": "password of alice"})
	for _, name := range []string{"alice", "ALICE"} {
		in, err := w.try(name, "password of alice", address)
		if err != nil || in.Username != "alice" || in.DisplayName != "Alice A." || !regexp.MustCompile(`^[0-9a-f]{48}$`).MatchString(in.Token) {
			t.Fatalf("%s: %+v, %v", name, in, err)
		}
		live := w.live(in.Token)
		if live == nil || live.Username != "alice" || live.Via != account.ViaSession || live.Role != "kb_editor" || live.By() != "alice" ||
			!live.Perms.Has("kb:read", "kb:write") || live.Perms.Has("runs:read") || live.Renewed {
			t.Fatalf("%s: %+v", name, live)
		}
	}
}

// What is wrong with a login shows neither in the answer nor in the work.
func TestAFailedLoginTellsNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	w.add(members{"username": "gone", "role": "viewer", "password": "password of gone", "enabled": false})
	var answers []string
	for i, c := range []struct{ username, password string }{
		{"alice", "wrong password"}, {"alice", "password of Alice"}, {"gone", "password of gone"}, {"gone", "wrong password"},
		{"nobody", "password of alice"}, {"no name at all!", "password"}, {"alice ", "password of alice"}, {strings.Repeat("a", 100_000), "x"},
		{"\u212aelvin", "kelvin sign"},
	} {
		in, err := w.try(c.username, c.password, fmt.Sprintf("192.0.2.%d", i))
		w.wantCode(c.username, err, apierr.Unauthorized)
		answers = append(answers, fmt.Sprint(err, in))
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("answers differ: %s, %s", a, answers[0])
		}
	}
}

func TestALoginNeedsBothAndNothingElse(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	for want, body := range map[string]any{
		"username is required":                  members{},
		"username must be a string":             members{"username": 1, "password": "x"},
		"password is required":                  members{"username": "alice", "password": nil},
		"password must be a string":             members{"username": "alice", "password": []string{"x"}},
		"remember is not a known member":        members{"username": "alice", "password": "password of alice", "remember": true},
		"the body must be a JSON object":        []int{},
		strings.Repeat("m", 64) + " is not a k": members{"username": "alice", "password": "x", strings.Repeat("m", 200): 1},
	} {
		_, err := w.Login(t.Context(), accounttest.Body(body), address)
		if apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(apierr.Of(err).Message, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n := len(w.store.FailureRows()); n != 0 {
		t.Errorf("%d malformed logins count as tries", n)
	}
}

func TestAfterFiveFailuresInTenMinutesNoMoreTries(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	for i := range account.MaxFailures {
		_, err := w.try("alice", "wrong password", address)
		w.wantCode(fmt.Sprint("failure ", i+1), err, apierr.Unauthorized)
		w.clock.Advance(time.Minute)
	}
	_, err := w.try("alice", "password of alice", address)
	w.wantCode("the sixth try, with the right password", err, apierr.RateLimited)
	if wait := apierr.Of(err).Body["retry_after_ms"]; wait != int64(5*time.Minute/time.Millisecond) {
		t.Errorf("retry after %v ms", wait)
	}
	_, err = w.try("ALICE", "password of alice", address)
	w.wantCode("the same name in another case", err, apierr.RateLimited)
	if _, err = w.try("alice", "password of alice", "192.0.2.2"); err != nil {
		t.Errorf("from another address: %v", err)
	}
	_, err = w.try("bob", "wrong password", address)
	w.wantCode("another name from the same address", err, apierr.Unauthorized)
	w.clock.Advance(5*time.Minute - time.Millisecond)
	_, err = w.try("alice", "password of alice", address)
	w.wantCode("one millisecond before the first failure has passed", err, apierr.RateLimited)
	w.clock.Advance(time.Millisecond)
	if _, err = w.try("alice", "password of alice", address); err != nil {
		t.Errorf("when it has passed: %v", err)
	}
	for range 2 * account.MaxFailures {
		w.enter("alice") // successes count for nothing
	}
}

func TestFourFailuresAndASuccessAreFourFailures(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	for range account.MaxFailures - 1 {
		_, err := w.try("alice", "wrong password", address)
		w.wantCode("a failure", err, apierr.Unauthorized)
	}
	w.enter("alice")
	_, err := w.try("alice", "wrong password", address)
	w.wantCode("the fifth failure", err, apierr.Unauthorized)
	_, err = w.try("alice", "password of alice", address)
	w.wantCode("the next try", err, apierr.RateLimited)
}

func TestWhichAddressesAreOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, first, second string
		same                bool
	}{
		{"the same", "192.0.2.1", "192.0.2.1", true},
		{"neighbours", "192.0.2.1", "192.0.2.2", false},
		{"IPv4 inside IPv6", "192.0.2.1", "::ffff:192.0.2.1", true},
		{"one /64", "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
		{"the next /64", "2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"no address at all", "", "", true},
		{"what is no address", "unix", "192.0.2.1", false},
	} {
		w := setup(t)
		for range account.MaxFailures {
			_, err := w.try("alice", "x", c.first)
			w.wantCode(c.what, err, apierr.Unauthorized)
		}
		_, err := w.try("alice", "x", c.second)
		if throttled := apierr.CodeOf(err) == apierr.RateLimited; throttled != c.same {
			t.Errorf("%s: throttled %v", c.what, throttled)
		}
	}
}

// Whatever is typed into a form makes rows of the same size.
func TestThrottlingKeepsLittle(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for range 3 * account.MaxFailures {
		_, _ = w.try(strings.Repeat("a secret ", 1000), "x", address)
		w.clock.Advance(time.Minute)
	}
	rows := w.store.FailureRows()
	for key, f := range rows {
		if len(key) != 64 || len(f.At) > account.MaxFailures {
			t.Errorf("%s: %d times", key, len(f.At))
		}
	}
	if len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestALoginReplacesACheaperHash(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	old := w.hash("alice")
	w.enter("alice")
	if w.hash("alice") != old {
		t.Error("a hash of the present cost was replaced")
	}
	w.Service = w.service(func(o *account.Options) { o.Cost.Passes++ })
	_, err := w.try("alice", "wrong password", address)
	w.wantCode("a failure", err, apierr.Unauthorized)
	if w.hash("alice") != old {
		t.Error("a failed login has replaced the hash")
	}
	token := w.enter("alice")
	dearer := w.hash("alice")
	if !strings.HasPrefix(dearer, "$argon2id$v=19$m=8,t=2,p=1$") {
		t.Errorf("hash %s", dearer)
	}
	if w.live(token) == nil {
		t.Error("the login that replaced the hash is dead")
	}
	w.Service = w.service() // an older release
	w.enter("alice")
	if w.hash("alice") != dearer {
		t.Error("a dearer hash was replaced by a cheaper one")
	}
	for _, c := range w.store.Changes() {
		if c.Path != "admins" {
			t.Errorf("a rehash is a change: %+v", c)
		}
	}
}

func (w *world) hash(username string) string {
	w.Helper()
	_, a, err := w.store.ReadAccount(w.Context(), username)
	if err != nil || a == nil {
		w.Fatalf("%v, %v", a, err)
	}
	return a.Value.PasswordHash
}

func TestTheDefaultCostIsOWASPsMinimum(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *account.Options) { o.Cost = account.Cost{} })
	w.admin("alice")
	if h := w.hash("alice"); !strings.HasPrefix(h, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %s", h)
	}
	w.enter("alice")
}

func TestTheBootstrapAdministrator(t *testing.T) {
	t.Parallel()
	w := setup(t, bootstrap("root", "password of root"))
	_, err := w.try("alice", "password of root", address)
	w.wantCode("another name", err, apierr.Unauthorized)
	if list, err := w.List(t.Context()); len(list) != 0 || err != nil {
		t.Fatalf("%v, %v", list, err)
	}
	_, err = w.try("root", "wrong password", address)
	w.wantCode("another password", err, apierr.Unauthorized)
	i := w.as("root")
	if i.Role != "admin" || !i.Perms.Has("*") {
		t.Errorf("%+v", i)
	}
	changes := w.store.Changes()
	if len(changes) != 1 || changes[0].By != "bootstrap" || changes[0].Path != "login" || !changes[0].At.Equal(accounttest.Now) {
		t.Errorf("audit records %+v", changes)
	}
	w.Service = w.service(bootstrap("root", "password of somebody"))
	w.enter("root") // the configuration means nothing any more
}

func TestNoBootstrapWhileThereIsAnAccount(t *testing.T) {
	t.Parallel()
	w := setup(t, bootstrap("root", "password of root"))
	w.add(members{"username": "viewer", "role": "viewer", "enabled": false})
	_, err := w.try("root", "password of root", address)
	w.wantCode("a first login that is none", err, apierr.Unauthorized)
}

// A bootstrap password that cannot be read is our fault, and no failed login.
func TestABootstrapThatFails(t *testing.T) {
	t.Parallel()
	for what, password := range map[string]func(context.Context) (string, error){
		"unreadable": func(context.Context) (string, error) { return "", errors.New("no secret") },
		"too short":  func(context.Context) (string, error) { return "canary7", nil },
	} {
		w := setup(t, func(o *account.Options) { o.Bootstrap = &account.Bootstrap{Username: "root", Password: password} })
		for range account.MaxFailures + 1 {
			_, err := w.try("root", "canary7", address)
			w.wantCode(what, err, apierr.Internal)
			if strings.Contains(err.Error(), "canary7") {
				t.Errorf("%v repeats the password", err)
			}
		}
	}
}

func TestADamagedHashIsAnErrorAndNotAnAnswer(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{
		"", "canary", "$argon2i$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=18$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=8,t=0,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=8,t=65,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=65537,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=8,t=1,p=65$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA",
		"$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$", "$argon2id$v=19$m=8$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		w := setup(t)
		w.admin("alice")
		_, a, err := w.store.ReadAccount(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		a.Value.PasswordHash = hash
		if err := w.store.PutAccount(t.Context(), *a, nil, change); err != nil {
			t.Fatal(err)
		}
		_, err = w.try("alice", "password of alice", address)
		w.wantCode(hash, err, apierr.Internal)
		if hash != "" && strings.Contains(err.Error(), hash) {
			t.Errorf("%v repeats the hash", err)
		}
	}
}

// What a stored hash may ask for fits many times into a function's memory.
func TestTheDearestHashIsChecked(t *testing.T) {
	t.Parallel()
	for _, cost := range []account.Cost{{Memory: 64 << 10, Passes: 1, Threads: 1}, {Memory: 8 * 64, Passes: 64, Threads: 64}} {
		w := setup(t, func(o *account.Options) { o.Cost = cost })
		w.admin("alice")
		w.enter("alice")
	}
}

// Work is measured by the memory that hashing takes, so nothing else may run meanwhile.
func TestEveryFailedLoginTakesTheSameWork(t *testing.T) {
	const memory = 16 << 20
	w := setup(t, func(o *account.Options) { o.Cost.Memory = memory >> 10 })
	w.admin("alice")
	w.add(members{"username": "gone", "role": "viewer", "password": "password of gone", "enabled": false})
	for i, name := range []string{"alice", "gone", "nobody", "no name!"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := w.try(name, "wrong password", fmt.Sprintf("192.0.2.%d", i))
		runtime.ReadMemStats(&after)
		w.wantCode(name, err, apierr.Unauthorized)
		if used := after.TotalAlloc - before.TotalAlloc; used < memory || used > memory+memory/2 {
			t.Errorf("%s: %d bytes, one hash takes %d", name, used, memory)
		}
	}
	for i := range account.MaxFailures + 1 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := w.try("alice", "wrong password", "192.0.2.99")
		runtime.ReadMemStats(&after)
		if throttled := apierr.CodeOf(err) == apierr.RateLimited; throttled != (i == account.MaxFailures) || throttled != (after.TotalAlloc-before.TotalAlloc < memory) {
			t.Errorf("try %d: %v, %d bytes", i+1, err, after.TotalAlloc-before.TotalAlloc)
		}
	}
}
