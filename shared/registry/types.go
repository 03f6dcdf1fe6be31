package registry

import (
	"encoding/json"
	"time"

	"bailing/shared/audience"
)

// TargetKind says where a target's jobs run (core §11.1).
type TargetKind string

const (
	InHub    TargetKind = "inhub"    // executed by the job worker; only "llm" exists
	Executor TargetKind = "executor" // claimed by a remote executor
)

// TargetLLM is the one in-hub target.
const TargetLLM = "llm"

// Target is an execution target (core §10.4).
type Target struct {
	Name         string     `json:"name"`
	Kind         TargetKind `json:"kind"`
	Stateless    bool       `json:"stateless"`
	NeedsProject bool       `json:"needs_project"`
	TimeoutMS    int        `json:"timeout_ms"` // 0 = the default of core §11.1
	Enabled      bool       `json:"enabled"`
	Description  string     `json:"description,omitempty"`
}

// Credential reaches a model endpoint (core §10.4).
type Credential struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"` // chat, embedding or both
	BaseURL      string `json:"base_url"`
	APIKey       string `json:"api_key"` // sealed by envelope encryption, never clear text
	APIKeyMask   string `json:"api_key_mask"`
	DefaultModel string `json:"default_model,omitempty"`
	Enabled      bool   `json:"enabled"`
	Description  string `json:"description,omitempty"`
}

// Provider publishes a business API as governed tools (core §4.1).
type Provider struct {
	Name             string          `json:"name"`
	BaseURL          string          `json:"base_url"` // without trailing slashes
	SpecSource       string          `json:"spec_source"`
	SpecURL          string          `json:"spec_url,omitempty"`           // with SpecURLSource
	SpecAccessPolicy SpecPolicy      `json:"spec_access_policy,omitempty"` // with SpecURLSource
	SpecHash         string          `json:"spec_hash,omitempty"`          // SHA-256 of the stored specification text
	CatalogHash      string          `json:"catalog_hash,omitempty"`       // content address of the compiled capability.Catalog
	CatalogVersion   int             `json:"catalog_version,omitempty"`    // of the compiler that made it
	SpecRefreshedAt  time.Time       `json:"spec_refreshed_at"`            // when the stored text last changed
	Secret           string          `json:"secret"`                       // sealed
	SecretMask       string          `json:"secret_mask"`
	LogPayload       bool            `json:"log_payload"`
	TimeoutMS        int             `json:"timeout_ms"`
	RateLimitPerMin  int             `json:"rate_limit_per_min"`         // of all tools together; 0 = unlimited
	ToolRateLimits   *ToolRateLimits `json:"tool_rate_limits,omitempty"` // nil: what tools declare decides
	AutoRefreshMin   int             `json:"auto_refresh_min"`           // 0 = off
	Enabled          bool            `json:"enabled"`
	Description      string          `json:"description,omitempty"`

	// What the hub found out; see probe.go.
	SpecAccessProbe *AccessProbe `json:"spec_access_probe,omitempty"`
	AuthzProbe      *AuthzProbe  `json:"authz_probe,omitempty"`
	RefreshTriedAt  time.Time    `json:"refresh_tried_at,omitzero"` // when the URL was last read, whatever came of it
}

// SessionPolicy decides which jobs share a session and a thread (core §1.5).
type SessionPolicy string

const (
	SessionNew         SessionPolicy = "new"
	SessionFixed       SessionPolicy = "fixed"
	SessionPerKey      SessionPolicy = "per_key"
	SessionPassthrough SessionPolicy = "passthrough"
)

// Retry repeats a job that failed for a transient reason (core §1.5).
type Retry struct {
	Max       int `json:"max"`        // 0 to 5
	BackoffMS int `json:"backoff_ms"` // 500 to 300000
}

// DeliveryWebhook is the one type of route delivery that leaves the hub in this version.
const DeliveryWebhook = "webhook"

// Delivery sends what came of a route's jobs to an address of the route (core §2.5).
type Delivery struct {
	Type string `json:"type"` // DeliveryWebhook
	URL  string `json:"url"`
}

