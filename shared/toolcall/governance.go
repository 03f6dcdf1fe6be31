package toolcall

import (
	"net/http"
	"time"

	"bailing/shared/capability"
	"bailing/shared/signature"
)

// Governance is what the hub says about a call in its headers (core §3.2). Everything but Client, Scope and IdempotencyKey is
// covered by the signature.
type Governance struct {
	Secret         []byte // the provider's
	Client         string // app id of the owning client; may be empty
	JobID          string // may be empty, where there is no job
	Subject        string // on whose behalf; "" for nobody
	Scope          string
	IdempotencyKey string // of a side-effecting call, else ""
}

// Headers are the governance headers around the declared ones of r; ours are set last, so they win.
func (g Governance) Headers(r capability.Request, now time.Time) http.Header {
	h := http.Header{}
	for _, f := range r.Header {
		h.Set(f.Name, f.Value)
	}
	if r.ContentType != "" {
		h.Set("Content-Type", r.ContentType)
	}
	signed := signature.SignTool(string(g.Secret), signature.ToolCall{
		Method: r.Method, Path: r.PathQuery, Body: r.Body, OnBehalfOf: g.Subject, JobID: g.JobID,
	}, now)
	h.Set("X-Bailing-Timestamp", signed.Timestamp)
	h.Set("X-Bailing-Signature", signed.Signature)
	h.Set("X-Bailing-Job-Id", g.JobID)
	h.Set("X-Bailing-Client", g.Client)
	h.Set("X-Bailing-Tool-Scope", g.Scope)
	if g.Subject != "" {
		h.Set("X-Bailing-On-Behalf-Of", g.Subject)
	}
	if g.IdempotencyKey != "" {
		h.Set("X-Bailing-Idempotency-Key", g.IdempotencyKey)
	}
	return h
}
