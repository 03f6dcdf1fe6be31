package registry

import "time"

// SpecPolicy is who may read a provider's specification at its URL (core §4.1): what is expected, while an [AccessProbe] is
// what was seen.
type SpecPolicy string

// The policies that can be configured.
const (
	SignedRequired SpecPolicy = "signed_required" // only a correctly signed request may read it; the default
	PublicAllowed  SpecPolicy = "public_allowed"  // anybody who reaches the URL may
)

// AccessStatus is what an access probe found out (core §4.2).
type AccessStatus string

const (
	AccessProtected    AccessStatus = "protected"    // signed requests read it, others are refused
	AccessPublic       AccessStatus = "public"       // an unsigned or wrongly signed request reads it
	AccessInconclusive AccessStatus = "inconclusive" // the evidence shows neither
)

// AccessProbe is how a specification's URL answered when it was last read: stored and shown in this form (core §4.1). A
// status is left out when no answer came.
type AccessProbe struct {
	Status       AccessStatus `json:"status"`
	SignedHTTP   int          `json:"signed_http,omitempty"`
	UnsignedHTTP int          `json:"unsigned_http,omitempty"`
	InvalidHTTP  int          `json:"invalid_http,omitempty"` // with a signature of zeros
	Reason       string       `json:"reason,omitempty"`
	At           string       `json:"at"`
}

// AuthzStatus is what an authorization probe found out (core §3.7).
type AuthzStatus string

const (
	AuthzPass         AuthzStatus = "pass"         // a subject without rights was refused
	AuthzSuspect      AuthzStatus = "suspect"      // it was served
	AuthzInconclusive AuthzStatus = "inconclusive" // the answer shows neither
	AuthzSkipped      AuthzStatus = "skipped"      // there was nothing to ask
)

// AuthzProbe is how the business answered a correctly signed request for a subject that has no rights: stored and shown in
// this form (core §3.7).
type AuthzProbe struct {
	Status          AuthzStatus `json:"status"`
	HTTP            int         `json:"http,omitempty"`
	Mode            string      `json:"mode,omitempty"` // dedicated or tool; "" when skipped
	Tool            string      `json:"tool,omitempty"`
	RequiresSubject *bool       `json:"requires_subject,omitempty"`
	Reason          string      `json:"reason,omitempty"`
	At              string      `json:"at"`
}

// ProbeTime is the form of a probe's time.
func ProbeTime(t time.Time) string { return t.UTC().Format(wireTime) }

// SameSource reports whether both providers read the same specification in the same way: what a reading of one found out is
// true of the other. A sealed secret differs whenever another secret was saved.
func (p *Provider) SameSource(other *Provider) bool {
	return p.SpecSource == other.SpecSource && p.SpecURL == other.SpecURL && p.SpecAccessPolicy == other.SpecAccessPolicy &&
		p.Secret == other.Secret
}

// SameBusiness reports whether both providers send the same calls to the same place under the same secret.
func (p *Provider) SameBusiness(other *Provider) bool {
	return p.BaseURL == other.BaseURL && p.Secret == other.Secret && p.CatalogHash == other.CatalogHash && p.Enabled == other.Enabled
}
