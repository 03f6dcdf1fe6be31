package job

import (
	"bailing/shared/apierr"
	"bailing/shared/audience"
	"bailing/shared/registry"
)

// checkAudience refuses whom the route does not admit (core §1.3). It binds administrators, too: they act for a principal as a
// client does, and have no client that a list could name.
func checkAudience(r *registry.Route, p audience.Principal) error {
	if reason := r.Audience.Admit(p); reason != audience.Admitted {
		return apierr.Newf(apierr.Forbidden, "route %s does not admit this request", r.RouteKey).With("reason", string(reason))
	}
	return nil
}
