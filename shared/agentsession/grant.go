package agentsession

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Token serves both grants (agent §2.7, §2.8), in their order of checks: the body and its client_app_id, the client, the
// grant and its members, the token. A member that the grant needs and that is missing is malformed: invalid_grant (D47).
func (s *Service) Token(ctx context.Context, body canonical.Value) (Tokens, error) {
	members := map[string]canonical.Value{}
	for name, m := range body.Members() {
		members[name] = m
	}
	text := func(name string) string { s, _ := textOf(members[name]); return s }
	appID := text("client_app_id")
	if members["grant_type"].Kind() != canonical.String || !textlimit.ResourceName(appID) {
		return Tokens{}, invalidRequest()
	}
	switch members["grant_type"].Text() {
	case "authorization_code":
		return s.exchange(ctx, appID, proof{
			code: text("code"), redirectURI: text("redirect_uri"), verifier: text("code_verifier"),
			refused: readBody(body, "grant_type", "client_app_id", "code", "redirect_uri", "code_verifier").err(),
		})
	case "refresh_token":
		return s.refresh(ctx, appID, text("refresh_token"), readBody(body, "grant_type", "client_app_id", "refresh_token").err())
	}
	client, _, err := s.Store.ReadCode(ctx, appID, "")
	if err != nil {
		return Tokens{}, unavailable(unavailableAuth, err)
	}
	if !Usable(client) {
		return Tokens{}, invalidGrant()
	}
	return Tokens{}, apierr.New(apierr.Invalid, "unsupported_grant_type")
}

// proof is what an agent shows for its first tokens.
type proof struct {
	code, redirectURI, verifier string
	refused                     error // what is wrong with the body
}

// holds reports whether the proof is that of the request: same client, the same address to the letter, the verifier of its
// challenge, a code that has not expired.
func (p proof) holds(a *Authorization, appID string, now time.Time) bool {
	return a != nil && a.Status == Approved && a.ClientAppID == appID && a.CodeHash == hash(p.code) &&
		a.RedirectURI == p.redirectURI && proves(p.verifier, a.Challenge) && a.CodeExpiresAt.After(now) && a.Grant.complete()
}

// exchange makes a session of an approved request (agent §2.7).
//
// Request, session, tokens and the rows of lists are one transaction, conditional on an approved request with this code. A second
// use of the code fails, beside the first or after it, and leaves the first one's session alone. One that dies before its
// transaction did nothing; after it, the session is there and nobody holds its tokens: the business sees it, and may revoke it. Three
// trips.
func (s *Service) exchange(ctx context.Context, appID string, p proof) (Tokens, error) {
	wellFormed := hasShape(p.code, codePrefix) && IsLoopback(p.redirectURI) && isVerifier(p.verifier)
	codeHash := ""
	if p.refused == nil && wellFormed {
		codeHash = hash(p.code)
	}
	client, a, err := s.Store.ReadCode(ctx, appID, codeHash)
	switch {
	case err != nil:
		return Tokens{}, unavailable(unavailableAuth, err)
	case !Usable(client):
		return Tokens{}, invalidGrant()
	case p.refused != nil:
		return Tokens{}, p.refused
	}
	now := s.now()
	if !wellFormed || !p.holds(a, appID, now) {
		return Tokens{}, invalidGrant()
	}
	tokens, err := s.drawTokens()
	if err != nil {
		return Tokens{}, err
	}
	session := &Session{
		ID: s.NewID(), AuthorizationID: a.ID, ClientAppID: appID, DeviceLabel: a.DeviceLabel, Principal: a.Grant.Principal,
		OnBehalfOf: a.Grant.OnBehalfOf, AllowedRoutes: a.Grant.Routes, Display: a.Grant.Display, CreatedAt: now,
		RefreshExpiresAt: now.Add(RefreshLife), AccessHash: hash(tokens.access), AccessExpiresAt: now.Add(AccessLife),
	}
	err = s.Store.Exchange(ctx, a, session, hash(tokens.refresh), now)
	var moved *Moved
	if errors.As(err, &moved) {
		return Tokens{}, invalidGrant()
	}
	if err != nil {
		return Tokens{}, unavailable(unavailableAuth, err)
	}
	s.log(ctx, slog.LevelInfo, "agent session began", slog.String("session_id", session.ID), slog.String("client", appID),
		slog.String("authorization_id", a.ID))
	return s.issued(session, tokens, now), nil
}

// tokenPair is an access token and a refresh token in clear text, on their way to the agent.
type tokenPair struct{ access, refresh string }

func (s *Service) drawTokens() (p tokenPair, err error) {
	if p.access, err = draw(s.Random, accessPrefix); err == nil {
		p.refresh, err = draw(s.Random, refreshPrefix)
	}
	return p, unavailable(unavailableAuth, err)
}

