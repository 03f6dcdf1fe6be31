package provider_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/capability/compile"
	"bailing/shared/clock"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
	"bailing/shared/signature"
)

const secret = "provider-secret-of-32-characters"

var start = time.Date(2026, 11, 30, 15, 52, 48, 0, time.UTC)

// business is a real HTTP server. It serves a specification at /spec as its mode says, and whatever else a test puts in handler.
type business struct {
	t     *testing.T
	clock *clock.Manual
	*httptest.Server

	mu       sync.Mutex
	spec     string
	mode     string
	handler  http.HandlerFunc
	requests []seen
	release  chan struct{} // ends what hangs
}

type seen struct {
	method, path, body string
	header             http.Header
}

func (b *business) set(mode, spec string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mode, b.spec, b.requests = mode, spec, nil
}

func (b *business) seen() []seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests
}

func (b *business) signed(r *http.Request, body []byte) bool {
	err := signature.VerifyTool(secret, signature.ToolCall{
		Method: r.Method, Path: r.URL.RequestURI(), Body: body,
		OnBehalfOf: r.Header.Get("X-Bailing-On-Behalf-Of"), JobID: r.Header.Get("X-Bailing-Job-Id"),
	}, signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}, b.clock.Now())
	return err == nil
}

// kind is how a request for the specification is signed.
func (b *business) kind(r *http.Request) string {
	switch {
	case r.Header.Get("X-Bailing-Signature") == "":
		return "unsigned"
	case b.signed(r, nil):
		return "signed"
	}
	return "invalid"
}

func (b *business) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.requests = append(b.requests, seen{r.Method, r.URL.RequestURI(), string(body), r.Header.Clone()})
	spec, mode, handler := b.spec, b.mode, b.handler
	b.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, "/spec") {
		if !b.signed(r, body) {
			http.Error(w, "bad signature", http.StatusTeapot)
			return
		}
		handler(w, r)
		return
	}
	b.serveSpec(w, r, mode, spec)
}

// serveSpec answers by mode: "protected", "public", "cacheable", or "KIND:WHAT", which treats requests of a kind (signed, unsigned,
// invalid) in another way and protects otherwise.
func (b *business) serveSpec(w http.ResponseWriter, r *http.Request, mode, spec string) {
	kind := b.kind(r)
	what := ""
	if k, v, ok := strings.Cut(mode, ":"); ok && k == kind {
		what = v
	}
	if what == "" && mode != "public" && kind != "signed" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if mode != "cacheable" {
		w.Header().Set("Cache-Control", "private, no-store")
	}
	switch what {
	case "":
		fmt.Fprint(w, spec)
	case "200":
		fmt.Fprint(w, spec)
	case "302":
		w.Header().Set("Location", b.URL+"/spec/elsewhere")
		w.WriteHeader(http.StatusFound)
	case "204", "400", "403", "404", "410", "500", "503":
		var status int
		fmt.Sscan(what, &status)
		w.WriteHeader(status)
	case "hang":
		<-b.release
	case "hang-body":
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, spec[:20])
		w.(http.Flusher).Flush()
		<-b.release
	case "half":
		w.Header().Set("Content-Length", fmt.Sprint(len(spec)+10))
		fmt.Fprint(w, spec)
	case "reset":
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	case "big":
		fmt.Fprint(w, strings.Repeat(" ", provider.MaxSpecBytes-len(spec)+1), spec)
	case "full":
		fmt.Fprint(w, strings.Repeat(" ", provider.MaxSpecBytes-len(spec)), spec)
	}
}

// world is a service over a store in memory and the network.
type world struct {
	*provider.Service
	t        *testing.T
	clock    *clock.Manual
	store    *registrytest.Store
	registry *registry.Service
	business *business
}

func setup(t *testing.T) *world { return setupAt(t, start) }

