package store_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/clock"
	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

func TestAccountsConform(t *testing.T) {
	t.Parallel()
	accounttest.Run(t, func(t *testing.T) account.Store { return openRegistry(t).Accounts() })
}

// countedReads counts the trips that read.
type countedReads struct {
	store.DynamoDB
	n atomic.Int32
}

func (c *countedReads) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	c.n.Add(1)
	return c.DynamoDB.BatchGetItem(ctx, in, o...)
}

// accountWorld is a service over a database of its own, with one administrator.
type accountWorld struct {
	*account.Service
	*registryBundle
	reads *countedReads
	clock *clock.Manual
}

func openAccounts(t *testing.T) *accountWorld {
	t.Helper()
	w := &accountWorld{registryBundle: openRegistry(t), clock: clock.NewManual(saveTime)}
	w.reads = &countedReads{DynamoDB: w.db}
	s := store.New(store.Options{DB: w.reads, Values: w.values, Prefix: registryPrefix, Clock: w.clock})
	w.Service = account.NewService(account.Options{Store: s.Accounts(), Random: rand.Reader, Cost: accounttest.Cheap, Clock: w.clock})
	_, err := w.Save(t.Context(), account.ServerToken(), accounttest.Body(map[string]any{
		"username": "alice", "role": "admin", "password": "alices password",
	}), registry.Change{By: "token", Method: "POST", Path: "admins"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *accountWorld) login(t *testing.T) string {
	t.Helper()
	in, err := w.Login(t.Context(), accounttest.Body(map[string]any{"username": "alice", "password": "alices password"}), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return in.Token
}

// Architecture §7: session authentication is one trip, and one more when this process has not seen the session.
func TestASessionIsAuthenticatedInOneTrip(t *testing.T) {
	t.Parallel()
	w := openAccounts(t)
	token := w.login(t)
	cold := account.NewService(account.Options{Store: store.New(store.Options{DB: w.reads, Values: w.values, Prefix: registryPrefix}).Accounts(), Clock: w.clock})
	for _, c := range []struct {
		what string
		s    *account.Service
		want int32
	}{{"after the login", w.Service, 1}, {"cold", cold, 2}, {"warm", cold, 1}} {
		w.reads.n.Store(0)
		live, err := c.s.Authenticate(t.Context(), token)
		if err != nil || live == nil || w.reads.n.Load() != c.want {
			t.Errorf("%s: %+v, %v, %d trips, want %d", c.what, live, err, w.reads.n.Load(), c.want)
		}
	}
}

func TestALoginReadsInOneTrip(t *testing.T) {
	t.Parallel()
	w := openAccounts(t)
	w.reads.n.Store(0)
	w.login(t)
	if n := w.reads.n.Load(); n != 1 {
		t.Errorf("%d trips", n)
	}
}

// Rows that may vanish have a ttl, in seconds, after they have lost their meaning; the others have none.
func TestOnlyRowsOfSessionsAndAttemptsExpire(t *testing.T) {
	t.Parallel()
	w := openAccounts(t)
	token := w.login(t)
	if _, err := w.Login(t.Context(), accounttest.Body(map[string]any{"username": "alice", "password": "wrong password"}), "192.0.2.1"); err == nil {
		t.Fatal("a wrong password is right")
	}
	seen := map[string]bool{}
	for _, it := range w.all(t, topology.TableRegistry) {
		kind, rest, _ := strings.Cut(attribute(it, "pk"), "#")
		seen[kind] = true
		ttl, _ := strconv.ParseInt(attribute(it, "ttl"), 10, 64)
		var from time.Time
		switch kind {
		case "session":
			from = saveTime.Add(account.SessionLife)
		case "attempts":
			from = saveTime.Add(account.FailureWindow)
		default:
			if ttl != 0 {
				t.Errorf("%s expires", attribute(it, "pk"))
			}
			continue
		}
		if ttl < from.Unix() || ttl > from.Add(25*time.Hour).Unix() {
			t.Errorf("%s expires at %d", kind, ttl)
		}
		if len(rest) != 64 || it["gk"] != nil {
			t.Errorf("row %v", it)
		}
	}
	if !seen["session"] || !seen["attempts"] || !seen["admin"] || !seen["system"] {
		t.Errorf("rows %v", seen)
	}
	w.clock.Advance(2 * time.Hour)
	if live, err := w.Authenticate(t.Context(), token); err != nil || !live.Renewed {
		t.Fatalf("%+v, %v", live, err)
	}
	for _, it := range w.all(t, topology.TableRegistry) {
		if strings.HasPrefix(attribute(it, "pk"), "session#") {
			until := strconv.FormatInt(saveTime.Add(2*time.Hour+account.SessionLife).UnixMilli(), 10)
			ttl, _ := strconv.ParseInt(attribute(it, "ttl"), 10, 64)
			if attribute(it, "until") != until || ttl <= saveTime.Add(2*time.Hour+account.SessionLife).Unix() {
				t.Errorf("a renewed session ends at %s and expires at %d", attribute(it, "until"), ttl)
			}
		}
	}
}

// all reads every item of a table.
func (b *registryBundle) all(t *testing.T, table string) []map[string]types.AttributeValue {
	t.Helper()
	name := registryPrefix + table
	out, err := b.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return out.Items
}

// I10: what a database holds opens nothing.
func TestNoRowHoldsATokenOrAPassword(t *testing.T) {
	t.Parallel()
	w := openAccounts(t)
	token := w.login(t)
	_, err := w.Login(t.Context(), accounttest.Body(map[string]any{"username": "typed into the wrong field", "password": "canary password"}), "192.0.2.77")
	if err == nil {
		t.Fatal("a login of nobody")
	}
	live, err := w.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	change := registry.Change{By: live.By(), Method: "POST", Path: "password"}
	body := accounttest.Body(map[string]any{"old_password": "alices password", "new_password": "canary password"})
	if err := w.ChangePassword(t.Context(), live.Identity, body, "192.0.2.1", change); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, table := range []string{topology.TableRegistry, topology.TableLedger} {
		for _, it := range w.all(t, table) {
			for name := range it {
				rows.WriteString(attribute(it, name) + "\n")
			}
			if list, ok := it["at"].(*types.AttributeValueMemberL); ok {
				for _, e := range list.Value {
					rows.WriteString(e.(*types.AttributeValueMemberS).Value + "\n")
				}
			}
		}
	}
	for _, secret := range []string{token, "alices password", "canary password", "typed into", "192.0.2."} {
		if strings.Contains(rows.String(), secret) {
			t.Errorf("a row holds %q", secret)
		}
	}
	var records []string // of one moment, so in no order
	for _, it := range w.partition(t, topology.TableLedger, "system#config") {
		records = append(records, attribute(it, "by")+" "+attribute(it, "path"))
	}
	if len(records) != 2 || !slices.Contains(records, "alice password") {
		t.Errorf("audit records %q", records)
	}
}