// issued is the answer of both grants. The hashes of what was handed out are remembered for the calls that will use it.
func (s *Service) issued(session *Session, p tokenPair, now time.Time) Tokens {
	owner := Owner{session.ID, session.ClientAppID}
	s.memory.put(hash(p.access), owner)
	s.memory.put(hash(p.refresh), owner)
	display, status := session.display()
	return Tokens{
		TokenType: "Bearer", AccessToken: p.access, ExpiresIn: int(AccessLife / time.Second), RefreshToken: p.refresh,
		RefreshExpiresIn: max(0, int64(session.RefreshExpiresAt.Sub(now)/time.Second)),
		SessionID:        session.ID, ClientAppID: session.ClientAppID, SubjectDisplay: display, SubjectDisplayStatus: status,
	}
}

// decisions bounds how often a refresh is decided: a token that was active when it was read, and is not when it is to be used,
// is not when it is read again.
const decisions = 3

// refresh rotates the tokens of a session, or detects that a refresh token is used again (agent §2.8).
//
// The old token, the new one and the session's access token change in one transaction, conditional on an active token of a session that is
// not revoked. Of any number of refreshes with one token, one is carried out; each other finds the token used, which revokes the
// session with all its tokens, those of the winner too (D26). A request for the transaction that is repeated because its answer was
// lost is not another use: it succeeds. One that dies before the transaction did nothing; after it, nobody holds the new
// tokens, and using the old one again ends the session. Beside a revocation either may be first: in the end the session is revoked.
// Two trips when this process handed the token out, else three.
func (s *Service) refresh(ctx context.Context, appID, token string, refused error) (Tokens, error) {
	tokenHash := ""
	if refused == nil && hasShape(token, refreshPrefix) {
		tokenHash = hash(token)
	}
	for range decisions {
		rows, err := s.readRefresh(ctx, appID, tokenHash)
		switch {
		case err != nil:
			return Tokens{}, unavailable(unavailableAuth, err)
		case !Usable(rows.Client):
			return Tokens{}, invalidGrant()
		case refused != nil:
			return Tokens{}, refused
		case rows.Token == nil || rows.Session == nil || rows.Session.ClientAppID != appID:
			return Tokens{}, invalidGrant()
		}
		now := s.now()
		if state := rows.Token.StateIn(rows.Session); state != TokenActive {
			return Tokens{}, s.reused(ctx, rows, state, now)
		}
		if !rows.Token.ExpiresAt.After(now) || rows.Session.StateAt(now) != SessionActive {
			return Tokens{}, invalidGrant()
		}
		answer, err := s.rotate(ctx, rows, now)
		if !errors.Is(err, ErrMoved) {
			return answer, err
		}
	}
	return Tokens{}, unavailable(unavailableAuth, ErrMoved)
}

func (s *Service) readRefresh(ctx context.Context, appID, tokenHash string) (RefreshRows, error) {
	owner, _ := s.memory.get(tokenHash)
	return s.Store.ReadRefresh(ctx, appID, tokenHash, owner.SessionID)
}

// rotate answers with new tokens; ErrMoved when somebody else was first.
func (s *Service) rotate(ctx context.Context, rows RefreshRows, now time.Time) (Tokens, error) {
	tokens, err := s.drawTokens()
	if err != nil {
		return Tokens{}, err
	}
	err = s.Store.Rotate(ctx, Rotation{
		SessionID: rows.Session.ID, ClientAppID: rows.Session.ClientAppID, Old: rows.Token.Hash, New: hash(tokens.refresh),
		OldAccess: rows.Session.AccessHash, NewAccess: hash(tokens.access), AccessExpiresAt: now.Add(AccessLife),
		ExpiresAt: rows.Session.RefreshExpiresAt, Now: now,
	})
	if errors.Is(err, ErrMoved) {
		return Tokens{}, ErrMoved
	}
	if err != nil {
		return Tokens{}, unavailable(unavailableAuth, err)
	}
	return s.issued(rows.Session, tokens, now), nil
}

// reused answers for a token that is not active: whoever presents it, somebody else may hold its successor, so the session ends
// (invariant I8). What is as it would become is not written again.
func (s *Service) reused(ctx context.Context, rows RefreshRows, state TokenState, now time.Time) error {
	if state == TokenReplayed && !rows.Session.ReusedAt.IsZero() && !rows.Session.RevokedAt.IsZero() {
		return invalidGrant()
	}
	if err := s.Store.Reuse(ctx, rows.Token.Hash, rows.Session.ID, now); err != nil {
		return unavailable(unavailableAuth, err)
	}
	what := "a refresh token was used again: agent session revoked"
	if rows.Token.State == TokenActive {
		what = "a refresh token of a revoked agent session was presented"
	}
	s.log(ctx, slog.LevelWarn, what, slog.String("session_id", rows.Session.ID),
		slog.String("client", rows.Session.ClientAppID), slog.String("token_state", string(state)))
	return invalidGrant()
}
