package registry

import (
	"context"
	"fmt"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// defaultClientRate is the rate limit of a client that sets none, in calls per minute (core §10.4).
const defaultClientRate = 60

// maxName is the length of a display name, in characters (core §10.4).
const maxName = 128

// ClientView is a client as lists show it.
type ClientView struct {
	AppID           string   `json:"app_id"`
	Name            string   `json:"name"`
	Token           string   `json:"token"` // masked
	AllowedRoutes   []string `json:"allowed_routes"`
	AllowedChannels []string `json:"allowed_channels"`
	RateLimitPerMin int      `json:"rate_limit_per_min"`
	Enabled         bool     `json:"enabled"`
	AuthorizeURL    string   `json:"agent_authorize_url,omitempty"`
	Budget          *Budget  `json:"budget,omitempty"`
	Description     string   `json:"description,omitempty"`
	Revision        string   `json:"revision"`
}

// ClientSaved is the answer to a saved client.
type ClientSaved struct {
	AppID string
	Token string // in clear text, every time (core §10.3)
}

type clientRequest struct {
	client   Client
	rotate   bool
	mask     string // a token sent back from a list; it must be the stored one's mask
	expected expectation
}

func (s *Service) decodeClient(body canonical.Value) (clientRequest, error) {
	o := readObject(body, "", s.o.CheckURL)
	r := clientRequest{client: Client{
		AppID:           o.text("app_id", 0),
		Name:            o.name("name", maxName),
		AllowedRoutes:   o.strings("allowed_routes"),
		AllowedChannels: o.strings("allowed_channels"),
		RateLimitPerMin: o.integer("rate_limit_per_min", defaultClientRate, 0, maxCount),
		Enabled:         o.boolean("enabled", true),
		Description:     o.text("description", 0),
	}}
	c := &r.client
	c.AgentAuthorizeURL = o.authorizeURL("agent_authorize_url")
	c.Budget = o.budget("budget")
	if o.err == nil && c.AppID != "" {
		c.AppID = o.resourceName("app_id")
	}
	o.allowedRoutes("allowed_routes", c.AllowedRoutes)
	if c.AllowedChannels == nil {
		c.AllowedChannels = []string{}
	}
	for _, name := range c.AllowedChannels {
		if name != "*" && !textlimit.ResourceName(name) {
			o.fail("allowed_channels", `must hold channel names, or only "*"`)
		}
	}
	o.wildcardAlone("allowed_channels", c.AllowedChannels)
	r.rotate = o.boolean("rotate_token", false)
	r.mask = o.text("token", 0)
	r.expected = o.expectation()
	o.readOnly("last_used_at")
	return r, o.done()
}

// allowedRoutes checks the routes that a client may use: at least one, "*" alone or not at all.
func (o *object) allowedRoutes(name string, list []string) {
	if len(list) == 0 {
		o.fail(name, `must have at least one entry; ["*"] allows every route`)
	}
	for _, key := range list {
		if key != "*" && !textlimit.RouteKey(key) {
			o.fail(name, `must hold route keys, or only "*"`)
		}
	}
	o.wildcardAlone(name, list)
}

func (o *object) wildcardAlone(name string, list []string) {
	if len(list) > 1 && slices.Contains(list, "*") {
		o.fail(name, `must hold "*" alone or not at all`)
	}
}

// SaveClient creates or replaces a client. It keeps its token unless rotation is asked for; a new token works, and the old
// one is dead, with the same write.
func (s *Service) SaveClient(ctx context.Context, body canonical.Value, c Change) (ClientSaved, error) {
	r, err := s.decodeClient(body)
	if err != nil {
		return ClientSaved{}, err
	}
	var saved ClientSaved
	err = attempt(func() error {
		saved, err = s.saveClient(ctx, r, c)
		return err
	})
	if err != nil {
		return ClientSaved{}, err
	}
	return saved, nil
}

func (s *Service) saveClient(ctx context.Context, r clientRequest, c Change) (ClientSaved, error) {
	client := r.client
	generated := client.AppID == ""
	if generated {
		suffix, err := s.randomHex(4)
		if err != nil {
			return ClientSaved{}, err
		}
		client.AppID = "app-" + suffix
	}
	stored, err := s.o.Store.Clients().Get(ctx, client.AppID)
	if err != nil {
		return ClientSaved{}, err
	}
	if stored == nil {
		stored = &Versioned[Client]{}
	} else if generated {
		return ClientSaved{}, ErrStale // the drawn id is taken; draw again
	}
	if err := r.expected.met(stored.Revision, &stored.Value); err != nil {
		return ClientSaved{}, err
	}
	if r.mask != "" && r.mask != stored.Value.TokenMask {
		return ClientSaved{}, apierr.New(apierr.Invalid, "token cannot be chosen; rotate_token replaces it by a new one")
	}
	token, err := s.tokenFor(ctx, &client, &stored.Value, r.rotate)
	if err != nil {
		return ClientSaved{}, err
	}
	err = s.o.Store.Clients().Put(ctx, Versioned[Client]{Value: client, Revision: stored.Revision}, stored.Value.TokenHash, s.stamp(c))
	if err != nil {
		return ClientSaved{}, err
	}
	return ClientSaved{AppID: client.AppID, Token: token}, nil
}

// tokenFor gives client the stored token or a new one, and returns it in clear text.
func (s *Service) tokenFor(ctx context.Context, client, stored *Client, rotate bool) (string, error) {
	encCtx := ClientTokenContext(client.AppID)
	if stored.SealedToken != "" && !rotate {
		token, err := s.o.Sealer.Open(ctx, stored.SealedToken, encCtx)
		if err != nil {
			return "", fmt.Errorf("registry: open token of %s: %w", client.AppID, err)
		}
		client.SealedToken, client.TokenMask, client.TokenHash = stored.SealedToken, stored.TokenMask, stored.TokenHash
		return string(token), nil
	}
	token, err := s.randomHex(16)
	if err != nil {
		return "", err
	}
	sealed, err := s.o.Sealer.Seal(ctx, []byte(token), encCtx)
	if err != nil {
		return "", fmt.Errorf("registry: seal token of %s: %w", client.AppID, err)
	}
	client.SealedToken, client.TokenMask, client.TokenHash = sealed, Mask(token), TokenHash(token)
	return token, nil
}

// ListClients returns every client by app id, tokens masked.
func (s *Service) ListClients(ctx context.Context) ([]ClientView, error) {
	return views(ctx, s.o.Store.Clients(), func(c *Client) (ClientView, error) {
		revision, err := revisionOf(c)
		return ClientView{
			AppID: c.AppID, Name: c.Name, Token: c.TokenMask, AllowedRoutes: c.AllowedRoutes,
			AllowedChannels: c.AllowedChannels, RateLimitPerMin: c.RateLimitPerMin, Enabled: c.Enabled,
			AuthorizeURL: c.AgentAuthorizeURL, Budget: c.Budget, Description: c.Description, Revision: revision,
		}, err
	})
}
