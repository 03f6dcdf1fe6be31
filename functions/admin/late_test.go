package admin_test

import (
	"context"
	"net/http"
	"testing"

	"bailing/functions/admin"
	"bailing/shared/provider"
	"bailing/shared/registry"
)

// slow uses up the budget of each call, as a store does that hangs.
type slow struct{ admin.Providers }

func (slow) Refresh(ctx context.Context, _ string, _ provider.By) (provider.Refreshed, error) {
	return provider.Refreshed{}, ctx.Err()
}

func (slow) ProbeAuthz(ctx context.Context, _ string, _ provider.By) (registry.AuthzProbe, error) {
	return registry.AuthzProbe{}, ctx.Err()
}

func (slow) Debug(ctx context.Context, _ string, _ provider.Debug, _ provider.By) (provider.Debugged, error) {
	return provider.Debugged{}, ctx.Err()
}

func TestACallThatUsedUpItsBudgetSaysSo(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) { d.Providers = slow{} })
	next := h.Handler
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
	for _, call := range []string{"refresh", "authz-probe", "debug-invoke"} {
		want(t, h.admin("POST", "/admin/api/tool-providers/orders/"+call, `{"tool":"x"}`), 503,
			`{"error":"the call took too long and was given up; look at the tool provider before you repeat it"}`)
	}
}
