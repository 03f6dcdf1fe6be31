package store_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

// administered is the commands on a registry over a DynamoDB of its own.
func administered(t *testing.T) *registry.Service {
	t.Helper()
	_, s := administeredOn(t)
	return s
}

// administeredOn also returns the store below.
func administeredOn(t *testing.T) (*registryBundle, *registry.Service) {
	t.Helper()
	b := openRegistry(t)
	return b, registry.NewService(registry.Options{
		Store: b, Sealer: registrytest.Sealer{}, Random: rand.Reader, CheckURL: func(string, int) error { return nil },
	})
}

func parsed(t *testing.T, format string, args ...any) canonical.Value {
	t.Helper()
	v, err := canonical.Parse(fmt.Appendf(nil, format, args...), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOfTwoAdministratorsOneSavesARevision(t *testing.T) {
	t.Parallel()
	s := administered(t)
	by := registry.Change{By: "ada", Method: "POST", Path: "routes"}
	if err := s.SaveTarget(t.Context(), parsed(t, `{"name":"exec","kind":"executor"}`), by); err != nil {
		t.Fatal(err)
	}
	const route = `{"route_key":"desk","name":%q,"description":%q,"target":"exec","session_policy":"new","expected_revision":%q}`
	revision := ""
	for round := range 200 {
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			text := fmt.Sprintf("%d/%d", round, i)
			v := parsed(t, route, text, text, revision)
			wg.Go(func() { _, errs[i] = s.SaveRoute(t.Context(), v, by) })
		}
		wg.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		if errs[won] != nil || apierr.CodeOf(errs[1-won]) != apierr.Conflict {
			t.Fatalf("round %d: %v, want one conflict", round, errs)
		}
		list, err := s.ListRoutes(t.Context())
		if want := fmt.Sprintf("%d/%d", round, won); err != nil || len(list) != 1 || list[0].Name != want || list[0].Description != want {
			t.Fatalf("round %d: %+v, %v; want %s", round, list, err, want)
		}
		revision = list[0].Revision
	}
}

func TestADeletionAndARouteNeverBothSucceed(t *testing.T) {
	t.Parallel()
	s := administered(t)
	by := registry.Change{By: "ada", Method: "POST", Path: "routes"}
	route := parsed(t, `{"route_key":"desk","name":"Desk","target":"exec","session_policy":"new"}`)
	for round := range 50 {
		if err := s.SaveTarget(t.Context(), parsed(t, `{"name":"exec","kind":"executor"}`), by); err != nil {
			t.Fatal(err)
		}
		var saved, deleted error
		var wg sync.WaitGroup
		wg.Go(func() { _, saved = s.SaveRoute(t.Context(), route, by) })
		wg.Go(func() { deleted = s.DeleteTarget(t.Context(), "exec", by) })
		wg.Wait()
		refused := apierr.CodeOf(saved) == apierr.Invalid && strings.HasPrefix(apierr.Of(saved).Message, "unknown target")
		if !(saved == nil && apierr.CodeOf(deleted) == apierr.Conflict) && !(deleted == nil && refused) {
			t.Fatalf("round %d: save %v, deletion %v", round, saved, deleted)
		}
		if _, err := s.DeleteRoute(t.Context(), "desk", by); err != nil {
			t.Fatal(err)
		}
	}
}
