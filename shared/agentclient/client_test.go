package agentclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/agentclient/agentclienttest"
)

// broken is a store in which something fails.
type broken struct {
	Store
	save  error
	saved func(*Credentials) error // decides before save
}

func (b *broken) Save(ctx context.Context, k *Credentials) error {
	if b.saved != nil {
		if err := b.saved(k); err != nil {
			return err
		}
	}
	if b.save != nil {
		return b.save
	}
	return b.Store.Save(ctx, k)
}

func TestATokenIsRefreshedBeforeItExpires(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	old := b.stored(t)
	b.clock.Advance(14*time.Minute - time.Nanosecond)
	if access, err := b.client.AccessToken(t.Context()); err != nil || access != old.AccessToken {
		t.Errorf("refreshed too early: %v", err)
	}
	b.clock.Advance(time.Nanosecond)
	access, err := b.client.AccessToken(t.Context())
	k := b.stored(t)
	if err != nil || access == old.AccessToken || access != k.AccessToken || k.RefreshToken == old.RefreshToken || k.RefreshStarted != nil ||
		k.SessionID != old.SessionID || k.DeviceLabel != old.DeviceLabel || k.SubjectDisplay != "Yard 2" {
		t.Errorf("%v %+v", err, k)
	}
	if again, err := b.client.AccessToken(t.Context()); err != nil || again != access || len(b.hub.Asked(agentclienttest.Token)) != 1 {
		t.Errorf("%v, %d refreshes", err, len(b.hub.Asked(agentclienttest.Token)))
	}
	if body := b.hub.Asked(agentclienttest.Token)[0].Body; len(body) != 3 || body["grant_type"] != "refresh_token" {
		t.Error(body)
	}
}

// A token that lives for a moment only is not replaced at each use.
func TestAShortLifeHasAShortMargin(t *testing.T) {
	t.Parallel()
	k := (&Credentials{}).with(Tokens{AccessLife: 8 * time.Second}, time.Unix(100, 0))
	if !k.RenewAt.Equal(time.Unix(106, 0)) || !k.AccessExpiresAt.Equal(time.Unix(108, 0)) {
		t.Errorf("%+v", k)
	}
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	first := b.stored(t).AccessToken
	second, err := b.client.Renew(t.Context(), first)
	if err != nil || second == first {
		t.Error(err)
	}
	if again, err := b.client.Renew(t.Context(), first); err != nil || again != second || len(b.hub.Asked(agentclienttest.Token)) != 1 {
		t.Errorf("%v: whoever comes second takes what is there", err)
	}
}

func TestManyGoroutinesRefreshOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]Store{"file": nil, "memory": new(MemoryStore)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := loggedIn(t)
			if store != nil {
				if err := store.Save(t.Context(), b.stored(t)); err != nil {
					t.Fatal(err)
				}
				b.client.Store = store
			}
			b.clock.Advance(time.Hour)
			var wg sync.WaitGroup
			got := make([]string, 32)
			for i := range got {
				wg.Go(func() {
					var err error
					if got[i], err = b.client.AccessToken(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for _, access := range got {
				if access != got[0] {
					t.Error("two tokens")
				}
			}
			if n := len(b.hub.Asked(agentclienttest.Token)); n != 1 || b.hub.Alive() != 1 {
				t.Errorf("%d refreshes, %d sessions", n, b.hub.Alive())
			}
		})
	}
}

// What an answer to a refresh does to what is stored.
func TestAfterARefreshThatFails(t *testing.T) {
	t.Parallel()
	const same, marked, gone = "same", "marked", "gone"
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		says   error  // or
		text   string // in the error
		after  string
	}{
		"the session is unknown":       {agentclienttest.Body(400, `{"error":"invalid_grant"}`), ErrSessionEnded, "", gone},
		"the request is refused":       {agentclienttest.Body(400, `{"error":"invalid_request"}`), nil, "invalid_request", same},
		"too many requests":            {agentclienttest.Body(429, `{"message":"Too Many Requests"}`), nil, "error is a member", same},
		"something else is there":      {agentclienttest.Body(404, `<html>`), nil, "body is JSON", same},
		"a redirect":                   {redirect, nil, "does not redirect", same},
		"invalid_grant with 401":       {agentclienttest.Body(401, `{"error":"invalid_grant"}`), nil, "invalid_grant", same},
		"the hub is broken":            {agentclienttest.Body(500, `{"error":"internal"}`), nil, "internal", marked},
		"no store at the hub":          {agentclienttest.Body(503, `{"error":"agent_auth_unavailable"}`), nil, "agent_auth_unavailable", marked},
		"a proxy gives up":             {agentclienttest.Body(504, `<html>`), nil, "body is JSON", marked},
		"a time-out of the hub":        {agentclienttest.Body(408, `{"error":"timeout"}`), nil, "timeout", marked},
		"the connection ends":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "no answer", marked},
		"another status of success":    {agentclienttest.Body(201, `{}`), nil, "status of success is 200", marked},
		"an answer that breaks a rule": {agentclienttest.Body(200, `{"token_type":"Bearer"}`), nil, "access_token", marked},
		"another session":              {agentclienttest.Body(200, string(changed(t, goodTokens, change{"token_type", "Bearer", ""}))), ErrIdentityConflict, "", marked},
		"another client":               {agentclienttest.Body(200, string(changed(t, goodTokens, change{"client_app_id", "other", ""}))), ErrIdentityConflict, "", marked},
		"a session in its last second": {agentclienttest.Body(200, string(changed(t, goodTokens, change{"refresh_expires_in", 0, ""}))), nil, "refresh_expires_in", marked},
		"an answer without end":        {endless, nil, "at most 1 MiB", marked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := loggedIn(t)
			old := b.stored(t)
			b.clock.Advance(time.Hour)
			b.hub.Answer(agentclienttest.Token, tc.answer)
			_, err := b.client.AccessToken(t.Context())
			if err == nil || tc.says != nil && !is(err, tc.says) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, want %v%s", err, tc.says, tc.text)
			}
			wantNoSecret(t, err)
			k, err := b.store.Load(t.Context())
			after := gone
			switch {
			case is(err, ErrNotLoggedIn):
			case err != nil:
				t.Fatal(err)
			case k.RefreshToken != old.RefreshToken || k.AccessToken != old.AccessToken || k.SessionID != old.SessionID:
				t.Errorf("other tokens are stored: %+v", k)
			case k.RefreshStarted == nil:
				after = same
			default:
				after = marked
			}
			if after != tc.after {
				t.Errorf("what is stored is %s, want %s", after, tc.after)
			}
		})
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

