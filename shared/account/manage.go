package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/permission"
	"bailing/shared/registry"
)

// maxName is the length of a display name, in characters.
const maxName = 128

// View is an account as lists show it.
type View struct {
	Username    string          `json:"username"`
	DisplayName string          `json:"display_name"`
	Role        permission.Role `json:"role"`
	Perms       permission.Set  `json:"perms,omitempty"` // only when they replace those of the role
	Enabled     bool            `json:"enabled"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
}

// List returns every account by name.
func (s *Service) List(ctx context.Context) ([]View, error) {
	accounts, err := s.o.Store.ListAccounts(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]View, 0, len(accounts))
	for _, a := range accounts {
		out = append(out, View{a.Username, a.DisplayName, a.Role, a.Perms, a.Enabled, a.CreatedAt, a.UpdatedAt})
	}
	return out, nil
}

// Saved is the answer to a saved account.
type Saved struct {
	Username string
	Password string // generated, in clear text this once; "" when one was given or kept
}

type saveRequest struct {
	account  Account
	password string // "" keeps the stored one, or generates one
}

func decodeSave(v canonical.Value) (saveRequest, error) {
	b := readBody(v)
	username := b.required("username")
	name, ok := Normalize(username)
	switch {
	case !ok:
		b.fail("username", usernameRule)
	case slices.Contains(reserved, name):
		b.fail("username", "is reserved: audit records use it for something else")
	}
	r := saveRequest{password: b.text("password"), account: Account{
		Username: name, DisplayName: b.label("display_name", maxName), Enabled: b.boolean("enabled", true),
		Role: permission.Role(b.required("role")), Perms: b.perms("perms"),
	}}
	if r.account.DisplayName == "" {
		r.account.DisplayName = name
	}
	if !slices.Contains(permission.Roles(), r.account.Role) {
		b.fail("role", fmt.Sprintf("must be one of %s", join(permission.Roles())))
	}
	if rule := CheckPassword(r.password); r.password != "" && rule != "" {
		b.fail("password", rule)
	}
	b.readOnly("created_at", "updated_at")
	return r, b.done()
}

// perms is an optional list of permissions.
func (b *body) perms(name string) permission.Set {
	v, ok := b.get(name)
	if !ok {
		return nil
	}
	if v.Kind() != canonical.Array || v.Len() == 0 {
		b.fail(name, "must be a list with at least one permission; leave it out for those of the role")
		return nil
	}
	var out permission.Set
	for _, e := range v.Elems() {
		p := permission.Permission(e.Text())
		switch {
		case e.Kind() != canonical.String || !permission.Known(p):
			b.fail(name, fmt.Sprintf("must hold only %s", join(permission.Vocabulary())))
			return nil
		case slices.Contains(out, p):
			b.fail(name, "must not repeat an entry")
			return nil
		}
		out = append(out, p)
	}
	return out
}

func join[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// Save creates or replaces an account (core §10.1): {username, role, password?, display_name?, perms?, enabled?} in body. Without a
// password an existing account keeps its own, and a new one gets a generated one, which is answered this once. A new password
// and disabling end the account's sessions with the same write.
//
// 409 for what would leave nobody who may manage administrators, or take that from oneself; 403 for an account with
// permissions that i does not have. It is decided from what i may do when it is written, not when the request came: 401 when the
// session has died meanwhile. Saved twice, an account is as after the first time, but for a password that the first has
// generated and nobody has read: save it again with one.
func (s *Service) Save(ctx context.Context, i Identity, v canonical.Value, c registry.Change) (Saved, error) {
	r, err := decodeSave(v)
	if err != nil {
		return Saved{}, err
	}
	if r.password != "" {
		if r.account.PasswordHash, err = s.o.Cost.hash(r.password, s.o.Random); err != nil {
			return Saved{}, err
		}
	}
	var saved Saved
	err = attempt(func() error {
		saved, err = s.save(ctx, i, r, c)
		return err
	})
	if err != nil {
		return Saved{}, err
	}
	return saved, nil
}

func (s *Service) save(ctx context.Context, i Identity, r saveRequest, c registry.Change) (saved Saved, err error) {
	a := r.account
	roster, stored, err := s.o.Store.ReadAccount(ctx, a.Username)
	if err != nil {
		return Saved{}, err
	}
	if i, err = s.present(ctx, i); err != nil {
		return Saved{}, err
	}
	after := roster.Value.with(a.Username, a.manages())
	if stored == nil {
		stored = &Versioned[Account]{}
		if len(after.Accounts) > MaxAccounts {
			return Saved{}, apierr.Newf(apierr.Conflict, "there are %d administrators, which is the most", MaxAccounts)
		}
	} else if err := covers(i, stored.Value); err != nil {
		return Saved{}, err
	}
	if err := covers(i, a); err != nil {
		return Saved{}, err
	}
	if err := judge(i, a.Username, roster.Value, after); err != nil {
		return Saved{}, err
	}
	c = s.stamp(c)
	saved.Username = a.Username
	if saved.Password, err = s.complete(&a, stored.Value, c.At); err != nil {
		return Saved{}, err
	}
	roster.Value = after // written also when it says the same: whoever acts by what this account was must notice
	return saved, s.o.Store.PutAccount(ctx, Versioned[Account]{Value: a, Revision: stored.Revision}, &roster, c)
}

// complete gives a the members that a request does not choose, and returns a generated password.
func (s *Service) complete(a *Account, stored Account, now time.Time) (generated string, err error) {
	a.CreatedAt, a.UpdatedAt, a.Epoch = stored.CreatedAt, now, stored.Epoch
	if stored.Username == "" {
		a.CreatedAt = now
	}
	fresh := a.PasswordHash != ""
	switch {
	case fresh:
	case stored.Username != "":
		a.PasswordHash = stored.PasswordHash
	default:
		if generated, err = generate(s.o.Random); err != nil {
			return "", err
		}
		if a.PasswordHash, err = s.o.Cost.hash(generated, s.o.Random); err != nil {
			return "", err
		}
	}
	if fresh || stored.Username == "" || stored.Enabled && !a.Enabled {
		a.Epoch, err = s.newEpoch()
	}
	return generated, err
}

// Delete removes an account, and with it its sessions. It does nothing for one that does not exist, so it may run twice. 409 and 403
// as for [Service.Save], 400 for what is no user name.
func (s *Service) Delete(ctx context.Context, i Identity, username string, c registry.Change) error {
	name, ok := Normalize(username)
	if !ok {
		return apierr.New(apierr.Invalid, "username "+usernameRule)
	}
	return attempt(func() error {
		roster, stored, err := s.o.Store.ReadAccount(ctx, name)
		if stored == nil || err != nil {
			return err
		}
		i, err := s.present(ctx, i)
		if err != nil {
			return err
		}
		after := roster.Value.without(name)
		if i.is(name) {
			return apierr.New(apierr.Conflict, "you cannot delete yourself; somebody else can")
		}
		if err := covers(i, stored.Value); err != nil {
			return err
		}
		if err := judge(i, name, roster.Value, after); err != nil {
			return err
		}
		roster.Value = after
		return s.o.Store.DeleteAccount(ctx, *stored, roster, s.stamp(c))
	})
}
