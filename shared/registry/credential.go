package registry

import (
	"context"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
)

// Kinds of credentials (core §10.4).
const (
	CredentialChat      = "chat"
	CredentialEmbedding = "embedding"
	CredentialBoth      = "both"
)

// CredentialView is a credential as lists show it.
type CredentialView struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"`
	BaseURL      string `json:"base_url"`
	APIKey       string `json:"api_key"` // masked
	DefaultModel string `json:"default_model,omitempty"`
	Enabled      bool   `json:"enabled"`
	Description  string `json:"description,omitempty"`
	Revision     string `json:"revision"`
}

type credentialRequest struct {
	credential Credential
	key        string
	expected   expectation
}

func (s *Service) decodeCredential(body canonical.Value) (credentialRequest, error) {
	o := readObject(body, "", s.o.CheckURL)
	r := credentialRequest{credential: Credential{
		Name:         o.resourceName("name"),
		Kind:         o.oneOf("kind", CredentialChat, CredentialChat, CredentialEmbedding, CredentialBoth),
		BaseURL:      o.baseURL("base_url"),
		DefaultModel: o.text("default_model", 0),
		Enabled:      o.boolean("enabled", true),
		Description:  o.text("description", 0),
	}}
	r.key = o.secret("api_key")
	r.expected = o.expectation()
	return r, o.done()
}

// baseURL is a required URL that paths are appended to: it ends without slashes and carries no query.
func (o *object) baseURL(name string) string {
	s := strings.TrimRight(o.url(name), "/")
	switch {
	case o.err != nil:
	case s == "":
		o.fail(name, "is required")
	case strings.Contains(s, "?"):
		o.fail(name, "must not have a query: paths are appended to it")
	}
	return s
}

// SaveCredential creates or replaces a credential. Without an api_key the stored one stays, as long as it goes to the same host:
// whoever may edit credentials could otherwise send a key that nobody is shown to a host of their own.
func (s *Service) SaveCredential(ctx context.Context, body canonical.Value, c Change) error {
	r, err := s.decodeCredential(body)
	if err != nil {
		return err
	}
	return attempt(func() error {
		cred := r.credential
		stored, err := current(ctx, s.o.Store.Credentials(), cred.Name)
		if err != nil {
			return err
		}
		if err := r.expected.met(stored.Revision, &stored.Value); err != nil {
			return err
		}
		kept := r.key == "" || r.key == stored.Value.APIKeyMask
		if stored.Value.APIKey != "" && kept && hostOf(cred.BaseURL) != hostOf(stored.Value.BaseURL) {
			return apierr.New(apierr.Invalid, "api_key is required when base_url moves to another host")
		}
		cred.APIKey, cred.APIKeyMask, err = s.sealSecret(ctx, r.key, stored.Value.APIKey, stored.Value.APIKeyMask, CredentialKeyContext(cred.Name))
		if err != nil {
			return err
		}
		return s.o.Store.Credentials().Put(ctx, cred.Name, Versioned[Credential]{Value: cred, Revision: stored.Revision}, s.stamp(c))
	})
}

// hostOf is scheme, host and port of a URL that was checked.
func hostOf(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme + "://" + host)
}

// ListCredentials returns every credential by name, keys masked.
func (s *Service) ListCredentials(ctx context.Context) ([]CredentialView, error) {
	return views(ctx, s.o.Store.Credentials(), func(c *Credential) (CredentialView, error) {
		revision, err := revisionOf(c)
		return CredentialView{
			Name: c.Name, Kind: c.Kind, BaseURL: c.BaseURL, APIKey: c.APIKeyMask,
			DefaultModel: c.DefaultModel, Enabled: c.Enabled, Description: c.Description, Revision: revision,
		}, err
	})
}
