package agentclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"bailing/shared/plainjson"
)

// defaultTimeout is how long a hub may take for an answer, unless an option says otherwise (agent §13.1).
const defaultTimeout = 15 * time.Second

// userAgent is what requests say of themselves.
const userAgent = "bailing-agent/1"

// Paths of agent §2.
const (
	pathAuthorizations = "/agent-auth/v1/authorizations"
	pathToken          = "/agent-auth/v1/token"
	pathSession        = "/agent-auth/v1/session"
	pathRevoke         = "/agent-auth/v1/revoke"
)

// HubOptions are what a [Hub] works with; the zero value is good.
type HubOptions struct {
	Timeout time.Duration // for one request and its answer; 0 is 15 s
	TLS     *tls.Config   // nil trusts what the machine trusts
}

// Hub is the Agent Auth surface of a hub. It remembers nothing, and is safe for concurrent use.
type Hub struct {
	url    string
	client *http.Client
}

// NewHub returns the hub at an address, see [CheckHubURL].
//
// Connections are not kept: a request on a connection that was kept may be sent twice, and a refresh token is good for one use.
func NewHub(address string, o HubOptions) (*Hub, error) {
	address, err := CheckHubURL(address)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &Hub{address, &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, DisableKeepAlives: true, Protocols: &protocols,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL is the address of the hub, without a slash at its end.
func (h *Hub) URL() string { return h.url }

// AuthorizationRequest asks for a person's consent (agent §2.2).
type AuthorizationRequest struct {
	ClientAppID     string   `json:"client_app_id"`
	RedirectURI     string   `json:"redirect_uri"`
	State           string   `json:"state"`
	Routes          []string `json:"requested_routes"`
	DeviceLabel     string   `json:"device_label"`
	Challenge       string   `json:"code_challenge"`
	ChallengeMethod string   `json:"code_challenge_method"`
}

// CreateAuthorization begins a login.
func (h *Hub) CreateAuthorization(ctx context.Context, r AuthorizationRequest) (Authorization, error) {
	const call = "POST " + pathAuthorizations
	body, err := h.send(ctx, call, http.StatusCreated, "", r)
	if err != nil {
		return Authorization{}, err
	}
	return readAuthorization(call, http.StatusCreated, body)
}

// Exchange makes the tokens of a session from a code, which is good for one use (agent §2.7).
func (h *Hub) Exchange(ctx context.Context, clientAppID, code, redirectURI, verifier string) (Tokens, error) {
	return h.token(ctx, clientAppID, map[string]string{
		"grant_type": "authorization_code", "client_app_id": clientAppID, "code": code, "redirect_uri": redirectURI, "code_verifier": verifier,
	})
}

// Refresh makes new tokens of a session from its refresh token, which is good for one use: a second one ends the session
// (agent §2.8). [Client] serialises it; whoever calls it directly has to.
func (h *Hub) Refresh(ctx context.Context, clientAppID, refreshToken string) (Tokens, error) {
	return h.token(ctx, clientAppID, map[string]string{
		"grant_type": "refresh_token", "client_app_id": clientAppID, "refresh_token": refreshToken,
	})
}

func (h *Hub) token(ctx context.Context, clientAppID string, grant map[string]string) (Tokens, error) {
	const call = "POST " + pathToken
	body, err := h.send(ctx, call, http.StatusOK, "", grant)
	if err != nil {
		return Tokens{}, err
	}
	t, err := readTokens(call, http.StatusOK, body)
	if err == nil && t.ClientAppID != clientAppID {
		return Tokens{}, fmt.Errorf("%w: client_app_id is not the one of the request", ErrIdentityConflict)
	}
	return t, err
}

// Session asks what an access token stands for (agent §2.9).
func (h *Hub) Session(ctx context.Context, accessToken string) (SessionView, error) {
	const call = "GET " + pathSession
	body, err := h.send(ctx, call, http.StatusOK, accessToken, nil)
	if err != nil {
		return SessionView{}, err
	}
	return readSession(call, http.StatusOK, body)
}

// Revoke ends a session (agent §2.10). A hub that gets both tokens goes by the access token; without one ("") by the refresh
// token. It answers alike whether there was such a session or not.
func (h *Hub) Revoke(ctx context.Context, clientAppID, accessToken, refreshToken string) error {
	const call = "POST " + pathRevoke
	body, err := h.send(ctx, call, http.StatusOK, accessToken, map[string]string{"client_app_id": clientAppID, "refresh_token": refreshToken})
	if err != nil {
		return err
	}
	return readRevoked(call, http.StatusOK, body)
}

// send sends one request, once, and returns the body of an answer with the status want.
func (h *Hub) send(ctx context.Context, call string, want int, bearer string, body any) ([]byte, error) {
	method, path, _ := strings.Cut(call, " ")
	var sent []byte
	if body != nil {
		var err error
		if sent, err = plainjson.Marshal(body); err != nil {
			return nil, err
		}
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := h.client.Do(req)
	if err != nil {
		var outer *url.Error // repeats the method and the address
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return nil, &NetError{call, connected.Load(), err}
	}
	defer res.Body.Close()
	return receive(call, want, res)
}

// receive judges an answer by its status and its size.
func receive(call string, want int, res *http.Response) ([]byte, error) {
	broken := func(rule string) error { return &RuleError{call, res.StatusCode, rule} }
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return nil, broken("a hub does not redirect")
	}
	if res.ContentLength > maxAnswer {
		return nil, broken("the body has at most 1 MiB")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case len(body) > maxAnswer:
		return nil, broken("the body has at most 1 MiB")
	case err != nil && res.StatusCode >= 400:
		return nil, broken("the body is whole") // the status says enough
	case err != nil:
		return nil, &NetError{call, true, err}
	case res.StatusCode == want:
		return body, nil
	case res.StatusCode < 300:
		return nil, broken(fmt.Sprintf("the status of success is %d", want))
	}
	return nil, readRefusal(call, res.StatusCode, body)
}
