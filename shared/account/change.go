package account

import (
	"context"
	"log/slog"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/registry"
)

// ChangePassword gives the administrator of a session a new password, {old_password, new_password} in body (core §10.1). All other
// sessions of the account are dead with the same write; this one goes on. The server token has no password: 403. A wrong
// old password is 401 and counts as a failed login from address, so that a stolen session cannot be used to guess it.
//
// Repeated, it answers 401: the old password is no longer right. When the session ends meanwhile, nothing is changed.
func (s *Service) ChangePassword(ctx context.Context, i Identity, v canonical.Value, address string, c registry.Change) error {
	if i.Via != ViaSession {
		return apierr.New(apierr.Forbidden, "only an administrator who is logged in has a password to change")
	}
	b := readBody(v)
	old, password := b.required("old_password"), b.required("new_password")
	if rule := CheckPassword(password); rule != "" {
		b.fail("new_password", rule)
	}
	if err := b.done(); err != nil {
		return err
	}
	key := failureKey(address, i.Username)
	rows, err := s.o.Store.ReadLogin(ctx, i.Username, key)
	if err != nil {
		return err
	}
	giveBack, err := s.try(ctx, key, rows.Failures)
	if err != nil {
		return err
	}
	hash, err := s.o.Cost.hash(password, s.o.Random)
	if err != nil {
		return err
	}
	err = attempt(func() error { return s.changePassword(ctx, i, old, hash, c) })
	if err == nil {
		giveBack()
		s.o.Logger.LogAttrs(ctx, slog.LevelInfo, "password changed", slog.String("username", i.Username))
	}
	return err
}

func (s *Service) changePassword(ctx context.Context, i Identity, old, hash string, c registry.Change) error {
	_, a, err := s.o.Store.ReadAccount(ctx, i.Username)
	if err != nil {
		return err
	}
	if a == nil || !a.Value.Enabled || a.Value.Epoch != i.session.Epoch {
		return apierr.New(apierr.Unauthorized, "unauthorized") // the session has died since the request began
	}
	if ok, _, err := verify(old, a.Value.PasswordHash); err != nil {
		return err
	} else if !ok {
		return apierr.New(apierr.Unauthorized, "the old password is wrong")
	}
	c = s.stamp(c)
	a.Value.PasswordHash, a.Value.UpdatedAt = hash, c.At
	if a.Value.Epoch, err = s.newEpoch(); err != nil {
		return err
	}
	return s.o.Store.ChangePassword(ctx, *a, i.session, c)
}
