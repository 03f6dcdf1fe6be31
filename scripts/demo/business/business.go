package business

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"bailing/shared/clock"
)

// Paths that the demo needs to know.
const (
	SpecPath     = "/.well-known/bailing/tools.json"
	ProbePath    = "/.well-known/bailing/authz-probe"
	CallbackPath = "/callbacks"
)

// maxBody is the largest request body in bytes.
const maxBody = 1 << 20

// Options of [New].
type Options struct {
	Secret         string // shared with the hub's tool provider; without it every request is refused
	CallbackSecret string // signs callbacks; without it, or [Business.TrustCallbacks], every callback is refused
	Clock          clock.Clock
	Logger         *slog.Logger
}

// Business is the order system, an http.Handler that is safe for concurrent use.
type Business struct {
	o       Options
	mux     *http.ServeMux
	records records

	mu      sync.Mutex // guards what follows, for the whole of an operation, and the secret of callbacks
	shop    shop
	answers map[string]firstAnswer // by idempotency key
}

// New opens the shop with its demo data; delivery dates count from the clock's now.
func New(o Options) *Business {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Business{o: o, mux: http.NewServeMux(), shop: newShop(o.Clock.Now()), answers: map[string]firstAnswer{}}
	b.mux.HandleFunc("GET /orders/{order_no}", b.tool("order_get", b.orderGet))
	b.mux.HandleFunc("GET /orders", b.tool("order_search", b.orderSearch))
	b.mux.HandleFunc("POST /tickets", b.tool("ticket_create", b.ticketCreate))
	b.mux.HandleFunc("POST /refunds", b.tool("refund_create", b.refundCreate))
	b.mux.HandleFunc("GET /reports/broken", b.tool("report_broken", reportBroken))
	b.mux.HandleFunc(SpecPath, b.spec)
	b.mux.HandleFunc("POST "+ProbePath, b.probe)
	b.mux.HandleFunc("POST "+CallbackPath, b.callback)
	b.mux.HandleFunc("POST "+ApprovalsPath, b.question)
	return b
}

// TrustCallbacks replaces the secret that signs callbacks: the token that the hub gave this business as its client.
func (b *Business) TrustCallbacks(secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.o.CallbackSecret = secret
}

func (b *Business) callbackSecret() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.o.CallbackSecret
}

// ServeHTTP answers one request. Unknown paths are 404 without a look at the signature.
func (b *Business) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := b.mux.Handler(r); pattern == "" {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	b.mux.ServeHTTP(w, r)
}

// request is a verified request as operations see it.
type request struct {
	*http.Request
	body    []byte
	subject string
}

// reply is the outcome of an operation.
type reply struct {
	status int
	body   any
}

func refuse(status int, message string) reply { return reply{status, map[string]any{"error": message}} }

// tool wraps an operation: verify, record, and for a write with an idempotency key, answer as the first time.
func (b *Business) tool(operation string, run func(request) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, ok := b.verified(w, r)
		if !ok {
			return
		}
		b.records.add(call(operation, r, body, b.o.Clock.Now()))
		req := request{r, body, r.Header.Get("X-Bailing-On-Behalf-Of")}
		b.mu.Lock()
		out, again := b.once(req, run)
		b.mu.Unlock()
		b.o.Logger.Info("tool call", "operation", operation, "job_id", r.Header.Get("X-Bailing-Job-Id"), "status", out.status, "again", again)
		if again {
			w.Header().Set("X-Idempotent-Replay", "true")
		}
		send(w, out)
	}
}

// verified reads the body and checks the signature; when it returns false, it has answered.
func (b *Business) verified(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, ok := readBody(w, r)
	if !ok {
		return nil, false
	}
	if !b.authentic(r, body) {
		b.records.reject()
		b.o.Logger.Warn("bad signature", "method", r.Method, "path", r.URL.Path)
		fail(w, http.StatusUnauthorized, "bad signature")
		return nil, false
	}
	return body, true
}

