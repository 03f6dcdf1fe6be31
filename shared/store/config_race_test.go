package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// sameTokenRow checks that the row of a client's token says what the client says.
func sameTokenRow(t *testing.T, b *registryBundle, appID string) registry.Client {
	t.Helper()
	client := b.partition(t, "registry", "client#"+appID)
	if len(client) != 1 {
		t.Fatalf("%d rows of the client %s", len(client), appID)
	}
	v, err := b.Clients().Get(t.Context(), appID)
	if err != nil {
		t.Fatal(err)
	}
	token := b.partition(t, "registry", "token#"+v.Value.TokenHash)
	if len(token) != 1 || attribute(token[0], "doc") != attribute(client[0], "doc") {
		t.Fatalf("client %s\ntoken  %v", attribute(client[0], "doc"), token)
	}
	return v.Value
}

// 200 rounds: a rotation, which says nothing about revisions, beside a setup. The setup is never lost half, the old token is dead, and
// there is one token row, equal to the client.
func TestARotationBesideASetupLosesNothing(t *testing.T) {
	t.Parallel()
	b, s := administeredOn(t)
	by := registry.Change{By: "ada", Method: "POST", Path: "clients"}
	const rotate = `{"app_id":"crm","name":"CRM","allowed_routes":["a1"],"rotate_token":%t}`
	saved, err := s.SaveClient(t.Context(), parsed(t, rotate, false), by)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 200 {
		before, err := s.ClientSetup(t.Context(), "crm")
		if err != nil {
			t.Fatal(err)
		}
		url := fmt.Sprintf("https://crm.example/%d", round)
		setup := parsed(t, `{"expected_revision":%q,"enabled":true,"agent_authorize_url":%q,"allowed_routes":["a1","b1"]}`, before.Revision, url)
		var rotated registry.ClientSaved
		var rotation, conflict error
		var wg sync.WaitGroup
		wg.Go(func() { rotated, rotation = s.SaveClient(t.Context(), parsed(t, rotate, true), by) })
		wg.Go(func() { _, conflict = s.SaveClientSetup(t.Context(), "crm", setup, by) })
		wg.Wait()
		if rotation != nil || conflict != nil && apierr.CodeOf(conflict) != apierr.Conflict {
			t.Fatalf("round %d: %v, %v", round, rotation, conflict)
		}
		now := sameTokenRow(t, b, "crm")
		if now.TokenHash != registry.TokenHash(rotated.Token) || rotated.Token == saved.Token {
			t.Fatalf("round %d: the new token is not the client's", round)
		}
		if old, err := b.Token(t.Context(), registry.TokenHash(saved.Token)); err != nil || old != nil {
			t.Fatalf("round %d: the old token still authenticates %v, %v", round, old, err)
		}
		set := now.AgentAuthorizeURL == url && len(now.AllowedRoutes) == 2
		if replaced := now.AgentAuthorizeURL == "" && len(now.AllowedRoutes) == 1; !set && !replaced {
			t.Fatalf("round %d: half a change: %+v", round, now)
		}
		saved = rotated
	}
}

// A client is deleted while it is saved or set up: afterwards there is a client with its token row, or neither.
func TestADeletionOfAClientBesideItsSavesLeavesNoTokenBehind(t *testing.T) {
	t.Parallel()
	b, s := administeredOn(t)
	by := registry.Change{By: "ada", Method: "POST", Path: "clients"}
	for round := range 100 {
		saved, err := s.SaveClient(t.Context(), parsed(t, `{"app_id":"crm","name":"CRM","allowed_routes":["a1"]}`), by)
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.ClientSetup(t.Context(), "crm")
		if err != nil {
			t.Fatal(err)
		}
		tokens := []string{saved.Token}
		var again registry.ClientSaved
		var save, set, gone error
		var wg sync.WaitGroup
		wg.Go(func() {
			again, save = s.SaveClient(t.Context(), parsed(t,
				`{"app_id":"crm","name":"CRM","allowed_routes":["a1"],"rotate_token":true}`), by)
		})
		wg.Go(func() {
			_, set = s.SaveClientSetup(t.Context(), "crm", parsed(t,
				`{"expected_revision":%q,"enabled":true,"agent_authorize_url":null,"allowed_routes":["b1"]}`, before.Revision), by)
		})
		wg.Go(func() { gone = s.DeleteClient(t.Context(), "crm", by) })
		wg.Wait()
		if save != nil || gone != nil {
			t.Fatalf("round %d: %v, %v", round, save, gone)
		}
		if code := apierr.CodeOf(set); set != nil && code != apierr.NotFound && code != apierr.Conflict {
			t.Fatalf("round %d: setup %v", round, set)
		}
		tokens = append(tokens, again.Token)
		live := 0
		for _, token := range tokens {
			row, err := b.Token(t.Context(), registry.TokenHash(token))
			if err != nil {
				t.Fatal(err)
			}
			if row != nil {
				live++
			}
		}
		v, err := b.Clients().Get(t.Context(), "crm")
		if err != nil || (v == nil) != (live == 0) || live > 1 {
			t.Fatalf("round %d: client %v, %d live tokens, %v", round, v, live, err)
		}
		if v != nil {
			sameTokenRow(t, b, "crm")
		}
	}
}