// ToolSource attaches the allowed tools of one provider to a route (core §5.1).
type ToolSource struct {
	Provider     string   `json:"provider"`
	Allow        []string `json:"allow"`
	SubjectField string   `json:"subject_field,omitempty"`
}

// RouteTools is a route's tool configuration (core §5.1).
type RouteTools struct {
	Sources  []ToolSource    `json:"sources,omitempty"`  // none: the route attaches no tools
	MaxCalls int             `json:"max_calls"`          // 1 to 50
	Approval json.RawMessage `json:"approval,omitempty"` // kept as given; used by the approval surface
	// AgentDirect is the policy for calls that agents make themselves; nil = they make none.
	AgentDirect *AgentDirect `json:"agent_direct,omitempty"`
	// Rest is the members that core §10.4 leaves open. They mean nothing to the hub and are shown as they came.
	Rest map[string]json.RawMessage `json:"-"`
}

// Route is a named way to run jobs (core §10.4).
type Route struct {
	RouteKey           string          `json:"route_key"`
	Name               string          `json:"name"`
	Enabled            bool            `json:"enabled"`
	Target             string          `json:"target"`
	TargetConfig       json.RawMessage `json:"target_config"` // an object; see LLMConfig for the llm target
	Project            string          `json:"project,omitempty"`
	Profile            string          `json:"profile"`
	Permission         string          `json:"permission,omitempty"`
	SessionPolicy      SessionPolicy   `json:"session_policy"`
	SessionFixedID     string          `json:"session_fixed_id,omitempty"`
	SessionKeyField    string          `json:"session_key_field,omitempty"`
	DefaultCallbackURL string          `json:"default_callback_url,omitempty"`
	Retry              *Retry          `json:"retry,omitempty"`
	Delivery           *Delivery       `json:"delivery,omitempty"` // nil = none
	Tools              *RouteTools     `json:"tools,omitempty"`
	AgentClient        *AgentClient    `json:"agent_client,omitempty"`
	Description        string          `json:"description,omitempty"`

	Audience *audience.Policy `json:"audience,omitempty"` // nil = everybody is admitted
	Budget   *Budget          `json:"budget,omitempty"`   // nil = none
}

// LLMConfig is the target_config of the llm target (core §10.4).
type LLMConfig struct {
	Credential   string   `json:"credential"`
	Model        string   `json:"model,omitempty"`
	SystemPrompt string   `json:"system_prompt,omitempty"`
	Temperature  *float64 `json:"temperature,omitempty"`
	TimeoutMS    int      `json:"timeout_ms,omitempty"`
}

// Client is a business system that may submit jobs (core §10.4).
type Client struct {
	AppID           string   `json:"app_id"`
	Name            string   `json:"name"`
	AllowedRoutes   []string `json:"allowed_routes"`
	AllowedChannels []string `json:"allowed_channels"`
	RateLimitPerMin int      `json:"rate_limit_per_min"` // 0 = unlimited
	Enabled         bool     `json:"enabled"`
	// AgentAuthorizeURL is the page where a person lets a local agent in (agent §2.2); "" = agents cannot use the client.
	AgentAuthorizeURL string  `json:"agent_authorize_url,omitempty"`
	Budget            *Budget `json:"budget,omitempty"` // nil = none

	Description string `json:"description,omitempty"`
	SealedToken string `json:"sealed_token"` // envelope-encrypted, for reveals and callback signatures
	TokenMask   string `json:"token_mask"`   // what lists show of the token; see Mask
	TokenHash   string `json:"token_hash"`   // SHA-256 hex: the key of the client's token row
}

// MayUse reports whether the client's allowlist holds the route.
func (c *Client) MayUse(route string) bool {
	if len(c.AllowedRoutes) == 1 && c.AllowedRoutes[0] == "*" {
		return true
	}
	for _, r := range c.AllowedRoutes {
		if r == route {
			return true
		}
	}
	return false
}

// Token is what a bearer token authenticates. The row is keyed by the token's hash and carries the client itself,
// so that one strongly consistent read of it answers who calls and whether they still may.
type Token struct {
	Hash   string
	Client Client
}

// Versioned is a stored record with the revision that optimistic writes are conditional on.
type Versioned[T any] struct {
	Value    T
	Revision int64 // 0 = not stored yet
}
