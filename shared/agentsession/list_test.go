package agentsession_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

func (w *world) list(query string) (agentsession.ListPage, error) {
	return w.List(w.t.Context(), w.own(), query)
}

// ids are the sessions of a page, which must be there.
func (w *world) ids(query string) (ids []string) {
	w.t.Helper()
	page, err := w.list(query)
	if err != nil {
		w.t.Errorf("%s: %v", query, err)
	}
	for _, s := range page.List {
		ids = append(ids, s.SessionID)
	}
	return ids
}

// pages walks through a list to its end.
func (w *world) pages(query string) (pages [][]string) {
	w.t.Helper()
	cursor := ""
	for {
		page, err := w.list(strings.TrimPrefix(query+cursor, "&"))
		if err != nil {
			w.t.Fatalf("%s%s: %v", query, cursor, err)
		}
		ids := []string{}
		for _, s := range page.List {
			ids = append(ids, s.SessionID)
		}
		pages = append(pages, ids)
		if page.NextCursor == nil {
			return pages
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

// Every rule of agent §2.12 about the query.
func TestListRefusesQueriesThatBreakARule(t *testing.T) {
	t.Parallel()
	w := open(t)
	for query, good := range map[string]bool{
		"":        true,
		"limit=1": true, "limit=100": true, "limit=0": false, "limit=101": false, "limit=01": false, "limit=+1": false, "limit=": false, "limit=1&limit=1": false, "limit=-1": false, "limit=x": false, "limit=1.0": false,
		"x=1": false, "state=active": true, "state=expired": true, "state=revoked": true, "state=Active": false, "state=": false, "state=pending": false,
		"authorization_id=B2F0C1DE-5A77-4C0E-9B61-6B1F2F0A9D10": true, "authorization_id=x": false, "authorization_id=": false,
		"on_behalf_of=" + long(191): true, "on_behalf_of=" + long(192): false, "on_behalf_of=": false, "on_behalf_of=+a": false, "on_behalf_of=a%C2%A0": false, "on_behalf_of=a%01b": false, "on_behalf_of=a%7Fb": false, "on_behalf_of=a%09b": false, "on_behalf_of=a+b": true, "on_behalf_of=%ff": false,
		"principal_id=a": false, "principal_id=a&tenant=": true, "principal_id=a&tenant=t": true, "principal_id=&tenant=t": false, "principal_id=" + long(128) + "&tenant=": true, "principal_id=" + long(129) + "&tenant=": false,
		"tenant=": true, "tenant=" + long(128): true, "tenant=" + long(129): false, "tenant=a&tenant=a": false, "tenant=a%20": false,
		"cursor=": false, "cursor=x": false, "cursor=a%3D": false, "cursor=" + long(2048): false, "%zz": false, "limit=1;x=2": false,
	} {
		_, err := w.list(query)
		if good && err != nil {
			t.Errorf("%q: %v", query, err)
		} else if !good {
			wantCode(t, query, err, 400, "invalid_request")
		}
	}
}

func TestTheSessionAsItsBusinessSeesIt(t *testing.T) {
	t.Parallel()
	w := open(t)
	if page, err := w.list(""); err != nil || len(page.List) != 0 || page.NextCursor != nil {
		t.Errorf("%+v, %v", page, err)
	}
	tokens, id := w.loginAs(approval)
	shown := func() string {
		page, err := w.list("")
		must(t, err)
		b, err := json.Marshal(page)
		must(t, err)
		return string(b)
	}
	want := func(state, more string) string {
		return `{"list":[{"session_id":"` + tokens.SessionID + `","authorization_id":"` + id + `","client_app_id":"depot-agent",` +
			`"device_label":"Yard laptop 3","subject_display":{"name":"Yard 2"},"subject_display_status":"provided",` +
			`"principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],` +
			`"state":"` + state + `","created_at":"2026-11-30T08:00:00.000Z","expires_at":"2026-12-30T08:00:00.000Z"` + more + `}],"next_cursor":null}`
	}
	if got := shown(); got != want("active", "") {
		t.Errorf("%s, want %s", got, want("active", ""))
	}
	w.seen(w.Service, tokens.AccessToken, tokens.SessionID)
	must(t, w.RevokeSession(t.Context(), w.own(), tokens.SessionID))
	if got, want := shown(), want("revoked", `,"last_seen_at":"2026-11-30T08:00:00.000Z","revoked_at":"2026-11-30T08:00:00.000Z"`); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// population is sessions of different people, newest first.
func (w *world) population() (all []agentsession.SessionItem) {
	w.t.Helper()
	person := func(id, tenant, behalf string) {
		p := members{"id": id, "roles": []string{}}
		if tenant != "" {
			p["tenant"] = tenant
		}
		w.loginAs(approval.with("principal", p).with("on_behalf_of", behalf))
	}
	for n := range 3 {
		person("ann", "yard-1", "yard-1:ann")
		person("ann", "yard-2", "yard-2:ann")
		person("bob", "yard-1", "yard-1:bob")
		person("ann", "", "ann")
		if n > 0 {
			w.clock.Advance(time.Second) // the first eight are of one moment
		}
	}
	page, err := w.list("limit=100")
	must(w.t, err)
	return page.List
}

func TestListIsNewestFirstAndNarrowedByEveryFilter(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID = "other" })
	all := w.population()
	if len(all) != 12 || !slices.IsSortedFunc(all, func(a, b agentsession.SessionItem) int {
		if a.CreatedAt != b.CreatedAt {
			return -1 * compare(a.CreatedAt, b.CreatedAt)
		}
		return -1 * compare(a.SessionID, b.SessionID)
	}) {
		t.Fatalf("%d sessions: %+v", len(all), all)
	}
	revoked := all[3]
	must(t, w.RevokeSession(t.Context(), w.own(), revoked.SessionID))
	ids := func(keep func(agentsession.SessionItem) bool) (ids []string) {
		for _, s := range all {
			if keep(s) {
				ids = append(ids, s.SessionID)
			}
		}
		return ids
	}
	for query, keep := range map[string]func(agentsession.SessionItem) bool{
		"limit=100":                                  func(agentsession.SessionItem) bool { return true },
		"tenant=yard-1":                              func(s agentsession.SessionItem) bool { return s.Principal.Tenant == "yard-1" },
		"tenant=":                                    func(s agentsession.SessionItem) bool { return s.Principal.Tenant == "" },
		"tenant=Yard-1":                              func(agentsession.SessionItem) bool { return false },
		"on_behalf_of=yard-2%3Aann":                  func(s agentsession.SessionItem) bool { return s.OnBehalfOf == "yard-2:ann" },
		"principal_id=ann&tenant=yard-1":             func(s agentsession.SessionItem) bool { return s.OnBehalfOf == "yard-1:ann" },
		"principal_id=ann&tenant=":                   func(s agentsession.SessionItem) bool { return s.OnBehalfOf == "ann" },
		"on_behalf_of=ann&tenant=yard-1":             func(agentsession.SessionItem) bool { return false },
		"on_behalf_of=ann&tenant=&principal_id=ann":  func(s agentsession.SessionItem) bool { return s.OnBehalfOf == "ann" },
		"on_behalf_of=ann&tenant=&principal_id=bob":  func(agentsession.SessionItem) bool { return false },
		"state=active":                               func(s agentsession.SessionItem) bool { return s.SessionID != revoked.SessionID },
		"state=revoked":                              func(s agentsession.SessionItem) bool { return s.SessionID == revoked.SessionID },
		"state=expired":                              func(agentsession.SessionItem) bool { return false },
		"authorization_id=" + all[5].AuthorizationID: func(s agentsession.SessionItem) bool { return s.SessionID == all[5].SessionID },
		"state=active&authorization_id=" + revoked.AuthorizationID:                                                           func(agentsession.SessionItem) bool { return false },
		"state=revoked&authorization_id=" + revoked.AuthorizationID + "&on_behalf_of=" + url.QueryEscape(revoked.OnBehalfOf): func(s agentsession.SessionItem) bool { return s.SessionID == revoked.SessionID },
		"authorization_id=b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10":                                                              func(agentsession.SessionItem) bool { return false },
	} {
		if got, want := w.ids(query), ids(keep); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
		if query == "limit=100" {
			continue
		}
		if got := slices.Concat(w.pages(query + "&limit=1")...); !slices.Equal(got, ids(keep)) {
			t.Errorf("%s one by one: %v", query, got)
		}
	}
	if pages := w.pages("limit=5"); len(pages) != 3 || len(pages[0]) != 5 || len(pages[1]) != 5 || len(pages[2]) != 2 || !slices.Equal(slices.Concat(pages...), w.ids("limit=100")) {
		t.Errorf("%v", pages)
	}
	if pages := w.pages("limit=12"); len(pages) != 1 {
		t.Errorf("a page that ends the list names another: %v", pages)
	}
	if pages := w.pages("state=active&limit=11"); len(pages) != 1 {
		t.Errorf("a filtered page that ends the list names another: %v", pages)
	}
	other, err := w.store.Clients().Get(t.Context(), "other")
	must(t, err)
	for _, query := range []string{"", "tenant=yard-1", "on_behalf_of=ann", "authorization_id=" + all[0].AuthorizationID} {
		if page, err := w.List(t.Context(), &other.Value, query); err != nil || len(page.List) != 0 || page.NextCursor != nil {
			t.Errorf("another client sees %+v, %v", page, err)
		}
	}
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestTwentyIsTheDefaultPage(t *testing.T) {
	t.Parallel()
	w := open(t)
	for range 21 {
		w.login()
	}
	if pages := w.pages(""); len(pages) != 2 || len(pages[0]) != 20 || len(pages[1]) != 1 {
		t.Errorf("%v", pages)
	}
}

// A cursor is good for any limit, and for no other filters and no other client.
func TestACursorIsBoundToItsList(t *testing.T) {
	t.Parallel()
	w := open(t)
	other := w.client(func(c *registry.Client) { c.AppID = "other" })
	all := w.population()
	for _, query := range []string{"", "&tenant=yard-1", "&on_behalf_of=ann", "&tenant=yard-1&principal_id=ann", "&state=active", "&on_behalf_of=ann&state=active"} {
		page, err := w.list("limit=1" + query)
		must(t, err)
		cursor := "&cursor=" + *page.NextCursor
		for _, limit := range []string{"", "limit=1", "limit=100"} {
			if got := w.ids(limit + query + cursor); len(got) == 0 || got[0] == page.List[0].SessionID {
				t.Errorf("%s%s: %v", limit, query, got)
			}
		}
		for _, foreign := range []string{"", "&tenant=", "&tenant=yard-1", "&on_behalf_of=ann", "&tenant=yard-1&principal_id=ann", "&state=active", "&state=revoked", "&on_behalf_of=ann&state=active", "&authorization_id=" + all[0].AuthorizationID} {
			if foreign != query {
				_, err := w.list("limit=1" + foreign + cursor)
				wantCode(t, foreign+" with a cursor of "+query, err, 400, "invalid_request")
			}
		}
		_, err = w.List(t.Context(), other, "limit=1"+query+cursor)
		wantCode(t, "another client with a cursor of "+query, err, 400, "invalid_request")
	}
}

// crowd is a store with many sessions, of which one is revoked.
type crowd struct {
	agentsession.Store
	size, revoked int
	looked        *int // at how many sessions
}

func (c crowd) ListSessions(_ context.Context, f agentsession.Filter, after agentsession.Position, n int) (list []*agentsession.Session, at agentsession.Position, more bool, err error) {
	from := 0
	if after.SessionID != "" {
		from = int(start.Sub(after.CreatedAt)/time.Second) + 1
	}
	for i := from; i < min(from+n, c.size); i++ {
		s := &agentsession.Session{
			ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), ClientAppID: f.ClientAppID, CreatedAt: start.Add(-time.Duration(i) * time.Second),
			RefreshExpiresAt: start.Add(time.Hour),
		}
		if i == c.revoked {
			s.RevokedAt = start
		}
		list, at = append(list, s), agentsession.Position{CreatedAt: s.CreatedAt, SessionID: s.ID}
	}
	*c.looked += len(list)
	return list, at, from+n < c.size, nil
}

// A filter that lets little through ends a call after a bounded number of sessions, with a cursor to go on from.
func TestAListLooksAtABoundedNumberOfSessions(t *testing.T) {
	t.Parallel()
	const bound = 1000
	for revoked, want := range map[int][]int{bound - 1: {1, 0}, bound: {0, 1}, 2*bound + 500: {0, 0, 1}} {
		looked := 0
		s := &agentsession.Service{Store: crowd{size: revoked + 1, revoked: revoked, looked: &looked}, Clock: clock.NewManual(start)}
		if revoked == bound-1 {
			s.Store = crowd{size: revoked + 2, revoked: revoked, looked: &looked}
		}
		cursor, pages := "", []int{}
		for {
			looked = 0
			page, err := s.List(t.Context(), &registry.Client{AppID: "depot-agent"}, "state=revoked"+cursor)
			must(t, err)
			pages = append(pages, len(page.List))
			if looked > bound {
				t.Errorf("one call looked at %d sessions", looked)
			}
			if page.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + *page.NextCursor
		}
		if !slices.Equal(pages, want) {
			t.Errorf("revoked at %d: pages of %v, want %v", revoked, pages, want)
		}
	}
}
