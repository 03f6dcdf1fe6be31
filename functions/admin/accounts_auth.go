package admin

import (
	"context"
	"net/http"
	"strings"

	"bailing/shared/account"
	"bailing/shared/apierr"
	"bailing/shared/lambdahttp"
	"bailing/shared/permission"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// guard lets an administrator with the permission for the call pass to serve, which learns with [who] who it is.
func (h *Handler) guard(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i, err := h.authenticate(w, r)
		if err == nil {
			err = allowed(i, r)
		}
		if err != nil {
			lambdahttp.WriteError(w, r, err)
			return
		}
		serve(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, i)))
	}
}

type whoKey struct{}

// who is the administrator who makes the request; nobody behind a route without authentication.
func who(r *http.Request) account.Identity {
	i, _ := r.Context().Value(whoKey{}).(account.Identity)
	return i
}

var errUnauthorized = apierr.New(apierr.Unauthorized, "unauthorized")

// authenticate finds the administrator in the order of core §0.2: the session of the cookie, then the server token; a live client's
// token is refused with 403, anything else with 401. A session that was extended gets its cookie anew.
func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (account.Identity, error) {
	live, err := h.d.Accounts.Authenticate(r.Context(), sessionToken(r))
	if err != nil {
		return account.Identity{}, err
	}
	if live != nil {
		if r.Method != http.MethodGet && !fromOurselves(r) {
			return account.Identity{}, errCrossSite
		}
		if live.Renewed {
			setSession(w, r, sessionToken(r))
		}
		return live.Identity, nil
	}
	token := lambdahttp.BearerToken(r)
	if h.serverToken.Is(token) {
		return account.ServerToken(), nil
	}
	if !textlimit.Hex32(token) {
		return account.Identity{}, errUnauthorized // no client token looks like this: nothing to read
	}
	row, err := h.d.Tokens.Token(r.Context(), registry.TokenHash(token))
	if err != nil {
		return account.Identity{}, err
	}
	if row != nil && row.Client.Enabled {
		return account.Identity{}, apierr.New(apierr.Forbidden, "this interface is for administrators only")
	}
	return account.Identity{}, errUnauthorized
}

// allowed is the gate of core §10.2. It asks for the resource that the router has matched, not for the path: what a caller names
// an object must not choose the permission. A call that no table knows is refused.
func allowed(i account.Identity, r *http.Request) error {
	method, resource, _ := strings.Cut(r.Pattern, " ")
	below, ok := permission.Below(resource)
	need, known := permission.Required(method, below)
	if !ok || !known {
		return apierr.New(apierr.Forbidden, "no permission allows this call")
	}
	for _, p := range need {
		if !i.Perms.Has(p) {
			return apierr.New(apierr.Forbidden, "this call needs the permission "+string(p))
		}
	}
	return nil
}
