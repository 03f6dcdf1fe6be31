package runs

import (
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
	"bailing/shared/platform"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

// Handler serves the routes of the function "runs".
type Handler struct {
	launcher    *job.Launcher
	reader      *job.Reader
	state       State
	queue       QueueDepth
	serverToken registry.ServerToken
	bodyMax     int64
	build       Build
	clock       clock.Clock
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	s, q := p.Store(), p.JobsQueue()
	h := &Handler{
		launcher:    &job.Launcher{Store: s, Queue: q, Clock: p.Clock, Logger: p.Logger, NewID: platform.NewID},
		reader:      &job.Reader{Store: s},
		state:       s,
		queue:       q,
		serverToken: registry.NewServerToken(p.Config.ServerToken),
		bodyMax:     p.Config.BodyMax,
		build:       Build{Commit: p.Config.Commit, Time: p.Config.BuildTime},
		clock:       p.Clock,
	}
	f, _ := topology.System().FunctionNamed("runs")
	mux, err := lambdahttp.Mux(f, map[string]http.HandlerFunc{
		"SubmitRun": h.SubmitRun, "GetJob": h.GetJob, "Health": h.Health, "Ready": h.Ready, "Version": h.Version,
		"Schema": h.Schema, "Contract": h.Contract, "OpenAPI": h.OpenAPI,
	})
	if err != nil {
		return nil, err
	}
	return lambdahttp.Handler(mux, p.HTTP()), nil
}

// SubmitRun serves POST /run (core §1.1).
func (h *Handler) SubmitRun(w http.ResponseWriter, r *http.Request) {
	body, bodyErr := lambdahttp.ReadJSON(r, h.bodyMax)
	accepted, err := h.launcher.Launch(r.Context(), h.caller(r), body, bodyErr)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	apierr.WriteJSON(w, http.StatusAccepted, accepted)
}

// GetJob serves GET /jobs/{id} (core §1.6).
func (h *Handler) GetJob(w http.ResponseWriter, r *http.Request) {
	view, err := h.reader.Get(r.Context(), h.caller(r), r.PathValue("id"))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	apierr.WriteJSON(w, http.StatusOK, view)
}

// caller tells the server token from any other (core §0.2).
func (h *Handler) caller(r *http.Request) job.Caller {
	token := lambdahttp.BearerToken(r)
	if token == "" {
		return job.Caller{}
	}
	if h.serverToken.Is(token) {
		return job.Caller{Admin: true}
	}
	return job.Caller{TokenHash: registry.TokenHash(token)}
}
