package account_test

import (
	"context"
	"testing"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// A request that was let in before its administrator lost the management does not act after that.
func TestAnAdministratorWhoLostTheManagementManagesNobody(t *testing.T) {
	t.Parallel()
	save := func(m members) func(*world) {
		return func(w *world) { m["username"] = "mallory"; w.add(m) }
	}
	remove := func(w *world) {
		if err := w.Delete(w.Context(), account.ServerToken(), "mallory", change); err != nil {
			w.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		lose func(*world)
		want apierr.Code
	}{
		"deleted":                  {remove, apierr.Unauthorized},
		"deleted and made anew":    {func(w *world) { remove(w); w.admin("mallory") }, apierr.Unauthorized},
		"disabled":                 {save(members{"role": "admin", "enabled": false}), apierr.Unauthorized},
		"given another password":   {save(members{"role": "admin", "password": "another password"}), apierr.Unauthorized},
		"given another role":       {save(members{"role": "viewer"}), apierr.Forbidden},
		"left with less than all":  {save(members{"role": "admin", "perms": []string{"admins:manage", "runs:read"}}), apierr.Forbidden},
		"left without the account": {save(members{"role": "admin", "perms": []string{"kb:read"}}), apierr.Forbidden},
	} {
		for when, before := range map[string]bool{"before it decides": true, "between its decision and its write": false} {
			for how, act := range map[string]func(*account.Service, account.Identity) error{
				"makes an administrator": func(s *account.Service, i account.Identity) error {
					_, err := s.Save(t.Context(), i, accounttest.Body(members{"username": "friend", "role": "admin", "password": "12345678"}), change)
					return err
				},
				"gives a password": func(s *account.Service, i account.Identity) error {
					_, err := s.Save(t.Context(), i, accounttest.Body(members{"username": "root", "role": "admin", "password": "12345678"}), change)
					return err
				},
				"deletes": func(s *account.Service, i account.Identity) error { return s.Delete(t.Context(), i, "root", change) },
			} {
				w := setup(t)
				w.admin("keeper")
				w.admin("root")
				w.admin("mallory")
				i := w.as("mallory")
				s := w.Service
				if before {
					c.lose(w)
				} else {
					s = w.service(func(o *account.Options) { o.Store = &meanwhile{Store: w.store, do: func() { c.lose(w) }} })
				}
				w.wantCode(what+" "+when+", "+how, act(s, i), c.want)
				w.enter("root")
				if _, a, err := w.store.ReadAccount(t.Context(), "friend"); a != nil || err != nil {
					t.Errorf("%s %s, %s: %v, %v", what, when, how, a, err)
				}
			}
		}
	}
}

// meanwhile does something right before the first write.
type meanwhile struct {
	account.Store
	do func()
}

func (m *meanwhile) now() {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
}

func (m *meanwhile) PutAccount(ctx context.Context, a account.Versioned[account.Account], roster *account.Versioned[account.Roster], c registry.Change) error {
	m.now()
	return m.Store.PutAccount(ctx, a, roster, c)
}

func (m *meanwhile) DeleteAccount(ctx context.Context, a account.Versioned[account.Account], roster account.Versioned[account.Roster], c registry.Change) error {
	m.now()
	return m.Store.DeleteAccount(ctx, a, roster, c)
}
