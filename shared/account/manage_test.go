package account_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
	"bailing/shared/permission"
)

func TestAnAccountComesBackInTheList(t *testing.T) {
	t.Parallel()
	w := setup(t)
	saved := w.add(members{"username": "Bob_1", "role": "viewer", "password": "12345678"})
	if saved != (account.Saved{Username: "bob_1"}) {
		t.Errorf("%+v", saved)
	}
	w.clock.Advance(time.Minute)
	generated := w.add(members{"username": "alice", "role": "kb_editor", "display_name": "Alice", "perms": []string{"kb:read", "*"}})
	if !regexp.MustCompile(`^[a-z2-7]{26}$`).MatchString(generated.Password) {
		t.Errorf("generated password %q", generated.Password)
	}
	if _, err := w.try("alice", generated.Password, address); err != nil {
		t.Error(err)
	}
	list, err := w.List(t.Context())
	later := accounttest.Now.Add(time.Minute)
	want := []account.View{
		{"alice", "Alice", "kb_editor", permission.Set{"kb:read", "*"}, true, later, later},
		{"bob_1", "bob_1", "viewer", nil, true, accounttest.Now, accounttest.Now},
	}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	if again := w.add(members{"username": "ALICE", "role": "admin", "password": "", "created_at": "x", "updated_at": "x"}); again.Password != "" {
		t.Error("a kept password is shown")
	}
	if _, err := w.try("alice", generated.Password, address); err != nil {
		t.Errorf("the password was not kept: %v", err)
	}
	list, err = w.List(t.Context())
	want[0] = account.View{"alice", "alice", "admin", nil, true, later, later}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatASaveRefuses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	with := func(name string, v any) members {
		m := members{"username": "alice", "role": "viewer", "password": "12345678"}
		m[name] = v
		return m
	}
	for _, c := range []struct {
		body members
		want string // "" = accepted
	}{
		{with("username", "ab"), ""},
		{with("username", "a"), "username must be 2 to 64"},
		{with("username", "A"+strings.Repeat("-", 63)), ""},
		{with("username", "a"+strings.Repeat("-", 64)), "username must be 2 to 64"},
		{with("username", "_ab"), "username must be"},
		{with("username", "a b"), "username must be"},
		{with("username", "älice"), "username must be"},
		{with("username", "alice\n"), "username must be"},
		{with("username", nil), "username is required"},
		{with("username", 7), "username must be a string"},
		{with("username", "token"), "username is reserved"},
		{with("username", "Schedule"), "username is reserved"},
		{with("username", "bootstrap"), "username is reserved"},
		{with("role", "owner"), "role must be one of admin, kb_editor, viewer"},
		{with("role", "Admin"), "role must be one of"},
		{with("role", nil), "role is required"},
		{with("display_name", strings.Repeat("n", 128)), ""},
		{with("display_name", strings.Repeat("n", 129)), "display_name is too long"},
		{with("display_name", "a\x07"), "display_name must not contain"},
		{with("password", "1234567"), "password must have at least 8"},
		{with("password", strings.Repeat("p", 1024)), ""},
		{with("password", strings.Repeat("p", 1025)), "password must have at most 1024"},
		{with("password", 12345678), "password must be a string"},
		{with("enabled", "yes"), "enabled must be true or false"},
		{with("perms", []string{}), "perms must be a list with at least one"},
		{with("perms", "*"), "perms must be a list"},
		{with("perms", []string{"runs:read", "runs:read"}), "perms must not repeat"},
		{with("perms", []string{"runs:delete"}), "perms must hold only *, projects:read"},
		{with("perms", []any{1}), "perms must hold only"},
		{with("perms", nil), ""},
		{with("password_hash", "x"), "password_hash is not a known member"},
		{with("epoch", "x"), "epoch is not a known member"},
	} {
		_, err := w.Save(t.Context(), account.ServerToken(), accounttest.Body(c.body), change)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.body, err)
		case c.want != "" && (apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(apierr.Of(err).Message, c.want)):
			t.Errorf("%v: %v, want %q", c.body, err, c.want)
		}
	}
}

func TestDeletingTwiceIsDeletingOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.add(members{"username": "bob", "role": "viewer"})
	for range 2 {
		if err := w.Delete(t.Context(), account.ServerToken(), "BOB", change); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.store.Changes()); n != 2 {
		t.Errorf("%d audit records", n)
	}
	for _, name := range []string{"", "a", "no name"} {
		w.wantCode(name, w.Delete(t.Context(), account.ServerToken(), name, change), apierr.Invalid)
	}
}

