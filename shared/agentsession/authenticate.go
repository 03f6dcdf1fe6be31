package agentsession

import (
	"context"
	"log/slog"
	"time"

	"bailing/shared/registry"
)

// seenEvery is how often a session is noted as seen at most.
const seenEvery = time.Minute

// Authenticate is who an agent is (agent §1.2): the session whose current access token bearer is, and its client, both as they are
// stored now; else 401. One trip when this process knows whose the token is, else two.
func (s *Service) Authenticate(ctx context.Context, bearer string) (*Session, *registry.Client, error) {
	if !hasShape(bearer, accessPrefix) {
		return nil, nil, unauthorized()
	}
	access := hash(bearer)
	owner, err := s.owner(ctx, access)
	if err != nil {
		return nil, nil, unavailable(unavailableAuth, err)
	}
	if owner == nil {
		return nil, nil, unauthorized()
	}
	now := s.now()
	stop := s.touch(ctx, owner.SessionID, access, now)
	session, client, err := s.Store.ReadSession(ctx, owner.SessionID, owner.ClientAppID)
	stop()
	switch {
	case err != nil:
		return nil, nil, unavailable(unavailableAuth, err)
	case session == nil || !session.admits(access, now) || !Usable(client) || session.ClientAppID != client.AppID:
		return nil, nil, unauthorized()
	}
	return session, client, nil
}

// owner is whose an access token is, from memory or by a trip; nil for nobody's.
func (s *Service) owner(ctx context.Context, access string) (*Owner, error) {
	if o, ok := s.memory.get(access); ok {
		return &o, nil
	}
	o, err := s.Store.ReadAccess(ctx, access)
	if o == nil || err != nil {
		return nil, err
	}
	s.memory.put(access, *o)
	return o, nil
}

// touch notes that a session is seen, beside the read that decides about the call: the write repeats what that read decides, but for the
// client, so that a call which is refused because of its client alone may be noted as well. stop ends it: it gets the time
// that the read takes and no more, and whatever becomes of it the call is answered. When it is cut off, the next call tries again.
func (s *Service) touch(ctx context.Context, sessionID, access string, now time.Time) (stop func()) {
	if !s.memory.due(access, now) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.Store.Touch(ctx, sessionID, access, now, now.Add(-seenEvery))
		if err == nil {
			s.memory.noted(access, now)
		} else if ctx.Err() == nil {
			s.log(ctx, slog.LevelWarn, "agent session not noted as seen", slog.String("session_id", sessionID), slog.Any("error", err))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
