package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// maxSetupRoutes is how many routes a client setup may allow (agent §10.2).
const maxSetupRoutes = 256

// ClientSetup is the part of a client that connects local agents (agent §10.2): exactly these members, never the token.
type ClientSetup struct {
	AppID         string   `json:"app_id"`
	Name          string   `json:"name"`
	Enabled       bool     `json:"enabled"`
	AuthorizeURL  *string  `json:"agent_authorize_url"`
	AllowedRoutes []string `json:"allowed_routes"`
	Revision      string   `json:"revision"` // of the three members that a setup writes
}

func clientSetup(c *Client) ClientSetup {
	setup := ClientSetup{AppID: c.AppID, Name: c.Name, Enabled: c.Enabled, AllowedRoutes: c.AllowedRoutes, Revision: setupRevision(c)}
	if c.AgentAuthorizeURL != "" {
		setup.AuthorizeURL = &c.AgentAuthorizeURL
	}
	return setup
}

// setupRevision is the SHA-256 of the plain JSON of the three members, in this order and with sorted routes.
func setupRevision(c *Client) string {
	b := []byte(`{"enabled":false,"agent_authorize_url":`)
	if c.Enabled {
		b = []byte(`{"enabled":true,"agent_authorize_url":`)
	}
	if c.AgentAuthorizeURL == "" {
		b = append(b, "null"...)
	} else {
		b = canonical.AppendString(b, c.AgentAuthorizeURL)
	}
	b = append(b, `,"allowed_routes":[`...)
	for i, key := range slices.Sorted(slices.Values(c.AllowedRoutes)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = canonical.AppendString(b, key)
	}
	sum := sha256.Sum256(append(b, "]}"...))
	return hex.EncodeToString(sum[:])
}

// storedClient reads the client appID; 404 client_not_found when there is none.
func (s *Service) storedClient(ctx context.Context, appID string) (*Versioned[Client], error) {
	missing := apierr.New(apierr.NotFound, CodeClientNotFound)
	if !textlimit.ResourceName(appID) {
		return nil, missing // no client is called that
	}
	v, err := s.o.Store.Clients().Get(ctx, appID)
	if err == nil && v == nil {
		err = missing
	}
	return v, err
}

// ClientSetup reads the setup of a client. Error: 404 client_not_found.
func (s *Service) ClientSetup(ctx context.Context, appID string) (ClientSetup, error) {
	v, err := s.storedClient(ctx, appID)
	if err != nil {
		return ClientSetup{}, err
	}
	return clientSetup(&v.Value), nil
}

// SaveClientSetup replaces enabled, agent_authorize_url and allowed_routes of a client, and only these: its token, channels,
// limit, name and description stay, whoever wrote them meanwhile (agent §10.2). The body has exactly expected_revision,
// enabled, agent_authorize_url (a string or null) and allowed_routes.
//
// Errors, in this order: 400 invalid_agent_setup, 400 with the text of the broken rule, 404 client_not_found, 409
// agent_setup_conflict. It is one write, conditional on what was read, as [Service.SaveRouteSetup] is.
func (s *Service) SaveClientSetup(ctx context.Context, appID string, body canonical.Value, c Change) (ClientSetup, error) {
	expected, err := readSetup(body, CodeInvalidSetup, map[string][]canonical.Kind{
		"enabled": {canonical.Bool}, "agent_authorize_url": {canonical.String, canonical.Null}, "allowed_routes": {canonical.Array},
	})
	if err != nil {
		return ClientSetup{}, err
	}
	list, _ := body.Get("allowed_routes")
	if err := checkSetupRoutes(list); err != nil {
		return ClientSetup{}, err
	}
	o := readObject(body, "", s.o.CheckURL)
	enabled, url, routes := o.boolean("enabled", false), "", o.strings("allowed_routes")
	if v, given := o.get("agent_authorize_url"); given {
		url = v.Text()
		if err := CheckAuthorizeURL(url); err != nil {
			o.fail("agent_authorize_url", "%s", err.Error())
		}
	}
	o.allowedRoutes("allowed_routes", routes)
	if o.err != nil {
		return ClientSetup{}, o.err
	}
	var saved ClientSetup
	err = attempt(func() error {
		v, err := s.storedClient(ctx, appID)
		if err != nil {
			return err
		}
		if setupRevision(&v.Value) != expected {
			return orConflict(nil)
		}
		v.Value.Enabled, v.Value.AgentAuthorizeURL, v.Value.AllowedRoutes = enabled, url, routes
		saved = clientSetup(&v.Value)
		return s.o.Store.Clients().Put(ctx, *v, v.Value.TokenHash, s.stamp(c))
	})
	if err != nil {
		return ClientSetup{}, orConflict(err)
	}
	return saved, nil
}

// checkSetupRoutes checks the form of allowed_routes; what it means is for the rules of a client.
func checkSetupRoutes(list canonical.Value) error {
	if list.Len() > maxSetupRoutes {
		return apierr.New(apierr.Invalid, CodeInvalidSetup).
			With("message", fmt.Sprintf("allowed_routes must have at most %d entries", maxSetupRoutes))
	}
	for _, e := range list.Elems() {
		if e.Kind() != canonical.String || e.Text() != "*" && !textlimit.ResourceName(e.Text()) {
			return apierr.New(apierr.Invalid, CodeInvalidSetup).
				With("message", `allowed_routes must hold names of 2 to 64 of a-z, 0-9, - and _, or "*"`)
		}
	}
	return nil
}