// Somebody is always in charge, and nobody locks themselves out.
func TestTheLastManagerStays(t *testing.T) {
	t.Parallel()
	const last, self = "last enabled administrator", "yourself"
	type step struct {
		as, what string // as "" is the server token
		body     members
		want     string // "" = done
	}
	save := func(as, name, role string, more members) step {
		m := members{"username": name, "role": role}
		for k, v := range more {
			m[k] = v
		}
		return step{as, "save", m, ""}
	}
	refused := func(s step, want string) step { s.want = want; return s }
	remove := func(as, name string) step { return step{as, "delete", members{"username": name}, ""} }
	for rule, c := range map[string]struct {
		managers []string
		steps    []step
	}{
		"the token deletes the last one":     {[]string{"alice"}, []step{refused(remove("", "alice"), last)}},
		"the token demotes the last one":     {[]string{"alice"}, []step{refused(save("", "alice", "viewer", nil), last)}},
		"the token disables the last one":    {[]string{"alice"}, []step{refused(save("", "alice", "admin", members{"enabled": false}), last)}},
		"permissions count, not the role":    {[]string{"alice"}, []step{refused(save("", "alice", "admin", members{"perms": []string{"runs:read"}}), last), save("", "alice", "viewer", members{"perms": []string{"admins:manage"}})}},
		"a disabled manager is none":         {[]string{"alice"}, []step{save("", "bob", "admin", members{"enabled": false}), refused(remove("", "alice"), last), save("", "bob", "admin", nil), remove("", "alice")}},
		"a manager deletes another":          {[]string{"alice", "bob"}, []step{remove("alice", "bob"), refused(remove("alice", "alice"), self)}},
		"a manager demotes another":          {[]string{"alice", "bob"}, []step{save("alice", "bob", "viewer", nil)}},
		"nobody deletes themselves":          {[]string{"alice", "bob"}, []step{refused(remove("alice", "Alice"), self)}},
		"nobody demotes themselves":          {[]string{"alice", "bob"}, []step{refused(save("alice", "alice", "viewer", nil), self)}},
		"nobody disables themselves":         {[]string{"alice", "bob"}, []step{refused(save("alice", "alice", "admin", members{"enabled": false}), self)}},
		"one may rename oneself":             {[]string{"alice"}, []step{save("alice", "alice", "admin", members{"display_name": "A"})}},
		"one may keep only the management":   {[]string{"alice"}, []step{save("alice", "alice", "viewer", members{"perms": []string{"admins:manage"}})}},
		"who manages nothing may be deleted": {[]string{"alice"}, []step{save("", "bob", "viewer", nil), remove("alice", "bob")}},
	} {
		w := setup(t)
		ids := map[string]account.Identity{"": account.ServerToken()}
		for _, name := range c.managers {
			w.admin(name)
			ids[name] = w.as(name)
		}
		for n, s := range c.steps {
			var err error
			if s.what == "delete" {
				err = w.Delete(t.Context(), ids[s.as], s.body["username"].(string), change)
			} else {
				_, err = w.Save(t.Context(), ids[s.as], accounttest.Body(s.body), change)
			}
			if s.want == "" && err != nil || s.want != "" && (apierr.CodeOf(err) != apierr.Conflict || !strings.Contains(err.Error(), s.want)) {
				t.Errorf("%s, step %d: %v, want %q", rule, n+1, err, s.want)
			}
		}
	}
}

func TestNobodyGivesOrTakesWhatTheyDoNotHave(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("root")
	w.add(members{"username": "clerk", "role": "viewer", "perms": []string{"admins:manage", "runs:read"}, "password": "password of clerk"})
	w.add(members{"username": "other", "role": "kb_editor"})
	w.add(members{"username": "peer", "role": "viewer"})
	clerk := w.as("clerk")
	save := func(m members) error {
		_, err := w.Save(t.Context(), clerk, accounttest.Body(m), change)
		return err
	}
	for what, err := range map[string]error{
		"an administrator":                  save(members{"username": "new", "role": "admin"}),
		"everything for oneself":            save(members{"username": "clerk", "role": "admin"}),
		"another permission":                save(members{"username": "new", "role": "viewer", "perms": []string{"runs:write"}}),
		"the password of somebody above":    save(members{"username": "root", "role": "viewer", "password": "12345678"}),
		"the password of somebody else":     save(members{"username": "other", "role": "viewer", "password": "12345678"}),
		"disabling somebody with more":      save(members{"username": "other", "role": "kb_editor", "enabled": false}),
		"deleting somebody with more":       w.Delete(t.Context(), clerk, "other", change),
		"deleting the last manager but one": w.Delete(t.Context(), clerk, "root", change),
	} {
		w.wantCode(what, err, apierr.Forbidden)
	}
	for what, err := range map[string]error{
		"a viewer":              save(members{"username": "new", "role": "viewer"}),
		"the same permissions":  save(members{"username": "twin", "role": "viewer", "perms": []string{"runs:read", "admins:manage"}}),
		"a password of a peer":  save(members{"username": "peer", "role": "viewer", "password": "12345678"}),
		"deleting a peer's own": w.Delete(t.Context(), clerk, "absent", change),
	} {
		w.wantCode(what, err, "")
	}
}

func TestThereAreAtMostFiveHundredAccounts(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for n := range account.MaxAccounts {
		w.add(members{"username": fmt.Sprintf("user-%d", n), "role": "viewer", "password": "12345678"})
	}
	_, err := w.Save(t.Context(), account.ServerToken(), accounttest.Body(members{"username": "one-more", "role": "viewer"}), change)
	w.wantCode("one more", err, apierr.Conflict)
	w.add(members{"username": "user-0", "role": "admin"})
	if err := w.Delete(t.Context(), account.ServerToken(), "user-1", change); err != nil {
		t.Fatal(err)
	}
	w.add(members{"username": "one-more", "role": "viewer"})
}

func TestTheServerTokenIsNoAccount(t *testing.T) {
	t.Parallel()
	i := account.ServerToken()
	if i.Username != "(token)" || i.By() != "token" || i.Via != "token" || i.Role != "admin" || !i.Perms.Has("*") {
		t.Errorf("%+v", i)
	}
	if _, ok := account.Normalize(i.Username); ok {
		t.Error("an account may have its name")
	}
}
