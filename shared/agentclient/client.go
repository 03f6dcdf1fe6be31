package agentclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bailing/shared/clock"
)

// maxMargin is how long before its end an access token is replaced; a quarter of its life when that is shorter.
const maxMargin = time.Minute

// Client keeps one session in a store and its tokens fresh. It is safe for concurrent use, beside others on the same store.
type Client struct {
	Store Store
	Hub   HubOptions
	Clock clock.Clock // nil is the machine's own
}

func (c *Client) now() time.Time {
	if c.Clock == nil {
		return time.Now().UTC()
	}
	return c.Clock.Now()
}

// AccessToken returns a token to send as `Authorization: Bearer`, refreshed when the stored one is about to expire. Errors beside
// those of the network: [ErrNotLoggedIn], [ErrSessionEnded], [ErrSessionLost], [ErrIdentityConflict].
func (c *Client) AccessToken(ctx context.Context) (string, error) {
	got, err := c.fresh(ctx, func(k *Credentials) bool { return c.now().Before(k.RenewAt) })
	if err != nil {
		return "", err
	}
	return got.AccessToken, nil
}

// Renew returns an access token that is not the one that a hub refused with 401: the stored one if somebody else has renewed it
// already, else a new one.
func (c *Client) Renew(ctx context.Context, refused string) (string, error) {
	got, err := c.fresh(ctx, func(k *Credentials) bool { return k.AccessToken != refused && c.now().Before(k.RenewAt) })
	if err != nil {
		return "", err
	}
	return got.AccessToken, nil
}

// fresh returns the stored credentials if they are good, else refreshes them under the lock, unless they have become good meanwhile.
func (c *Client) fresh(ctx context.Context, good func(*Credentials) bool) (*Credentials, error) {
	kept, err := c.Store.Load(ctx)
	if err != nil || good(kept) {
		return kept, err
	}
	err = c.locked(ctx, func() error {
		if kept, err = c.Store.Load(ctx); err != nil || good(kept) {
			return err
		}
		kept, err = c.refresh(ctx, kept)
		return err
	})
	return kept, err
}

// locked runs f with the lock of the store.
func (c *Client) locked(ctx context.Context, f func() error) (err error) {
	unlock, err := c.Store.Lock(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the stored session: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return f()
}

// refresh uses the refresh token. The caller has the lock. What it leaves in the store, and when, is described in the package comment.
//
// Once the token is on its way the caller's context does not end the work: a request that is given up may still be carried out,
// and would leave a session that nobody has the tokens of. The time-out of the hub ends it.
func (c *Client) refresh(ctx context.Context, old *Credentials) (*Credentials, error) {
	hub, err := NewHub(old.Hub, c.Hub)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	started := c.now()
	sent := old.clone()
	sent.RefreshStarted = &started
	if err := c.Store.Save(ctx, sent); err != nil {
		return nil, fmt.Errorf("the session cannot be stored, and is not refreshed: %w", err)
	}
	t, err := hub.Refresh(ctx, old.ClientAppID, old.RefreshToken)
	switch {
	case err == nil && t.SessionID != old.SessionID:
		return nil, fmt.Errorf("%w: session_id has changed", ErrIdentityConflict)
	case err == nil:
		k := old.with(t, started)
		if err := c.keep(ctx, hub, k); err != nil {
			return nil, errors.Join(ErrSessionLost, err, c.Store.Delete(ctx))
		}
		return k, nil
	case refusedWith(err, http.StatusBadRequest, "invalid_grant"):
		ended := ErrSessionEnded
		if old.RefreshStarted != nil {
			ended = ErrSessionLost
		}
		return nil, errors.Join(ended, c.Store.Delete(ctx))
	case !undecided(err):
		return nil, errors.Join(err, c.Store.Save(ctx, old)) // as it was: this attempt did nothing
	}
	return nil, err
}

// keep stores tokens that nobody else has. If they cannot be stored the session ends, for no later process could go on with it.
func (c *Client) keep(ctx context.Context, hub *Hub, k *Credentials) error {
	err := c.Store.Save(ctx, k)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("the tokens cannot be stored: %w", err), hub.Revoke(ctx, k.ClientAppID, k.AccessToken, k.RefreshToken))
}

// with is the session with new tokens. Lifetimes count from before the request, so that what is taken for good is good.
func (k *Credentials) with(t Tokens, asked time.Time) *Credentials {
	n := k.clone()
	n.SessionID, n.SubjectDisplay = t.SessionID, t.SubjectDisplay
	n.AccessToken, n.RefreshToken, n.RefreshStarted = t.Access, t.Refresh, nil
	n.AccessExpiresAt = asked.Add(t.AccessLife)
	n.RenewAt = n.AccessExpiresAt.Add(-min(maxMargin, t.AccessLife/4))
	n.RefreshExpiresAt = asked.Add(t.RefreshLife)
	return n
}

// Session asks the hub about the session. When the hub does not know it (401), what is stored is deleted, unless it has changed
// meanwhile (agent §13.2); every other failure leaves it.
func (c *Client) Session(ctx context.Context) (SessionView, error) {
	for {
		used, err := c.fresh(ctx, func(k *Credentials) bool { return c.now().Before(k.RenewAt) })
		if err != nil {
			return SessionView{}, err
		}
		hub, err := NewHub(used.Hub, c.Hub)
		if err != nil {
			return SessionView{}, err
		}
		view, err := hub.Session(ctx, used.AccessToken)
		switch {
		case err == nil && (view.SessionID != used.SessionID || view.ClientAppID != used.ClientAppID):
			return SessionView{}, ErrIdentityConflict
		case !refusedWith(err, http.StatusUnauthorized, ""):
			return view, err
		}
		changed := false
		err = c.locked(ctx, func() error {
			now, err := c.Store.Load(ctx)
			if err != nil {
				return err
			}
			if changed = now.AccessToken != used.AccessToken; changed {
				return nil
			}
			return errors.Join(ErrSessionEnded, c.Store.Delete(ctx))
		})
		if !changed {
			return SessionView{}, cmp.Or(err, ErrSessionEnded)
		}
	}
}

// Logout ends the session at the hub and forgets it here, and returns what it was. It is forgotten also when the hub could not be
// told, which the error says; the session then ends by itself, or by the business's hand.
func (c *Client) Logout(ctx context.Context) (*Credentials, error) {
	var kept *Credentials
	err := c.locked(ctx, func() error {
		k, err := c.Store.Load(ctx)
		if err != nil {
			return err
		}
		kept = k
		return errors.Join(c.revoke(ctx, k), c.Store.Delete(context.WithoutCancel(ctx)))
	})
	return kept, err
}

// revoke tells the hub that a session is over. Both tokens go together; the hub goes by the access token then. After an interrupted
// refresh that may not be the session's own any more, so that the refresh token goes once more, alone.
func (c *Client) revoke(ctx context.Context, k *Credentials) error {
	hub, err := NewHub(k.Hub, c.Hub)
	if err != nil {
		return err
	}
	err = hub.Revoke(ctx, k.ClientAppID, k.AccessToken, k.RefreshToken)
	if refusedWith(err, http.StatusUnauthorized, "") || err == nil && k.RefreshStarted != nil {
		err = hub.Revoke(ctx, k.ClientAppID, "", k.RefreshToken)
	}
	return err
}