// authentic reports whether the request carries a good signature of now.
func (b *Business) authentic(r *http.Request, body []byte) bool {
	h := r.Header
	s := signed{r.Method, r.RequestURI, body, h.Get("X-Bailing-On-Behalf-Of"), h.Get("X-Bailing-Job-Id")}
	return verifyTool(b.o.Secret, s, h.Get("X-Bailing-Timestamp"), h.Get("X-Bailing-Signature"), b.o.Clock.Now())
}

// firstAnswer is kept for an idempotency key. what is the request it belongs to.
type firstAnswer struct {
	what  string
	reply reply
}

// once runs a write at most once for its idempotency key. Refusals are not kept: nothing was done, and the reason may
// pass.
func (b *Business) once(r request, run func(request) reply) (out reply, again bool) {
	key := r.Header.Get("X-Bailing-Idempotency-Key")
	if key == "" || r.Method == http.MethodGet {
		return run(r), false
	}
	what := strings.Join([]string{r.Method, r.RequestURI, r.subject, string(r.body)}, "\n")
	if first, ok := b.answers[key]; ok {
		if first.what != what {
			return refuse(http.StatusConflict, "this idempotency key belongs to another request"), false
		}
		return first.reply, true
	}
	out = run(r)
	if out.status < 300 {
		b.answers[key] = firstAnswer{what, out}
	}
	return out, false
}

// callback takes a signed callback of the hub.
func (b *Business) callback(w http.ResponseWriter, r *http.Request) {
	body, id, ok := b.fromHub(w, r)
	if !ok {
		return
	}
	b.records.addCallback(Callback{Body: string(body), WebhookID: id, At: b.o.Clock.Now()})
	send(w, reply{http.StatusOK, map[string]any{"ok": true}})
}

// fromHub reads the body of what the hub tells this business and checks its signatures; when it returns false, it has answered.
func (b *Business) fromHub(w http.ResponseWriter, r *http.Request) (body []byte, id string, ok bool) {
	if body, ok = readBody(w, r); !ok {
		return nil, "", false
	}
	h, now, secret := r.Header, b.o.Clock.Now(), b.callbackSecret()
	good := verifyCallback(secret, body, h.Get("X-Bailing-Timestamp"), h.Get("X-Bailing-Signature"), now)
	// A receiver needs one of the two styles. This one wants to know that both are right.
	standard := webhook{h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature")}
	if sent := standard != (webhook{}); !good || sent && !verifyWebhook(secret, standard, body, now) {
		b.records.reject()
		fail(w, http.StatusUnauthorized, "bad signature")
		return nil, "", false
	}
	return body, standard.id, true
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		fail(w, http.StatusRequestEntityTooLarge, "payload too large")
	case err != nil:
		fail(w, http.StatusBadRequest, "the body could not be read")
	}
	return body, err == nil
}

func fail(w http.ResponseWriter, status int, message string) { send(w, refuse(status, message)) }

func send(w http.ResponseWriter, out reply) {
	b, err := json.Marshal(out.body)
	if err != nil {
		out.status, b = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(out.status)
	_, _ = w.Write(b)
}

func call(operation string, r *http.Request, body []byte, now time.Time) VerifiedCall {
	h := r.Header
	return VerifiedCall{
		Operation: operation, Method: r.Method, Path: r.RequestURI, Body: string(body),
		Timestamp: h.Get("X-Bailing-Timestamp"), Signature: h.Get("X-Bailing-Signature"),
		Subject: h.Get("X-Bailing-On-Behalf-Of"), JobID: h.Get("X-Bailing-Job-Id"), Client: h.Get("X-Bailing-Client"),
		Scope: h.Get("X-Bailing-Tool-Scope"), IdempotencyKey: h.Get("X-Bailing-Idempotency-Key"), At: now,
	}
}
