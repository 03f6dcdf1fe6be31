package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"bailing/shared/account"
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
)

// Deps is what a Handler needs. Every member but BodyMax is required.
type Deps struct {
	Registry *registry.Service
	// Accounts knows the administrators and their sessions.
	Accounts *account.Service
	Tokens   Tokens
	Audit    Audit
	// AuditExport writes audit records out.
	AuditExport AuditExport
	// Providers reaches out to the businesses of tool providers.
	Providers Providers
	// Deliveries operates on callbacks and their dead letters.
	Deliveries Deliveries
	// Reconciliations closes calls whose outcome only a person can find out.
	Reconciliations Reconciliations
	// Approvals reads tickets, whose sealed intents Secrets opens; Decisions decides them.
	Approvals Approvals
	Secrets   Secrets
	Decisions Decisions
	// AgentSessions lists and revokes the sessions of local agents.
	AgentSessions AgentSessions
	// Runs, Reruns, Ledger and Config are what administrators look at and operate.
	Runs   Runs
	Reruns Reruns
	Ledger Ledger
	Config Config
	// Cost knows what jobs used.
	Cost  Costs
	Clock clock.Clock
	// ServerToken authenticates an administrator who may do everything. Without one nobody is (core §0.2).
	ServerToken string
	// BodyMax caps JSON bodies in bytes; 0 is the contract's default (core §0.1). Specifications have a cap of their own.
	BodyMax int64
}

// Tokens finds what a token authenticates.
type Tokens interface {
	// Token returns the row of the token with this SHA-256 in lower-case hexadecimal, nil when there is none.
	Token(ctx context.Context, hash string) (*registry.Token, error)
}

// Audit reads audit records.
type Audit interface {
	// JobAudit returns the records of a job, oldest first, each as its JSON; none for an unknown job.
	JobAudit(ctx context.Context, jobID string) ([]json.RawMessage, error)
}

// Handler serves the routes of the function "admin" of the topology.
type Handler struct {
	d           Deps
	serverToken registry.ServerToken
}

// NewHandler returns the handlers over d.
func NewHandler(d Deps) *Handler {
	if d.BodyMax == 0 {
		d.BodyMax = lambdahttp.DefaultBodyMax
	}
	return &Handler{d: d, serverToken: registry.NewServerToken(d.ServerToken)}
}

// Handlers is every handler by the name that the topology gives it, behind authentication and its permission.
func (h *Handler) Handlers() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		"Pause": h.Pause, "Resume": h.Resume, "JobAudit": h.JobAudit,
		"ListRuns": h.ListRuns, "GetRun": h.GetRun, "RunTrace": h.RunTrace, "FindTrace": h.FindTrace, "RerunRun": h.RerunRun,
		"SystemStatus": h.SystemStatus, "DispatchStatus": h.DispatchStatus, "Cost": h.Cost,
		"ConfigAudit": h.ConfigAudit, "ExportAudit": h.ExportAudit, "ProviderEvents": h.ProviderEvents, "Diagnostics": h.Diagnostics, "ConfigSchema": h.ConfigSchema,
		"JobDeliveries": h.JobDeliveries, "ListDeadLetters": h.ListDeadLetters, "ReplayDeadLetters": h.ReplayDeadLetters,
		"ResendDeadLetter": h.ResendDeadLetter, "ResolveDeadLetter": h.ResolveDeadLetter,
		"ListReconciliations": h.ListReconciliations, "GetReconciliation": h.GetReconciliation, "CloseReconciliation": h.CloseReconciliation,
		"ListApprovals": h.ListApprovals, "GetApproval": h.GetApproval, "RevealIntent": h.RevealIntent,
		"ApproveCall": h.ApproveCall, "DenyCall": h.DenyCall,
		"ListTargets": h.ListTargets, "SaveTargets": h.SaveTargets,
		"ListCredentials": h.ListCredentials, "SaveCredentials": h.SaveCredentials,
		"ListProviders": h.ListProviders, "SaveProviders": h.SaveProviders,
		"RefreshProvider": h.RefreshProvider, "ProbeProvider": h.ProbeProvider, "ProviderTools": h.ProviderTools, "DebugProvider": h.DebugProvider,
		"ListRoutes": h.ListRoutes, "SaveRoutes": h.SaveRoutes, "PreviewAuto": h.PreviewAuto,
		"ListClients": h.ListClients, "SaveClients": h.SaveClients,
		"DeleteTargets": h.DeleteTargets, "DeleteCredentials": h.DeleteCredentials, "DeleteProviders": h.DeleteProviders,
		"DeleteRoutes": h.DeleteRoutes, "DeleteClients": h.DeleteClients,
		"RevealToken": h.RevealToken, "RevealSecret": h.RevealSecret,
		"RouteSetup": h.RouteSetup, "SaveRouteSetup": h.SaveRouteSetup, "ClientSetup": h.ClientSetup, "SaveClientSetup": h.SaveClientSetup,
		"AgentOverview": h.AgentOverview, "ListAgentSessions": h.ListAgentSessions, "RevokeAgentSession": h.RevokeAgentSession, "Me": h.Me, "Capabilities": h.Capabilities, "ChangePassword": h.ChangePassword,
		"ListAdmins": h.ListAdmins, "SaveAdmins": h.SaveAdmins, "DeleteAdmins": h.DeleteAdmins,
	}
	for name, serve := range all {
		all[name] = h.guard(serve)
	}
	all["Login"], all["Logout"] = h.Login, h.Logout // before and after there is an identity
	return all
}

// change describes the call for its audit record, by whoever makes it.
func change(r *http.Request) registry.Change {
	p, below := strings.CutPrefix(r.URL.Path, "/admin/api/")
	if !below {
		p = path.Base(p)
	}
	return registry.Change{By: who(r).By(), Method: r.Method, Path: p}
}

// Pause serves POST /admin/pause.
func (h *Handler) Pause(w http.ResponseWriter, r *http.Request) { h.setPaused(w, r, true) }

// Resume serves POST /admin/resume.
func (h *Handler) Resume(w http.ResponseWriter, r *http.Request) { h.setPaused(w, r, false) }

func (h *Handler) setPaused(w http.ResponseWriter, r *http.Request, paused bool) {
	err := h.d.Registry.Pause(r.Context(), paused, change(r))
	answer(w, r, map[string]bool{"paused": paused}, err)
}

// answer writes the result of a command, or its error.
func answer(w http.ResponseWriter, r *http.Request, result any, err error) {
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	apierr.WriteJSON(w, http.StatusOK, result)
}

// save decodes the body, runs a save command and answers with what it makes of the result.
func save[T any](w http.ResponseWriter, r *http.Request, max int64, command func(context.Context, canonical.Value, registry.Change) (T, error), shape func(T) any) {
	body, err := lambdahttp.ReadJSON(r, max)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	result, err := command(r.Context(), body, change(r))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	apierr.WriteJSON(w, http.StatusOK, shape(result))
}
