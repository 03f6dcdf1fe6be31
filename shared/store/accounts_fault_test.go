package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

func sessionOf(hash string) account.Session {
	return account.Session{Hash: hash, Username: "alice", Epoch: "e1", CreatedAt: start, ExpiresAt: start.Add(time.Hour)}
}

func accountOf(revision int64) account.Versioned[account.Account] {
	return account.Versioned[account.Account]{Revision: revision, Value: account.Account{Username: "alice", Epoch: "e1", PasswordHash: "h", Enabled: true}}
}

// anAdministrator arranges an account with the session "s", without an audit record, whose key would be drawn.
func anAdministrator(s *stand, t *testing.T) {
	t.Helper()
	if err := s.Accounts().OpenSession(t.Context(), sessionOf("s"), accountOf(0), true); err != nil {
		t.Fatal(err)
	}
}

// revisionOf reads the account's revision, which is drawn.
func revisionOf(ctx context.Context, s *stand) (int64, error) {
	plain := store.New(store.Options{DB: s.backend.DB, Values: nil, Prefix: prefix, Clock: s.backend.Clock})
	_, v, err := plain.Accounts().ReadAccount(ctx, "alice")
	if v == nil || err != nil {
		return 0, err
	}
	return v.Revision, nil
}

func accountWrites() []method {
	open := func(rehashed bool) func(context.Context, *stand) (any, error) {
		return func(ctx context.Context, s *stand) (any, error) {
			revision, err := revisionOf(ctx, s)
			if err != nil {
				return nil, err
			}
			a := accountOf(revision)
			if rehashed {
				a.Value.PasswordHash = "better"
			}
			return nil, s.Accounts().OpenSession(ctx, sessionOf("new"), a, rehashed)
		}
	}
	return []method{
		{name: "OpenSession", arrange: anAdministrator, again: []error{account.ErrStale}, act: open(false)},
		{name: "OpenSession, rehashed", arrange: anAdministrator, again: []error{account.ErrStale}, act: open(true)},
		{name: "ExtendSession", arrange: anAdministrator, act: func(ctx context.Context, s *stand) (any, error) {
			return s.Accounts().ExtendSession(ctx, sessionOf("s"), start.Add(2*time.Hour), start)
		}},
		{name: "CloseSession", arrange: anAdministrator, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Accounts().CloseSession(ctx, "s")
		}},
		{name: "WriteFailures", arrange: nothing, act: func(ctx context.Context, s *stand) (any, error) {
			f, won, err := s.Accounts().WriteFailures(ctx, "k", account.Failures{At: []time.Time{start}})
			return fmt.Sprint(f, won), err
		}},
	}
}

func accountReaders() []method {
	return []method{
		{name: "ReadSession", arrange: anAdministrator, reads: true, act: func(ctx context.Context, s *stand) (any, error) {
			session, a, err := s.Accounts().ReadSession(ctx, "s", "somebody")
			return fmt.Sprintf("%+v %+v", session, a), err
		}},
		{name: "ListAccounts", arrange: anAdministrator, reads: true, act: func(ctx context.Context, s *stand) (any, error) {
			return s.Accounts().ListAccounts(ctx)
		}},
	}
}

func TestNoMethodOfAccountsHalfApplies(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(accountWrites(), accountReaders()) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := m.clean(t)
			if c.requests == 0 || m.reads != reflect.DeepEqual(c.before, c.after) {
				t.Fatalf("%d requests; changed: %v", c.requests, !reflect.DeepEqual(c.before, c.after))
			}
			for n := 1; n <= c.requests; n++ {
				for name, kind := range kinds {
					s := open(t)
					m.arrange(s, t)
					m.failsOnce(t, s, c, fmt.Sprintf("request %d, %s, once", n, name), kind, n)
					s = open(t)
					m.arrange(s, t)
					m.failsForGood(t, s, c, fmt.Sprintf("request %d, %s, for good", n, name), kind, n)
				}
			}
		})
	}
}

// Everything that the accounts write is granted to the function that serves them.
func TestEveryWriteOfAccountsIsGranted(t *testing.T) {
	t.Parallel()
	s := open(t)
	i := &inner{need: map[string][]string{}, DynamoDB: s.backend.DB}
	a := store.New(store.Options{DB: i, Prefix: prefix, Clock: s.backend.Clock}).Accounts()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func() (account.Versioned[account.Roster], account.Versioned[account.Account]) {
		roster, v, err := a.ReadAccount(ctx, "alice")
		must(err)
		return roster, *v
	}
	must(a.PutAccount(ctx, accountOf(0), &account.Versioned[account.Roster]{}, registry.Change{}))
	_, v := read()
	must(a.OpenSession(ctx, sessionOf("s"), v, false))
	must(a.OpenSession(ctx, sessionOf("s2"), v, true))
	_, v = read()
	v.Value.Epoch = "e2"
	must(a.ChangePassword(ctx, v, sessionOf("s"), registry.Change{}))
	must(a.CloseSession(ctx, "s"))
	roster, v := read()
	must(a.DeleteAccount(ctx, v, roster, registry.Change{}))
	f, _ := topology.System().FunctionNamed("admin")
	i.need[topology.TableRegistry] = append(i.need[topology.TableRegistry], "dynamodb:UpdateItem", "dynamodb:PutItem", "dynamodb:BatchGetItem") // outside of transactions
	for table, actions := range i.need {
		for _, action := range actions {
			if !slices.ContainsFunc(f.Grants, func(g topology.Grant) bool {
				return g.Kind == topology.OnTable && g.Name == table && slices.Contains(g.Actions, action)
			}) {
				t.Errorf("needs %s on %s", action, table)
			}
		}
	}
	if len(i.need) != 2 {
		t.Errorf("writes to %v", i.need)
	}
}
