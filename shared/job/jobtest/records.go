package jobtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability/compile"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/platform"
	"bailing/shared/registry"
)

// Names and secrets of the records that Seed makes.
const (
	Client         = "acme"
	Route          = "support"
	Credential     = "main"
	Provider       = "shop"
	ProviderSecret = "provider-secret-in-clear"
	APIKey         = "model-key-in-clear"
	BaseURL        = "https://shop.example/api"
	ModelName      = "model-1"
)

// Seed writes one record of each kind and returns the token of the client [Client], which may use every route.
func (w *World) Seed() (token string) {
	w.t.Helper()
	w.SaveTarget(registry.Target{Name: registry.TargetLLM, Kind: registry.InHub, Enabled: true})
	w.SaveCredential(registry.Credential{Name: Credential, BaseURL: "https://model.example/v1", DefaultModel: ModelName, Enabled: true}, APIKey)
	w.SaveProvider(ShopProvider(), Spec(ShopTools()...))
	w.SaveRoute(SupportRoute())
	return w.SaveClient(registry.Client{AppID: Client, AllowedRoutes: []string{"*"}, Enabled: true})
}

// ShopProvider is the provider that Seed makes, enabled, with payload logging and without a limit.
func ShopProvider() registry.Provider {
	return registry.Provider{Name: Provider, BaseURL: BaseURL, SpecSource: registry.SpecInline, LogPayload: true, TimeoutMS: 10_000, Enabled: true}
}

// SupportRoute is the route that Seed makes: every tool of the provider, five calls, metadata.user as the subject.
func SupportRoute() registry.Route {
	return registry.Route{
		RouteKey: Route, Name: "Support", Enabled: true, Target: registry.TargetLLM, Profile: "default",
		TargetConfig:  json.RawMessage(`{"credential":"main","system_prompt":"You are the shop's assistant."}`),
		SessionPolicy: registry.SessionNew,
		Tools: &registry.RouteTools{
			MaxCalls: 5, Sources: []registry.ToolSource{{Provider: Provider, Allow: []string{"*"}, SubjectField: "user"}},
		},
	}
}

// SaveClient stores the client with a new token and returns the token. A name that is missing is the app id.
func (w *World) SaveClient(c registry.Client) (token string) {
	w.t.Helper()
	token = platform.NewToken()
	w.SaveClientWith(c, token)
	return token
}

// SaveClientWith is SaveClient with a token that the test chooses.
func (w *World) SaveClientWith(c registry.Client, token string) {
	w.t.Helper()
	ctx := w.t.Context()
	old, err := w.Store.Clients().Get(ctx, c.AppID)
	if err != nil {
		w.t.Fatal(err)
	}
	if old == nil {
		old = &registry.Versioned[registry.Client]{}
	}
	if c.Name == "" {
		c.Name = c.AppID
	}
	c.SealedToken = w.seal(token, registry.ClientTokenContext(c.AppID))
	c.TokenHash, c.TokenMask = registry.TokenHash(token), registry.Mask(token)
	err = w.Store.Clients().Put(ctx, registry.Versioned[registry.Client]{Value: c, Revision: old.Revision}, old.Value.TokenHash, w.change())
	if err != nil {
		w.t.Fatal(err)
	}
}

// DisableClient takes a client out of use and keeps its token.
func (w *World) DisableClient(appID string) {
	w.t.Helper()
	v, err := w.Store.Clients().Get(w.t.Context(), appID)
	if err != nil {
		w.t.Fatal(err)
	}
	v.Value.Enabled = false
	if err := w.Store.Clients().Put(w.t.Context(), *v, v.Value.TokenHash, w.change()); err != nil {
		w.t.Fatal(err)
	}
}

// SaveRoute stores the route.
func (w *World) SaveRoute(r registry.Route) {
	w.t.Helper()
	save(w, w.Store.Routes(), r.RouteKey, r)
}

// SaveTarget stores the target.
func (w *World) SaveTarget(t registry.Target) {
	w.t.Helper()
	save(w, w.Store.Targets(), t.Name, t)
}

// SaveCredential stores the credential with its key sealed.
func (w *World) SaveCredential(c registry.Credential, key string) {
	w.t.Helper()
	c.APIKey, c.APIKeyMask = w.seal(key, registry.CredentialKeyContext(c.Name)), registry.Mask(key)
	save(w, w.Store.Credentials(), c.Name, c)
}

// SaveProvider compiles the specification and stores the provider with it. Without one the provider has no tools.
func (w *World) SaveProvider(p registry.Provider, spec string) {
	w.t.Helper()
	if p.Secret == "" {
		p.Secret, p.SecretMask = w.seal(ProviderSecret, registry.ProviderSecretContext(p.Name)), registry.Mask(ProviderSecret)
	}
	if spec != "" {
		catalog := compile.Compile([]byte(spec))
		if catalog.Failed() {
			w.t.Fatalf("specification: %v", catalog.Diagnostics)
		}
		b, err := json.Marshal(catalog)
		if err != nil {
			w.t.Fatal(err)
		}
		if p.CatalogHash, err = w.Store.PutValue(w.t.Context(), b); err != nil {
			w.t.Fatal(err)
		}
		p.SpecHash = catalog.Hash
	}
	save(w, w.Store.Providers(), p.Name, p)
}

// Pause turns the kill switch.
func (w *World) Pause(on bool) {
	w.t.Helper()
	if err := w.Store.SetPaused(w.t.Context(), on, w.change()); err != nil {
		w.t.Fatal(err)
	}
}

func save[T any](w *World, records registry.Records[T], name string, value T) {
	w.t.Helper()
	old, err := records.Get(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	v := registry.Versioned[T]{Value: value}
	if old != nil {
		v.Revision = old.Revision
	}
	if err := records.Put(w.t.Context(), name, v, w.change()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *World) change() registry.Change {
	return registry.Change{At: w.Clock.Now(), By: "token", Method: "POST", Path: "test"}
}

func (w *World) seal(secret string, place envelope.Context) string {
	w.t.Helper()
	sealed, err := w.Secrets.Seal(w.t.Context(), []byte(secret), place)
	if err != nil {
		w.t.Fatal(err)
	}
	return sealed
}

// Launch submits body as the owner of token; [ServerToken] is the administrator's, "" is none.
func (w *World) Launch(token, body string) (job.Accepted, error) {
	caller := job.Caller{Admin: token == ServerToken}
	if token != "" && !caller.Admin {
		caller.TokenHash = registry.TokenHash(token)
	}
	value, err := canonical.Parse([]byte(body), canonical.Limits{})
	return w.Launcher.Launch(context.Background(), caller, value, err)
}

// MustLaunch submits a job that has to be accepted.
func (w *World) MustLaunch(token, body string) job.Accepted {
	w.t.Helper()
	a, err := w.Launch(token, body)
	if err != nil {
		w.t.Fatalf("launch %s: %v", body, err)
	}
	return a
}

// Submission is a minimal body for the route [Route], with further members.
func Submission(requestID string, members ...string) string {
	return fmt.Sprintf(`{"request_id":%q,"route":%q,"input":"Where is my order?"%s}`, requestID, Route, join(members))
}

func join(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return "," + strings.Join(members, ",")
}
