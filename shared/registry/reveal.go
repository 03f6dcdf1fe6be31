package registry

import (
	"context"
	"fmt"

	"bailing/shared/apierr"
	"bailing/shared/textlimit"
)

// Audit events of secrets that were shown (core §10.2).
const (
	EventTokenRevealed  = "client_token_revealed"
	EventSecretRevealed = "tool_secret_revealed"
)

// RevealToken returns the token of a client in clear text, after the audit record of that is written: without the record
// there is no answer. NotFound: there is no such client. Each call leaves a record.
func (s *Service) RevealToken(ctx context.Context, appID string, c Change) (string, error) {
	v, err := s.storedClient(ctx, appID)
	if err != nil {
		return "", err
	}
	token, err := s.o.Sealer.Open(ctx, v.Value.SealedToken, ClientTokenContext(appID))
	if err != nil {
		return "", fmt.Errorf("registry: open token of %s: %w", appID, err)
	}
	return s.reveal(ctx, EventTokenRevealed, token, c)
}

// RevealSecret returns the signing secret of a tool provider in clear text, as RevealToken does. NotFound: there is no such
// provider.
func (s *Service) RevealSecret(ctx context.Context, name string, c Change) (string, error) {
	missing := apierr.New(apierr.NotFound, "the tool provider does not exist")
	if !textlimit.ResourceName(name) {
		return "", missing
	}
	v, err := s.o.Store.Providers().Get(ctx, name)
	if err != nil {
		return "", err
	}
	if v == nil {
		return "", missing
	}
	secret, err := s.o.Sealer.Open(ctx, v.Value.Secret, ProviderSecretContext(name))
	if err != nil {
		return "", fmt.Errorf("registry: open secret of %s: %w", name, err)
	}
	return s.reveal(ctx, EventSecretRevealed, secret, c)
}

func (s *Service) reveal(ctx context.Context, event string, secret []byte, c Change) (string, error) {
	c.Event = event
	if err := s.o.Store.Note(ctx, s.stamp(c)); err != nil {
		return "", err
	}
	return string(secret), nil
}