func endless(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
	block := []byte(strings.Repeat(" ", 64<<10))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// A request that never left changes nothing.
func TestAHubThatCannotBeReachedCostsNothing(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	k := b.stored(t)
	k.Hub = nobody
	b.save(t, k)
	b.clock.Advance(time.Hour)
	var unsent *NetError
	if _, err := b.client.AccessToken(t.Context()); !errors.As(err, &unsent) || unsent.Sent {
		t.Error(err)
	}
	if got := b.stored(t); *got != *k {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.client.AccessToken(ctx); !is(err, context.Canceled) {
		t.Error(err)
	}
}

// The hub did not get it, or did not do it: the next try goes on with the session.
func TestAnUndecidedRefreshIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.clock.Advance(time.Hour)
	b.hub.Answer(agentclienttest.Token, agentclienttest.Body(503, `{"message":"Service Unavailable"}`))
	if _, err := b.client.AccessToken(t.Context()); err == nil {
		t.Fatal("no error")
	}
	b.hub.Answer(agentclienttest.Token, nil)
	if _, err := b.client.AccessToken(t.Context()); err != nil || b.stored(t).RefreshStarted != nil || b.hub.Alive() != 1 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
}

// The hub did it, and the answer was lost: the next try ends the session, and says what happened.
func TestAnAnswerThatIsLostLosesTheSession(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.clock.Advance(time.Hour)
	token := b.stored(t).RefreshToken
	b.hub.Answer(agentclienttest.Token, func(http.ResponseWriter, *http.Request) {
		b.hub.Serve(discard{}, agentclienttest.Token, "", map[string]any{
			"grant_type": "refresh_token", "client_app_id": agentclienttest.ClientAppID, "refresh_token": token,
		})
		panic(http.ErrAbortHandler)
	})
	var lost *NetError
	if _, err := b.client.AccessToken(t.Context()); !errors.As(err, &lost) || !lost.Sent {
		t.Error(err)
	}
	b.hub.Answer(agentclienttest.Token, nil)
	if _, err := b.client.AccessToken(t.Context()); !is(err, ErrSessionLost) || b.hub.Alive() != 0 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
	if _, err := b.client.AccessToken(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}

// discard takes an answer and sends it nowhere.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// Tokens that cannot be stored would be lost with the process: the session ends instead.
func TestTokensThatCannotBeStoredEndTheSession(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.clock.Advance(time.Hour)
	full := errors.New("the disk is full")
	b.client.Store = &broken{Store: b.store, saved: func(k *Credentials) error {
		if k.RefreshStarted == nil {
			return full
		}
		return nil
	}}
	if _, err := b.client.AccessToken(t.Context()); !is(err, ErrSessionLost) || !is(err, full) || b.hub.Alive() != 0 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
	if _, err := b.store.Load(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}

// Nothing is sent unless the store can say so.
func TestARefreshThatCannotBeNotedIsNotSent(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.clock.Advance(time.Hour)
	b.client.Store = &broken{Store: b.store, save: errors.New("the disk is full")}
	if _, err := b.client.AccessToken(t.Context()); err == nil || is(err, ErrSessionLost) || len(b.hub.Asked(agentclienttest.Token)) != 0 || b.hub.Alive() != 1 {
		t.Error(err)
	}
}

// A caller that gives up does not take the answer with it.
func TestARefreshThatIsOnItsWayIsNotGivenUp(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	old := b.stored(t)
	b.clock.Advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	b.hub.Answer(agentclienttest.Token, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		b.hub.Serve(w, agentclienttest.Token, "", map[string]any{
			"grant_type": "refresh_token", "client_app_id": agentclienttest.ClientAppID, "refresh_token": old.RefreshToken,
		})
	})
	if _, err := b.client.AccessToken(ctx); err != nil {
		t.Error(err)
	}
	if k := b.stored(t); k.RefreshToken == old.RefreshToken || k.RefreshStarted != nil {
		t.Errorf("%+v", k)
	}
}

func TestASessionThatTheHubDoesNotKnowIsForgotten(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	for _, answer := range []http.HandlerFunc{
		agentclienttest.Body(500, `{"error":"internal"}`), agentclienttest.Body(403, `{"error":"forbidden"}`), agentclienttest.Body(401, `<html>`),
		agentclienttest.Body(200, `{}`), redirect,
	} {
		b.hub.Answer(agentclienttest.Session, answer)
		if _, err := b.client.Session(t.Context()); err == nil {
			t.Error("no error")
		}
		b.stored(t) // is still there
	}
	b.hub.Answer(agentclienttest.Session, nil)
	b.hub.RevokeAll()
	if _, err := b.client.Session(t.Context()); !is(err, ErrSessionEnded) {
		t.Error(err)
	}
	if _, err := b.client.Session(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}

// A 401 for a token that somebody has replaced meanwhile says nothing about the session.
func TestARefusalOfAnOldTokenForgetsNothing(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	other := &Client{Store: NewFileStore(b.store.Name()), Clock: b.clock}
	var once sync.Once
	b.hub.Answer(agentclienttest.Session, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			if _, err := other.Renew(t.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
				t.Error(err)
			}
		})
		b.hub.Serve(w, agentclienttest.Session, r.Header.Get("Authorization"), nil)
	})
	v, err := b.client.Session(t.Context())
	if err != nil || v.SessionID != b.stored(t).SessionID || len(b.hub.Asked(agentclienttest.Session)) != 2 {
		t.Errorf("%+v %v", v, err)
	}
}

