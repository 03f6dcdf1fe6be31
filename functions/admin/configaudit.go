package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
)

// Ledger reads audit records that belong to no job; see package store.
type Ledger interface {
	ConfigChanges(ctx context.Context, limit, offset int) ([]registry.Change, error)
	ProviderEvents(ctx context.Context, name string, limit int) ([]json.RawMessage, error)
}

// Bounds of the lists of the ledger.
const (
	changesMax       = 200
	changesOffsetMax = 10_000
)

// configChange is one write, or one reveal, of the configuration (core §10.2).
type configChange struct {
	TS     string `json:"ts"`
	By     string `json:"by"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Event  string `json:"event,omitempty"` // when it is no config_change: client_token_revealed, ...
}

// ConfigAudit serves GET /admin/api/config-audit, latest first.
func (h *Handler) ConfigAudit(w http.ResponseWriter, r *http.Request) {
	limit, offset, err := parsePage(r.URL.Query(), changesMax, changesOffsetMax)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	changes, err := h.d.Ledger.ConfigChanges(r.Context(), limit, offset)
	out := make([]configChange, 0, len(changes))
	for _, c := range changes {
		shown := configChange{TS: job.Timestamp(c.At), By: c.By, Method: c.Method, Path: c.Path, Event: c.Event}
		if shown.Event == "config_change" {
			shown.Event = ""
		}
		out = append(out, shown)
	}
	answer(w, r, out, err)
}

// ProviderEvents serves GET /admin/api/tool-providers/{name}/events: what the hub found out about a provider, latest first. The
// records of a deleted provider can still be read.
func (h *Handler) ProviderEvents(w http.ResponseWriter, r *http.Request) {
	name, err := providerName(r)
	limit := 0
	if err == nil {
		limit, _, err = parsePage(r.URL.Query(), changesMax, 0)
	}
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	records, err := h.d.Ledger.ProviderEvents(r.Context(), name, limit)
	if err == nil && len(records) == 0 {
		err = h.d.Registry.RequireProvider(r.Context(), name)
	}
	if err == nil {
		records, err = display(records, auditMax)
	}
	answer(w, r, records, err)
}
