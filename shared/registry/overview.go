package registry

import (
	"context"

	"bailing/shared/textlimit"
)

// Days that an overview covers (agent §10.4).
const (
	DefaultOverviewDays = 30
	maxOverviewDays     = 90
)

// AgentOverview is the centre of agent clients (agent §10.4): what is configured, and what agents did in the last Days. No run exists
// before agents can work, so what they did is zero: a fact, and no missing ledger. Who makes the overview knows nothing of sessions:
// Sessions and LastUsedAt are left to the caller.
type AgentOverview struct {
	Days         int                `json:"days"`
	Applications []AgentApplication `json:"applications"`
	Workspaces   []Workspace        `json:"workspaces"`       // enabled routes whose runtime is on
	Setups       []SetupWorkspace   `json:"setup_workspaces"` // every route that could be one
	Summary      AgentSummary       `json:"summary"`
}

// AgentApplication is a client. AuthEnabled says whether it has an address where people let agents in.
type AgentApplication struct {
	AppID         string     `json:"app_id"`
	Name          string     `json:"name"`
	Enabled       bool       `json:"enabled"`
	AuthEnabled   bool       `json:"agent_auth_enabled"`
	AuthorizeURL  *string    `json:"agent_authorize_url"`
	AllowedRoutes []string   `json:"allowed_routes"`
	LastUsedAt    *string    `json:"last_used_at"`
	Stats         AgentStats `json:"stats"`
}

// AgentStats counts what the agents of one client did.
type AgentStats struct {
	AppID string `json:"client_app_id"`
	AgentCounts
}

// AgentCounts are the counters of a client, and of all of them.
type AgentCounts struct {
	Runs          int            `json:"runs"`
	Conversations int            `json:"conversations"`
	Completed     int            `json:"completed"`
	Failed        int            `json:"failed"` // failed and cancelled
	ToolCalls     int            `json:"tool_calls"`
	TotalTokens   int            `json:"total_tokens"`
	Approvals     map[string]int `json:"approvals"` // by status
}

// Workspace is a route that agents can work in.
type Workspace struct {
	Route       string `json:"route"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SetupWorkspace says how far the setup of a route has come.
type SetupWorkspace struct {
	Route            string  `json:"route"`
	Name             string  `json:"name"`
	Enabled          bool    `json:"enabled"`
	RuntimeEnabled   bool    `json:"runtime_enabled"`
	DirectEnabled    bool    `json:"direct_enabled"`
	SystemConfigured bool    `json:"system_info_configured"`
	Sources          int     `json:"source_count"`
	WriteTools       int     `json:"write_tool_count"`
	Permission       *string `json:"permission"`
}

// AgentSummary adds up the applications.
type AgentSummary struct {
	Applications int           `json:"applications"`
	AuthEnabled  int           `json:"agent_auth_enabled"`
	Sessions     SessionCounts `json:"sessions"`
	AgentCounts
	FailureRate float64 `json:"failure_rate"` // failed of the runs that ended, 0 to 1
}

// SessionCounts are agent sessions by their state.
type SessionCounts struct {
	Total   int `json:"total"`
	Active  int `json:"active"`
	Expired int `json:"expired"`
	Revoked int `json:"revoked"`
}

// AgentOverview reads the configuration of agents. days is pulled into 1 to 90.
func (s *Service) AgentOverview(ctx context.Context, days int) (AgentOverview, error) {
	none := AgentCounts{Approvals: map[string]int{}}
	o := AgentOverview{
		Days: min(max(days, 1), maxOverviewDays), Applications: []AgentApplication{}, Workspaces: []Workspace{},
		Setups: []SetupWorkspace{}, Summary: AgentSummary{AgentCounts: none},
	}
	clients, err := s.o.Store.Clients().List(ctx)
	if err != nil {
		return AgentOverview{}, err
	}
	for i := range clients {
		c := clientSetup(&clients[i])
		signIn := c.AuthorizeURL != nil && CheckAuthorizeURL(*c.AuthorizeURL) == nil
		if signIn {
			o.Summary.AuthEnabled++
		}
		o.Applications = append(o.Applications, AgentApplication{
			AppID: c.AppID, Name: c.Name, Enabled: c.Enabled, AuthEnabled: signIn, AuthorizeURL: c.AuthorizeURL,
			AllowedRoutes: c.AllowedRoutes, Stats: AgentStats{AppID: c.AppID, AgentCounts: none},
		})
	}
	o.Summary.Applications = len(o.Applications)
	routes, err := s.o.Store.Routes().List(ctx)
	if err != nil {
		return AgentOverview{}, err
	}
	for i := range routes {
		r := &routes[i]
		if !textlimit.AgentRoute(r.RouteKey) {
			continue // agents cannot name it
		}
		o.Setups = append(o.Setups, setupWorkspace(r))
		if r.Enabled && r.RuntimeEnabled() {
			o.Workspaces = append(o.Workspaces, Workspace{r.RouteKey, r.Name, r.Description})
		}
	}
	return o, nil
}

func setupWorkspace(r *Route) SetupWorkspace {
	w := SetupWorkspace{
		Route: r.RouteKey, Name: r.Name, Enabled: r.Enabled, RuntimeEnabled: r.RuntimeEnabled(), DirectEnabled: r.DirectEnabled(),
		SystemConfigured: r.AgentClient != nil && r.AgentClient.SystemInfo != nil,
	}
	if r.Tools != nil {
		w.Sources = len(r.Tools.Sources)
		if r.Tools.AgentDirect != nil {
			w.WriteTools = len(r.Tools.AgentDirect.WriteTools)
		}
	}
	if r.Permission != "" {
		w.Permission = &r.Permission
	}
	return w
}