func TestASessionOfSomebodyElseIsAConflict(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	_, foreign, _ := b.hub.NewSession()
	b.hub.Answer(agentclienttest.Session, func(w http.ResponseWriter, _ *http.Request) {
		b.hub.Serve(w, agentclienttest.Session, "Bearer "+foreign, nil)
	})
	if _, err := b.client.Session(t.Context()); !is(err, ErrIdentityConflict) {
		t.Error(err)
	}
	b.stored(t)
}

func TestALogoutSendsBothTokensAndForgets(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	old := b.stored(t)
	k, err := b.client.Logout(t.Context())
	if err != nil || *k != *old || b.hub.Alive() != 0 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
	asked := b.hub.Asked(agentclienttest.Revoke)
	if len(asked) != 1 || asked[0].Header.Get("Authorization") != "Bearer "+old.AccessToken || len(asked[0].Body) != 2 ||
		asked[0].Body["refresh_token"] != old.RefreshToken || asked[0].Body["client_app_id"] != old.ClientAppID {
		t.Errorf("%+v", asked)
	}
	if _, err := b.client.Logout(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}

// After an interrupted refresh the stored access token may be nobody's; the session ends all the same.
func TestALogoutAfterAnInterruptedRefreshEndsTheSession(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	k := b.stored(t)
	b.hub.Serve(discard{}, agentclienttest.Token, "", map[string]any{
		"grant_type": "refresh_token", "client_app_id": agentclienttest.ClientAppID, "refresh_token": k.RefreshToken,
	})
	now := b.clock.Now()
	k.RefreshStarted = &now
	b.save(t, k)
	if _, err := b.client.Logout(t.Context()); err != nil || b.hub.Alive() != 0 {
		t.Errorf("%v, %d sessions", err, b.hub.Alive())
	}
}

func TestALogoutForgetsEvenWhenTheHubCannotBeTold(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.hub.Answer(agentclienttest.Revoke, agentclienttest.Body(500, `{"error":"internal"}`))
	k, err := b.client.Logout(t.Context())
	var refused *RefusedError
	if !errors.As(err, &refused) || k == nil {
		t.Error(err)
	}
	wantNoSecret(t, err)
	if _, err := b.store.Load(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}
