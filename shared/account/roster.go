package account

import (
	"context"
	"maps"

	"bailing/shared/apierr"
	"bailing/shared/permission"
)

// MaxAccounts bounds the roster, which is one row.
const MaxAccounts = 500

// with is the roster with one account.
func (r Roster) with(username string, manages bool) Roster {
	next := Roster{Accounts: maps.Clone(r.Accounts)}
	if next.Accounts == nil {
		next.Accounts = map[string]bool{}
	}
	next.Accounts[username] = manages
	return next
}

// without is the roster without one account.
func (r Roster) without(username string) Roster {
	next := Roster{Accounts: maps.Clone(r.Accounts)}
	delete(next.Accounts, username)
	return next
}

// managed reports whether anybody may manage accounts.
func (r Roster) managed() bool {
	for _, manages := range r.Accounts {
		if manages {
			return true
		}
	}
	return false
}

// judge refuses what would leave nobody in charge: before and after are the rosters around the change of the account called
// username.
func judge(i Identity, username string, before, after Roster) error {
	lost := before.Accounts[username] && !after.Accounts[username]
	switch {
	case lost && i.is(username):
		return apierr.New(apierr.Conflict, "you cannot delete or disable yourself, or take the management of administrators from yourself; somebody else can")
	case lost && !after.managed():
		return apierr.New(apierr.Conflict, "this is the last enabled administrator who may manage administrators; give that to another one first")
	}
	return nil
}

// covers refuses to touch an account that may do more than whoever touches it, or to make one: managing administrators would
// otherwise be a way to every permission.
func covers(i Identity, a Account) error {
	if i.Perms.Has(a.Permissions()...) {
		return nil
	}
	return apierr.New(apierr.Forbidden, "you cannot manage an administrator with permissions that you do not have yourself")
}

// present is i with the permissions that the account has now: a request that was let in may be decided after its administrator
// has been demoted, disabled or deleted. It is read after the roster, and whoever demotes writes the roster, so that a write
// that is decided from both meets neither. 401 when the session has died, 403 when it may not manage accounts any more.
func (s *Service) present(ctx context.Context, i Identity) (Identity, error) {
	if i.Via != ViaSession {
		return i, nil
	}
	_, a, err := s.o.Store.ReadAccount(ctx, i.Username)
	if err != nil {
		return i, err
	}
	if a == nil || !a.Value.Enabled || a.Value.Epoch != i.session.Epoch {
		return i, apierr.New(apierr.Unauthorized, "unauthorized")
	}
	i.Role, i.Perms = a.Value.Role, a.Value.Permissions()
	if !a.Value.manages() {
		return i, apierr.New(apierr.Forbidden, "this call needs the permission "+string(permission.AdminsManage))
	}
	return i, nil
}
