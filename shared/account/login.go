package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/permission"
	"bailing/shared/registry"
)

// LoggedIn is the answer to a login.
type LoggedIn struct {
	Username    string
	DisplayName string
	Token       string // of the session: 48 lower-case hexadecimal characters, in clear text here only
}

// errRefused is the same for an unknown user name, a wrong password and a disabled account.
var errRefused = apierr.New(apierr.Unauthorized, "wrong user name or password")

// Login checks a user name and a password, {username, password} in body, and opens a session. address is the client's, from the
// gateway alone (D24).
//
// A failed try answers 401, whatever was wrong, after the same work; after [MaxFailures] within [FailureWindow] from one address
// for one user name it is 429 without any. A try that dies on the way counts as failed. The session is written while the
// account is as it was checked: a password that changes meanwhile is checked again. Twice makes two sessions.
func (s *Service) Login(ctx context.Context, v canonical.Value, address string) (LoggedIn, error) {
	b := readBody(v)
	username, password := b.required("username"), b.required("password")
	if err := b.done(); err != nil {
		return LoggedIn{}, err
	}
	name, _ := Normalize(username)
	key := failureKey(address, name)
	if name == "" { // nobody's, and told so like any other
		key = failureKey(address, username)
	}
	rows, err := s.o.Store.ReadLogin(ctx, name, key)
	if err != nil {
		return LoggedIn{}, err
	}
	giveBack, err := s.try(ctx, key, rows.Failures)
	if err != nil {
		if apierr.CodeOf(err) == apierr.RateLimited {
			s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "login throttled")
		}
		return LoggedIn{}, err
	}
	if rows.Account == nil && len(rows.Roster.Value.Accounts) == 0 && s.o.Bootstrap != nil && s.o.Bootstrap.Username == name {
		if rows.Account, err = s.bootstrap(ctx, rows.Roster); err != nil {
			giveBack() // the password was not looked at
			return LoggedIn{}, err
		}
	}
	in, err := s.open(ctx, name, rows.Account, password)
	switch {
	case err == nil:
		giveBack()
		s.o.Logger.LogAttrs(ctx, slog.LevelInfo, "login", slog.String("username", in.Username))
	case errors.Is(err, errRefused):
		s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "login refused") // the name may be a password in the wrong field
	}
	return in, err
}

// open checks the password and writes a session, as often as the account changes meanwhile.
func (s *Service) open(ctx context.Context, name string, a *Versioned[Account], password string) (in LoggedIn, err error) {
	err = attempt(func() error {
		if in, err = s.openOnce(ctx, a, password); !errors.Is(err, ErrStale) {
			return err
		}
		var read error
		if _, a, read = s.o.Store.ReadAccount(ctx, name); read != nil {
			return read
		}
		return ErrStale
	})
	return in, err
}

func (s *Service) openOnce(ctx context.Context, a *Versioned[Account], password string) (LoggedIn, error) {
	if a == nil {
		s.o.Cost.spend(password)
		return LoggedIn{}, errRefused
	}
	ok, cost, err := verify(password, a.Value.PasswordHash)
	if err != nil {
		return LoggedIn{}, err
	}
	if !ok || !a.Value.Enabled {
		return LoggedIn{}, errRefused
	}
	next, rehash := *a, cost.below(s.o.Cost)
	if rehash {
		if next.Value.PasswordHash, err = s.o.Cost.hash(password, s.o.Random); err != nil {
			return LoggedIn{}, err
		}
	}
	token, err := s.randomHex(tokenBytes)
	if err != nil {
		return LoggedIn{}, err
	}
	now := s.now()
	session := Session{
		Hash: tokenHash(token), Username: a.Value.Username, Epoch: a.Value.Epoch, CreatedAt: now, ExpiresAt: now.Add(SessionLife),
	}
	if err := s.o.Store.OpenSession(ctx, session, next, rehash); err != nil {
		return LoggedIn{}, err
	}
	s.guesses.put(session.Hash, session.Username)
	return LoggedIn{Username: a.Value.Username, DisplayName: a.Value.DisplayName, Token: token}, nil
}

// bootstrap creates the first administrator. Of several at once, one does; the others find what it has created, which may also be
// somebody else's first account.
func (s *Service) bootstrap(ctx context.Context, roster Versioned[Roster]) (*Versioned[Account], error) {
	username := s.o.Bootstrap.Username
	password, err := s.o.Bootstrap.Password(ctx)
	if err != nil {
		return nil, fmt.Errorf("account: password of the bootstrap administrator: %w", err)
	}
	if rule := CheckPassword(password); rule != "" {
		return nil, errors.New("account: the password of the bootstrap administrator " + rule)
	}
	now := s.now()
	a := Account{
		Username: username, DisplayName: username, Role: permission.Admin, Enabled: true, CreatedAt: now, UpdatedAt: now,
	}
	if a.PasswordHash, err = s.o.Cost.hash(password, s.o.Random); err != nil {
		return nil, err
	}
	if a.Epoch, err = s.newEpoch(); err != nil {
		return nil, err
	}
	roster.Value = Roster{Accounts: map[string]bool{username: true}}
	change := registry.Change{At: now, By: byBootstrap, Method: "POST", Path: "login"}
	err = s.o.Store.PutAccount(ctx, Versioned[Account]{Value: a}, &roster, change)
	if err != nil && !errors.Is(err, ErrStale) {
		return nil, err
	}
	if err == nil {
		s.o.Logger.LogAttrs(ctx, slog.LevelInfo, "bootstrap administrator created", slog.String("username", username))
	}
	_, stored, err := s.o.Store.ReadAccount(ctx, username)
	return stored, err
}

// CheckBootstrap reports what is wrong with the name of a bootstrap administrator, as the end of a sentence; "" for a good one.
func CheckBootstrap(username string) string {
	switch name, ok := Normalize(username); {
	case !ok:
		return usernameRule
	case slices.Contains(reserved, name):
		return "is reserved"
	}
	return ""
}
