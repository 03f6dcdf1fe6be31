package approvals

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"

	"bailing/shared/apierr"
	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
	"bailing/shared/signature"
)

// How a decision was authenticated, as the audit records name it (core §6.5).
const (
	authAdmin  = "admin-token"
	authClient = "client:" // and the app_id
	authSigned = "signed-business"
)

var (
	unauthorized = apierr.New(apierr.Unauthorized, "unauthorized")
	notFound     = apierr.New(apierr.NotFound, "approval not found")
)

// proof is what a request brings to show that it may decide.
type proof struct {
	token   string
	signed  signature.Headers
	body    []byte
	bodyErr error // of a body that is too large: nothing can be proved with it
	auth    string
}

// readProof reads what r brings. The signature of a GET is that of the empty body, whatever else it holds: the hub signs its callbacks
// and notifications with the same secret, and who receives those may not know the arguments for it (I10).
func readProof(r *http.Request) *proof {
	p := &proof{token: lambdahttp.BearerToken(r)}
	if p.token == "" {
		p.token = r.URL.Query().Get("token")
	}
	p.signed = signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}
	if r.Method == http.MethodPost {
		p.body, p.bodyErr = lambdahttp.ReadBody(r, approval.DecisionMax)
	}
	return p
}

// json is the body as a document.
func (p *proof) json(r *http.Request) (canonical.Value, error) {
	if p.bodyErr != nil {
		return canonical.Value{}, p.bodyErr
	}
	again := r.WithContext(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(p.body))
	return lambdahttp.ReadJSON(again, approval.DecisionMax)
}

// Tokens reads what a token authenticates; nil for an unknown one.
type Tokens interface {
	Token(ctx context.Context, hash string) (*registry.Token, error)
}

// Clients reads the records of clients; nil for one that does not exist.
type Clients interface {
	Get(ctx context.Context, appID string) (*registry.Versioned[registry.Client], error)
}

// checker compares proofs with what is stored.
type checker struct {
	tokens      Tokens
	clients     Clients
	secrets     Opener
	serverToken string
	admin       registry.ServerToken
	nobody      string // a secret that nobody has, for tickets that do not exist
	clock       clock.Clock
}

func newChecker(tokens Tokens, clients Clients, secrets Opener, serverToken string, c clock.Clock) checker {
	return checker{
		tokens: tokens, clients: clients, secrets: secrets, serverToken: serverToken, admin: registry.NewServerToken(serverToken),
		nobody: rand.Text(), clock: c,
	}
}

// check says whether p opens t, which is nil when there is no such ticket, and notes in p how. Its errors are for the caller: 404 for
// somebody who is known and asks for a ticket that does not exist, 401 otherwise. The work is the same whether there is a ticket or not,
// but for the sealed token of its client, whose data key is cached.
func (c *checker) check(ctx context.Context, p *proof, t *approval.Ticket) error {
	known := false
	if p.token != "" {
		if c.admin.Is(p.token) {
			p.auth, known = authAdmin, true
		} else {
			token, err := c.tokens.Token(ctx, registry.TokenHash(p.token))
			if err != nil {
				return err
			}
			known = token != nil && token.Client.Enabled
			if known && t != nil && t.Owner == token.Client.AppID {
				p.auth = authClient + token.Client.AppID
			}
		}
	}
	if p.auth == "" && p.signed != (signature.Headers{}) {
		if p.bodyErr != nil {
			return p.bodyErr // whatever the ticket is: this cannot be a decision
		}
		signed, err := c.signed(ctx, p, t)
		if err != nil {
			return err
		}
		if signed {
			p.auth = authSigned
		}
	}
	switch {
	case t == nil && known:
		return notFound
	case t == nil || p.auth == "":
		return unauthorized
	}
	return nil
}

// noClient is an app_id that no client can have.
const noClient = "-"

// signed reports whether the body is signed with the secret of the ticket's job (core §2.2): the present token of its client, else the
// server token. A disabled client's signature is worth as little as its token.
func (c *checker) signed(ctx context.Context, p *proof, t *approval.Ticket) (bool, error) {
	owner, secret := noClient, c.nobody
	if t != nil {
		owner, secret = t.Owner, c.serverToken
	}
	if owner != "" {
		client, err := c.clients.Get(ctx, owner)
		if err != nil {
			return false, err
		}
		if client != nil {
			if secret, err = c.token(ctx, &client.Value); err != nil {
				return false, err
			}
		}
	}
	return signature.VerifyCallback(secret, p.body, p.signed, c.clock.Now()) == nil, nil
}

func (c *checker) token(ctx context.Context, client *registry.Client) (string, error) {
	if !client.Enabled {
		return c.nobody, nil
	}
	token, err := c.secrets.Open(ctx, client.SealedToken, registry.ClientTokenContext(client.AppID))
	if err != nil {
		return "", fmt.Errorf("approvals: token of %s: %w", client.AppID, err)
	}
	return string(token), nil
}
