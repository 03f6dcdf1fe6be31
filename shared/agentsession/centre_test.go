package agentsession_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

// manySessions holds n sessions of every client, each a second older than the one before.
type manySessions struct {
	n     int
	asked int // sessions that were read
	noted []registry.Change
}

var centreNow = time.Date(2099, 7, 1, 12, 0, 0, 0, time.UTC)

func (m *manySessions) ListSessions(_ context.Context, f agentsession.Filter, after agentsession.Position, n int) (list []*agentsession.Session, examined agentsession.Position, more bool, err error) {
	first := 0
	if after.SessionID != "" {
		first = int(centreNow.Sub(after.CreatedAt)/time.Second) + 1
	}
	for i := first; i < m.n && len(list) < n; i++ {
		s := &agentsession.Session{ID: fmt.Sprintf("%s-%06d", f.ClientAppID, i), ClientAppID: f.ClientAppID, CreatedAt: centreNow.Add(-time.Duration(i) * time.Second), RefreshExpiresAt: centreNow.Add(time.Hour)}
		list, examined = append(list, s), agentsession.Position{CreatedAt: s.CreatedAt, SessionID: s.ID}
	}
	m.asked += len(list)
	return list, examined, first+len(list) < m.n, nil
}

func (m *manySessions) RevokeNoted(_ context.Context, id string, _ time.Time, c registry.Change) (found, already bool, err error) {
	m.noted = append(m.noted, c)
	return id == "there", false, nil
}

func newCentre(m *manySessions) *agentsession.Centre {
	return &agentsession.Centre{Store: m, Clock: clock.NewManual(centreNow), Logger: slog.New(slog.DiscardHandler)}
}

// One call looks at 5000 sessions at most, shared among the clients, and says when there are more.
func TestTheCentreLooksAtABoundedNumberOfSessions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule             string
		clients, n       int
		total            int
		truncated, first bool
	}{
		{"at the limit", 1, 5000, 5000, false, true}, {"past the limit", 1, 5001, 5000, true, true},
		{"shared by two, at the limit", 2, 2500, 5000, false, true}, {"shared by two, past it", 2, 2501, 5000, true, true},
		{"shared by 300, each with its 20", 300, 21, 6000, true, true}, {"shared by 300, with all there are", 300, 20, 6000, false, true}, {"no sessions", 3, 0, 0, false, false},
	} {
		m := &manySessions{n: tc.n}
		var clients []string
		for i := range tc.clients {
			clients = append(clients, fmt.Sprintf("client-%03d", i))
		}
		page, err := newCentre(m).List(t.Context(), clients, agentsession.CentreQuery{Limit: 1})
		if err != nil || page.Total != tc.total || page.Truncated != tc.truncated || m.asked != tc.total {
			t.Errorf("%s: %d of %d, truncated %v, %v", tc.rule, page.Total, m.asked, page.Truncated, err)
		}
		if want := fmt.Sprintf("client-%03d-000000", tc.clients-1); tc.first && (len(page.List) != 1 || page.List[0].SessionID != want) {
			t.Errorf("%s: first %+v, want %s: newest first, then by id", tc.rule, page.List, want)
		}
	}
	page, err := newCentre(&manySessions{n: 201}).List(t.Context(), nil, agentsession.CentreQuery{Limit: 10})
	if err != nil || page.Total != 0 || page.List == nil {
		t.Errorf("of no client: %+v, %v", page, err)
	}
}

func TestTheCentreShowsAtMost200(t *testing.T) {
	t.Parallel()
	c := newCentre(&manySessions{n: 300})
	for limit, want := range map[int]int{-1: 1, 0: 1, 199: 199, 200: 200, 201: 200} {
		if page, err := c.List(t.Context(), []string{"a"}, agentsession.CentreQuery{Limit: limit}); err != nil || len(page.List) != want || page.Total != 300 {
			t.Errorf("%d: %d of %d, %v", limit, len(page.List), page.Total, err)
		}
	}
}

func TestTheCentreKnowsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	m := &manySessions{}
	if _, err := newCentre(m).Revoke(t.Context(), "gone", registry.Change{By: "ann"}); apierr.CodeOf(err) != apierr.NotFound {
		t.Errorf("err = %v", err)
	}
	if _, err := newCentre(m).Revoke(t.Context(), "there", registry.Change{By: "ann"}); err != nil || m.noted[1].Event != "agent_session_admin_revoked" || !m.noted[1].At.Equal(centreNow) {
		t.Errorf("%+v, %v", m.noted, err)
	}
}
