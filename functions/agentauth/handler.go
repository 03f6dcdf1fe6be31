package agentauth

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/agentsession"
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/lambdahttp"
	"bailing/shared/platform"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
	"bailing/shared/topology"
)

// smallBody is the cap in bytes on the bodies of an authorization's revocation and of a subject display (agent §1.3).
const smallBody = 4096

// Sessions is the commands of Agent Auth. Bodies are the zero Value when they cannot be read; errors are for the caller.
type Sessions interface {
	Business(ctx context.Context, bearer string) (*registry.Client, error)
	Create(ctx context.Context, body canonical.Value, source string) (agentsession.Created, error)
	Context(ctx context.Context, client *registry.Client, id string) (agentsession.AuthorizationView, error)
	Approve(ctx context.Context, client *registry.Client, id string, body canonical.Value) (agentsession.Redirect, error)
	Deny(ctx context.Context, client *registry.Client, id string, body canonical.Value) (agentsession.Redirect, error)
	RevokeAuthorization(ctx context.Context, client *registry.Client, id string, body canonical.Value) (agentsession.AuthorizationRevoked, error)
	Token(ctx context.Context, body canonical.Value) (agentsession.Tokens, error)
	Authenticate(ctx context.Context, bearer string) (*agentsession.Session, *registry.Client, error)
	Revoke(ctx context.Context, bearer string, body canonical.Value) error
	RevokeSession(ctx context.Context, client *registry.Client, sessionID string) error
	List(ctx context.Context, client *registry.Client, rawQuery string) (agentsession.ListPage, error)
	SetSubjectDisplay(ctx context.Context, client *registry.Client, sessionID string, body canonical.Value) (agentsession.SessionItem, error)
}

// Handler serves the routes of the function "agentauth".
type Handler struct {
	sessions Sessions
	bodyMax  int64
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	h := &Handler{sessions: p.AgentSessions(p.Store()), bodyMax: p.Config.BodyMax}
	f, _ := topology.System().FunctionNamed("agentauth")
	mux, err := lambdahttp.MuxElse(f, map[string]http.HandlerFunc{
		"CreateAuthorization": h.CreateAuthorization, "IssueTokens": h.IssueTokens, "ReadSession": h.ReadSession, "RevokeTokens": h.RevokeTokens,
		"ReadAuthorization": h.ReadAuthorization, "ApproveAuthorization": h.ApproveAuthorization, "DenyAuthorization": h.DenyAuthorization,
		"RevokeAuthorization": h.RevokeAuthorization, "ListSessions": h.ListSessions, "RevokeSession": h.RevokeSession,
		"SetSubjectDisplay": h.SetSubjectDisplay, "OtherMethod": h.OtherMethod, "Unknown": h.Unknown,
	}, h.Unknown)
	if err != nil {
		return nil, err
	}
	return lambdahttp.Handler(tokenAnswers(mux), p.HTTP()), nil
}

// tokenAnswers marks the answers of the token endpoint for caches older than Cache-Control (agent §1.1).
func tokenAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/agent-auth/v1/token" {
			w.Header().Set("Pragma", "no-cache")
		}
		next.ServeHTTP(w, r)
	})
}

var (
	notFound         = apierr.New(apierr.NotFound, "not_found")
	methodNotAllowed = apierr.New(apierr.WrongMethod, "method_not_allowed")
)

// OtherMethod serves what an authorization, a session or their list has no method for (agent §2.1).
func (h *Handler) OtherMethod(w http.ResponseWriter, r *http.Request) {
	if raw := r.PathValue("id"); raw != "" {
		if !textlimit.UUID(raw) {
			h.Unknown(w, r)
			return
		}
	}
	lambdahttp.WriteError(w, r, methodNotAllowed)
}

// Unknown serves everything else below /agent-auth/ (agent §2.1).
func (h *Handler) Unknown(w http.ResponseWriter, r *http.Request) {
	lambdahttp.WriteError(w, r, notFound)
}

// answer writes what a command answered.
func answer(w http.ResponseWriter, r *http.Request, status int, v any, err error) {
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	apierr.WriteJSON(w, status, v)
}

// readBody is the body as JSON; the zero Value for one of more than maxBytes bytes, or that is no JSON.
func readBody(r *http.Request, maxBytes int64) canonical.Value {
	body, err := lambdahttp.ReadJSON(r, maxBytes)
	if err != nil {
		return canonical.Value{}
	}
	return body
}

// bearer is the token of the request; "" when there is none, or more than one (agent §1.2).
func bearer(r *http.Request) string {
	if values := r.Header.Values("Authorization"); len(values) == 1 {
		return agentsession.Bearer(values[0])
	}
	return ""
}

// source is where the request came from as the gateway saw it: headers could say anything (D24). An IPv6 client has a whole /64 to call
// from, which counts as one address.
func source(r *http.Request) string {
	host := r.RemoteAddr
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// revoked is the answer to every revocation that has nothing else to tell.
type revoked struct {
	Revoked bool `json:"revoked"`
}
