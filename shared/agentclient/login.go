package agentclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bailing/shared/textlimit"
)

// maxLockWait is how long a login waits for the lock of the store: others hold it for a few requests at most.
const maxLockWait = time.Minute

// LoginOptions say who asks for consent, and for what.
type LoginOptions struct {
	Hub         string   // address of the hub
	ClientAppID string   // the client of the hub that the business runs
	Routes      []string // 1 to 64
	DeviceLabel string   // what the person knows this machine by, 1 to 128 characters
	// Timeout bounds the wait for the person; 0 is as long as the hub waits.
	Timeout time.Duration
	// Show brings the person to the business's page. It is called once, and must not wait for the person.
	Show func(Authorization) error
}

// check refuses what the hub would refuse.
func (o *LoginOptions) check() error {
	if !textlimit.ResourceName(o.ClientAppID) {
		return errors.New("the client is no name of a client: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit")
	}
	if len(o.Routes) < 1 || len(o.Routes) > maxRoutes {
		return fmt.Errorf("a login is for 1 to %d routes", maxRoutes)
	}
	for i, route := range o.Routes {
		if !textlimit.AgentRoute(route) {
			return fmt.Errorf("%.80q is no name of a route: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit, and not auto", route)
		}
		if slices.Contains(o.Routes[:i], route) {
			return fmt.Errorf("the route %s is named twice", route)
		}
	}
	if textlimit.Trim(o.DeviceLabel) != o.DeviceLabel || !plainText(o.DeviceLabel, maxDevice) {
		return fmt.Errorf("the device has a label of 1 to %d characters, without spaces at its ends", maxDevice)
	}
	if o.Show == nil {
		return errors.New("nobody would see the address to open")
	}
	return nil
}

// Login opens a session: it asks the hub, shows the person where to consent, waits for the browser, and stores the tokens. A session
// that was stored before is revoked afterwards. Errors beside those of the network: [ErrDenied], [ErrLoginExpired],
// [ErrIdentityConflict].
//
// When err is nil, stale says why the session before could not be revoked, if so; it is forgotten here in any case.
func (c *Client) Login(ctx context.Context, o LoginOptions) (k *Credentials, stale, err error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	hub, err := NewHub(o.Hub, c.Hub)
	if err != nil {
		return nil, nil, err
	}
	k, err = c.consent(ctx, hub, o)
	if err != nil {
		return nil, nil, err
	}
	ctx = context.WithoutCancel(ctx) // there is a session now, which is stored or ended
	before, err := c.replace(ctx, hub, k)
	if err != nil {
		return nil, nil, err
	}
	if before != nil && before.SessionID != k.SessionID {
		stale = c.revoke(ctx, before)
	}
	return k, stale, nil
}

// replace stores a new session and returns the one before, if any; one that cannot be read is none.
func (c *Client) replace(ctx context.Context, hub *Hub, k *Credentials) (before *Credentials, err error) {
	waiting, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	unlock, err := c.Store.Lock(waiting)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the tokens cannot be stored: %w", err), hub.Revoke(ctx, k.ClientAppID, k.AccessToken, k.RefreshToken))
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if before, err = c.Store.Load(ctx); err != nil {
		before = nil
	}
	return before, c.keep(ctx, hub, k)
}

// consent gets the tokens of a new session.
func (c *Client) consent(ctx context.Context, hub *Hub, o LoginOptions) (*Credentials, error) {
	state, verifier := newSecret(), newSecret()
	l, err := listen(state)
	if err != nil {
		return nil, err
	}
	defer l.close()
	a, err := hub.CreateAuthorization(ctx, AuthorizationRequest{
		ClientAppID: o.ClientAppID, RedirectURI: l.redirectURI(), State: state, Routes: o.Routes, DeviceLabel: o.DeviceLabel,
		Challenge: challengeOf(verifier), ChallengeMethod: "S256",
	})
	if err != nil {
		return nil, err
	}
	if err := o.Show(a); err != nil {
		return nil, err
	}
	wait := a.ExpiresIn
	if o.Timeout > 0 {
		wait = min(wait, o.Timeout)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	got, err := l.wait(waiting)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err() // a code that came dies unused
	case err != nil:
		return nil, ErrLoginExpired
	case got.err != nil:
		return nil, got.err
	}
	asked := c.now()
	// A code that is on its way makes a session, whether somebody still waits or not.
	t, err := hub.Exchange(context.WithoutCancel(ctx), o.ClientAppID, got.code, l.redirectURI(), verifier)
	if err != nil {
		return nil, err
	}
	k := &Credentials{Hub: hub.URL(), ClientAppID: o.ClientAppID, DeviceLabel: o.DeviceLabel}
	return k.with(t, asked), nil
}
