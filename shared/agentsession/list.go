package agentsession

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

const (
	defaultPage = 20
	maxPage     = 100
	// examineMax bounds how many sessions one call looks at, whatever its filters let through: a page may then be short.
	examineMax = 1000
)

// listQuery is a checked query of agent §2.12.
type listQuery struct {
	filter          Filter
	authorizationID *string
	state           *string
	limit           int
	after           Position
}

// parseList reads a query: every parameter at most once, no unknown ones.
func parseList(appID, rawQuery string) (q listQuery, err error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return q, invalidRequest()
	}
	q = listQuery{filter: Filter{ClientAppID: appID}, limit: defaultPage}
	good, cursor := true, ""
	for name, v := range values {
		if len(v) != 1 {
			return q, invalidRequest()
		}
		value := v[0]
		switch name {
		case "authorization_id":
			id, ok := textlimit.NormalizeUUID(value)
			q.authorizationID, good = &id, good && ok
		case "on_behalf_of":
			q.filter.OnBehalfOf, good = &value, good && isIdentity(value, 1, maxOnBehalfOf)
		case "principal_id":
			q.filter.PrincipalID, good = &value, good && isIdentity(value, 1, maxPrincipal)
		case "tenant":
			q.filter.Tenant, good = &value, good && isIdentity(value, 0, maxTenant)
		case "state":
			s := SessionState(value)
			q.state, good = &value, good && (s == SessionActive || s == SessionExpired || s == SessionRevoked)
		case "limit":
			n, err := strconv.ParseUint(value, 10, 8)
			q.limit, good = int(n), good && err == nil && n >= 1 && n <= maxPage && value[0] != '0' && value[0] != '+'
		case "cursor":
			cursor, good = value, good && value != ""
		default:
			good = false
		}
	}
	if !good || q.filter.PrincipalID != nil && q.filter.Tenant == nil {
		return q, invalidRequest()
	}
	if cursor != "" {
		if q.after, err = parseCursor(cursor, q.binding()); err != nil {
			return q, invalidRequest()
		}
	}
	return q, nil
}

// isIdentity reports whether s can be the value of an identity filter: no white space at its ends, no control characters.
func isIdentity(s string, min, max int) bool {
	return utf8.ValidString(s) && textlimit.Trim(s) == s && textlimit.Fits(s, max) && textlimit.Len(s) >= min &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7F })
}

// List shows sessions of the client, newest first (agent §2.12). The identity filters have an order of their own in the store; what they
// leave is looked through for the state, at most examineMax sessions a call. Two trips for each 100 sessions.
func (s *Service) List(ctx context.Context, client *registry.Client, rawQuery string) (ListPage, error) {
	q, err := parseList(client.AppID, rawQuery)
	if err != nil {
		return ListPage{}, err
	}
	var page ListPage
	if q.authorizationID != nil {
		page, err = s.listOne(ctx, q)
	} else {
		page, err = s.listMany(ctx, q)
	}
	return page, unavailable(unavailableLifecycle, err)
}

// lets reports whether a session passes the filters.
func (q listQuery) lets(s *Session, state SessionState) bool {
	same := func(want *string, got string) bool { return want == nil || *want == got }
	f := q.filter
	return s.ClientAppID == f.ClientAppID && same(f.OnBehalfOf, s.OnBehalfOf) && same(f.PrincipalID, s.Principal.ID) &&
		same(f.Tenant, s.Principal.Tenant) && same(q.authorizationID, s.AuthorizationID) && same(q.state, string(state))
}

// listOne is the list of the one session that a request led to. Two trips.
func (s *Service) listOne(ctx context.Context, q listQuery) (ListPage, error) {
	page := ListPage{List: []SessionItem{}}
	a, err := s.Store.ReadAuthorization(ctx, *q.authorizationID)
	if err != nil || a == nil || a.ClientAppID != q.filter.ClientAppID || a.SessionID == "" {
		return page, err
	}
	session, _, err := s.Store.ReadSession(ctx, a.SessionID, "")
	if err != nil || session == nil {
		return page, err
	}
	now := s.now()
	if q.lets(session, session.StateAt(now)) && q.after.before(session.position()) {
		page.List = append(page.List, session.item(now))
	}
	return page, nil
}

func (s *Service) listMany(ctx context.Context, q listQuery) (ListPage, error) {
	page, now := ListPage{List: []SessionItem{}}, s.now()
	next := func(p Position) (ListPage, error) {
		c := formatCursor(p, q.binding())
		page.NextCursor = &c
		return page, nil
	}
	at := q.after
	for examined := 0; examined < examineMax; {
		n := min(maxPage, examineMax-examined)
		if examined == 0 && q.state == nil {
			n = min(n, q.limit+1) // most filters leave whole lists; one more tells whether there is a next page
		}
		list, last, more, err := s.Store.ListSessions(ctx, q.filter, at, n)
		if err != nil {
			return ListPage{}, err
		}
		for _, session := range list {
			if !q.lets(session, session.StateAt(now)) {
				continue
			}
			if len(page.List) == q.limit {
				return next(page.List[q.limit-1].position())
			}
			page.List = append(page.List, session.item(now))
		}
		if !more {
			return page, nil
		}
		at, examined = last, examined+n
	}
	return next(at)
}
