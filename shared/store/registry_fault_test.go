package store_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"bailing/shared/awslocal/fault"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

// configured is the commands on the registry of a stand that has a client, and a route with its target.
func configured(t *testing.T) (*stand, *registry.Service) {
	t.Helper()
	s := open(t)
	r := registry.NewService(registry.Options{
		Store: s.Store, Sealer: registrytest.Sealer{}, Random: rand.Reader, CheckURL: func(string, int) error { return nil }, Clock: s.Clock,
	})
	if err := r.SaveTarget(t.Context(), parsed(t, `{"name":"exec","kind":"executor"}`), registry.Change{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SaveRoute(t.Context(), parsed(t, `{"route_key":"desk","name":"n","target":"exec","session_policy":"new"}`), registry.Change{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SaveClient(t.Context(), parsed(t, `{"app_id":"crm","name":"n","allowed_routes":["*"]}`), registry.Change{}); err != nil {
		t.Fatal(err)
	}
	return s, r
}

// Every request of a deletion fails in every way, once and for good: the record, what is keyed by it, and the audit record go
// together, and asking again ends it.
func TestADeletionIsNeverHalfDone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rows   []string // all of them or none
		delete func(*registry.Service) error
	}{
		"client": {[]string{"registry/client#crm/", "registry/token#"}, func(r *registry.Service) error {
			return r.DeleteClient(t.Context(), "crm", registry.Change{Method: "DELETE"})
		}},
		"route": {[]string{"registry/route#desk/", "registry/routes/desk"}, func(r *registry.Service) error {
			_, err := r.DeleteRoute(t.Context(), "desk", registry.Change{Method: "DELETE"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := configured(t)
			var requests atomic.Int32
			s.inject(fault.None, func(int) bool { requests.Add(1); return false })
			if err := tc.delete(r); err != nil {
				t.Fatal(err)
			}
			for n := 1; n <= int(requests.Load()); n++ {
				for kind, k := range kinds {
					for _, forGood := range []bool{false, true} {
						s, r := configured(t)
						before := count(s.dump(t), "ledger/")
						s.inject(k, func(seq int) bool { return seq == n || forGood && seq > n })
						err := tc.delete(r)
						s.heal()
						at := fmt.Sprintf("request %d, %s, for good %v", n, kind, forGood)
						now := s.dump(t)
						left, records := 0, count(now, "ledger/")-before
						for _, prefix := range tc.rows {
							left += count(now, prefix)
						}
						switch {
						case left != 0 && left != len(tc.rows):
							t.Errorf("%s: half done", at)
						case (left == 0) != (records == 1):
							t.Errorf("%s: %d rows left and %d audit records", at, left, records)
						case err == nil && left != 0:
							t.Errorf("%s: reported as done, and not done", at)
						case err != nil && !forGood:
							t.Errorf("%s: %v", at, err)
						}
						if err := tc.delete(r); err != nil || count(s.dump(t), tc.rows[0]) != 0 {
							t.Errorf("%s: repeated: %v", at, err)
						}
					}
				}
			}
		})
	}
}

// count is how many rows of a dump begin with prefix.
func count(rows map[string]string, prefix string) (n int) {
	for name := range rows {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}