// A provider is deleted while a setup attaches it, and a credential while a route is moved to it: one of the two is refused.
func TestADeletionBesideWhatWouldReferToItLeavesNoDanglingReference(t *testing.T) {
	t.Parallel()
	_, s := administeredOn(t)
	by := registry.Change{By: "ada", Method: "PUT", Path: "routes"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const (
		credential = `{"name":%q,"base_url":"https://m.example/v1","api_key":"k"}`
		route      = `{"route_key":"desk","name":"Desk","target":"llm","target_config":{"credential":%q},"session_policy":"new"}`
	)
	must(s.SaveCredential(t.Context(), parsed(t, credential, "keep"), by))
	for round := range 100 {
		if _, err := s.SaveRoute(t.Context(), parsed(t, route, "keep"), by); err != nil {
			t.Fatal(err)
		}
		_, err := s.SaveProvider(t.Context(), parsed(t, `{"name":"shop","base_url":"https://biz.example","secret":"s"}`), by)
		must(err)
		must(s.SaveCredential(t.Context(), parsed(t, credential, "next"), by))
		before, err := s.RouteSetup(t.Context(), "desk")
		must(err)
		var attached, moved, gone, lost error
		var wg sync.WaitGroup
		wg.Go(func() {
			if round%2 == 0 {
				_, attached = s.SaveRouteSetup(t.Context(), "desk", parsed(t, `{"expected_revision":%q,"agent_client":null,
					"tool_sources":[{"provider":"shop","allow":["*"]}],"agent_direct":null}`, before.Revision), by)
			}
		})
		wg.Go(func() {
			if round%2 == 1 {
				_, moved = s.SaveRoute(t.Context(), parsed(t, route, "next"), by)
			}
		})
		wg.Go(func() { gone = s.DeleteProvider(t.Context(), "shop", by) })
		wg.Go(func() { lost = s.DeleteCredential(t.Context(), "next", by) })
		wg.Wait()
		for _, pair := range [][2]error{{attached, gone}, {moved, lost}} {
			write, removal := pair[0], pair[1]
			refused := apierr.CodeOf(write) == apierr.Invalid && strings.HasPrefix(apierr.Of(write).Message, "unknown ")
			kept := apierr.CodeOf(removal) == apierr.Conflict
			if !(write == nil || refused && removal == nil) || !(removal == nil || kept && write == nil) {
				t.Fatalf("round %d: write %v, deletion %v", round, write, removal)
			}
		}
		list, err := s.ListRoutes(t.Context())
		must(err)
		uses := list[0].Tools != nil
		if round%2 == 0 && uses != (attached == nil) || uses && gone == nil {
			t.Fatalf("round %d: %+v, write %v, deletion %v", round, list[0].Tools, attached, gone)
		}
		if strings.Contains(string(list[0].TargetConfig), "next") && lost == nil {
			t.Fatalf("round %d: the credential of %s is gone", round, list[0].TargetConfig)
		}
		_, err = s.DeleteRoute(t.Context(), "desk", by)
		must(err)
		must(s.DeleteProvider(t.Context(), "shop", by))
		must(s.DeleteCredential(t.Context(), "next", by))
	}
}