func setupAt(t *testing.T, at time.Time) *world {
	t.Helper()
	c := clock.NewManual(at)
	b := &business{t: t, clock: c, mode: "protected", spec: spec(), release: make(chan struct{}),
		handler: func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }}
	b.Server = httptest.NewServer(b)
	t.Cleanup(func() { close(b.release); b.Close() })
	policy, err := outbound.ParsePolicy("loopback")
	if err != nil {
		t.Fatal(err)
	}
	store := registrytest.NewStore()
	n := 0
	w := &world{t: t, clock: c, store: store, business: b, Service: &provider.Service{
		Store: store, HTTP: outbound.New(outbound.Options{Policy: policy, Clock: c}), Secrets: registrytest.Sealer{},
		Compile: compile.Compile, CompilerVersion: compile.Version, Clock: c, Logger: slog.New(slog.DiscardHandler),
		NewID: func() string { n++; return fmt.Sprint("id-", n) },
	}}
	w.registry = registry.NewService(registry.Options{
		Store: store, Sealer: registrytest.Sealer{}, Compile: compile.Compile, CompilerVersion: compile.Version,
		CheckURL: outbound.CheckURL, Clock: c,
	})
	return w
}

// save saves the provider "shop", read from the business, with more members.
func (w *world) save(more string) {
	w.t.Helper()
	w.saveAs("shop", more)
}

func (w *world) saveAs(name, more string) {
	w.t.Helper()
	w.saveBody(fmt.Sprintf(`{"name":%q,"base_url":%q,"spec_source":"url","spec_url":%q,"secret":%q%s}`,
		name, w.business.URL, w.business.URL+"/spec?v=1", secret, more))
}

func (w *world) saveBody(body string) {
	w.t.Helper()
	if _, err := w.registry.SaveProvider(w.t.Context(), value(w.t, body), registry.Change{By: "token"}); err != nil {
		w.t.Fatal(err)
	}
}

func value(t *testing.T, text string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(text), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *world) provider(name string) *registry.Provider {
	w.t.Helper()
	v, err := w.store.Providers().Get(w.t.Context(), name)
	if err != nil || v == nil {
		w.t.Fatal(v, err)
	}
	return &v.Value
}

func (w *world) tools(name string) (names []string) {
	w.t.Helper()
	c, err := registry.LoadCatalog(w.t.Context(), w.store, w.provider(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if c == nil {
		return nil
	}
	for i := range c.Tools {
		names = append(names, c.Tools[i].Name)
	}
	return names
}

var byAdmin = provider.By{Change: &registry.Change{By: "token", Method: "POST", Path: "tool-providers/shop"}}

func (w *world) refresh() (provider.Refreshed, error) {
	return w.Refresh(w.t.Context(), "shop", byAdmin)
}

// events is the names of the audit records so far.
func (w *world) events() (names []string) {
	for _, ev := range w.store.Events() {
		names = append(names, ev.Name)
	}
	return names
}

// passingIf runs f, while time passes when f needs it: what only takes long must not run out of it.
func (w *world) passingIf(waits bool, f func(ctx context.Context)) {
	w.t.Helper()
	if waits {
		w.passing(f)
		return
	}
	f(w.t.Context())
}

// passing runs f while time passes, so that what waits for a time limit does not wait for real.
func (w *world) passing(f func(ctx context.Context)) {
	w.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f(w.t.Context()) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			w.clock.Advance(time.Second / 2)
		}
	}
}

// operation is one operation of a specification.
func operation(id, method, path, capability, rest string) string {
	if rest != "" {
		rest = "," + rest
	}
	return fmt.Sprintf(`%q:{%q:{"operationId":%q,"summary":%q,"x-agent-capability":{"version":1,"enabled":true%s}%s}}`,
		path, method, id, id, capability, rest)
}

// spec is a specification of operations; without any it has one that reads and one that pays.
func spec(operations ...string) string {
	if len(operations) == 0 {
		operations = []string{read(), pay("high")}
	}
	return `{"openapi":"3.1.0","info":{"title":"shop","version":"1"},"paths":{` + strings.Join(operations, ",") + `}}`
}

func read() string {
	return operation("order_list", "get", "/orders", `,"scope":"order.read","subject":{"required":true}`, "")
}

func pay(risk string) string {
	return operation("order_pay", "post", "/pay", `,"scope":"order.pay","risk":{"level":"`+risk+`"}`,
		`"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"amount":{"type":"integer","description":"cents"}},"required":["amount"]}}}}`)
}
