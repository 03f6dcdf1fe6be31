package runs

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/contract"
)

// Name and Version of the application, as /health and /version show them.
const (
	Name    = "bailing"
	Version = "0.1.0"
)

// Build says what was built.
type Build struct {
	Commit string
	Time   string
}

// State reads the state backend.
type State interface {
	ReadPaused(ctx context.Context) (bool, error)
}

// QueueDepth tells how many jobs wait and run, approximately.
type QueueDepth interface {
	Depth(ctx context.Context) (waiting, running int, err error)
}

// checkTimeout bounds what a health check waits for.
const checkTimeout = 2 * time.Second

func (h *Handler) app() map[string]any {
	return map[string]any{"name": Name, "version": Version, "private": false}
}

func (h *Handler) buildInfo() map[string]any {
	return map[string]any{"commit": orNil(h.build.Commit), "branch": nil, "build_time": orNil(h.build.Time)}
}

// Health serves GET and HEAD /health: 200 whenever the process serves (core §1.7). The pause switch and the queue are null
// when they cannot be read.
func (h *Handler) Health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	body := map[string]any{
		"status": "ok", "app": h.app(), "build": h.buildInfo(), "backend": "dynamodb", "configBackend": true,
		"paused": nil, "queue": nil,
	}
	if paused, err := h.state.ReadPaused(ctx); err == nil {
		body["paused"] = paused
	}
	if waiting, running, err := h.queue.Depth(ctx); err == nil {
		body["queue"] = map[string]any{"running": running, "waiting": waiting}
	}
	apierr.WriteJSON(w, http.StatusOK, body)
}

// Ready serves GET and HEAD /health/ready: 503 while the state backend does not answer (core §1.7).
func (h *Handler) Ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	start := h.clock.Now()
	_, err := h.state.ReadPaused(ctx)
	status, code, verdict := "ready", http.StatusOK, "ok"
	if err != nil {
		status, code, verdict = "not_ready", http.StatusServiceUnavailable, "failed"
	}
	apierr.WriteJSON(w, code, map[string]any{
		"status": status,
		"checks": map[string]any{
			"state_backend": map[string]any{"status": verdict, "latency_ms": h.clock.Now().Sub(start).Milliseconds()},
			"database":      verdict,
			"migrations":    map[string]any{"status": "ok", "pending": 0},
		},
	})
}

// Version serves GET /version (core §1.7).
func (h *Handler) Version(w http.ResponseWriter, _ *http.Request) {
	apierr.WriteJSON(w, http.StatusOK, map[string]any{
		"app": h.app(), "build": h.buildInfo(), "runtime": map[string]any{"go": runtime.Version()},
		"contracts": map[string]any{
			"boundary":         "bailing.contract.v2.14",
			"clientApi":        "bailing.client-api.v1",
			"clientApiVersion": "1.0.0",
			"toolDefinition":   "bailing.tool-definition.v1",
			"approvalIntent":   "bailing.approval-intent.v1",
			"approvalDecision": "bailing.approval-decision.v1",
			"chatStream":       "bailing.chat.stream.v1",
			"widgetApi":        "1",
		},
		"migrations": map[string]any{"latest": nil, "total": 0},
	})
}

// Schema serves GET /schemas/**.schema.json (core §1.7).
func (h *Handler) Schema(w http.ResponseWriter, r *http.Request) {
	b, ok := contract.Schema(r.PathValue("proxy"))
	if !ok {
		apierr.Write(w, apierr.New(apierr.NotFound, "schema not found"), "")
		return
	}
	static(w, "application/schema+json; charset=utf-8", b)
}

// Contract serves GET /contracts/client-api/v1/*.json (core §1.8).
func (h *Handler) Contract(w http.ResponseWriter, r *http.Request) {
	b, ok := contract.ClientAPI(r.PathValue("file"))
	if !ok {
		apierr.Write(w, apierr.New(apierr.NotFound, "contract artifact not found"), "")
		return
	}
	static(w, "application/json; charset=utf-8", b)
}

// OpenAPI serves GET /openapi.json.
func (h *Handler) OpenAPI(w http.ResponseWriter, _ *http.Request) {
	static(w, "application/json; charset=utf-8", contract.OpenAPI())
}

// static answers with an artefact of the release; caches must ask whether it is still current.
func static(w http.ResponseWriter, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(b)
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
