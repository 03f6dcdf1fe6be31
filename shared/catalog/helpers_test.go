package catalog_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
)

// values keeps values by their content address.
type values map[string][]byte

func (v values) GetValue(_ context.Context, address string) ([]byte, error) {
	b, ok := v[address]
	if !ok {
		return nil, fmt.Errorf("no value at %s", address)
	}
	return b, nil
}

// put stores what the tools compile to.
func (v values) put(tools []capability.Tool) string {
	b, err := json.Marshal(capability.Catalog{Tools: tools})
	if err != nil {
		panic(err)
	}
	return v.putBytes(b)
}

func (v values) putBytes(b []byte) string {
	sum := sha256.Sum256(b)
	address := hex.EncodeToString(sum[:])
	v[address] = b
	return address
}

// world is a route and the providers that it may use.
type world struct {
	t         *testing.T
	values    values
	cache     *catalog.Cache
	sources   []registry.ToolSource
	providers map[string]*registry.Provider
}

func newWorld(t *testing.T) *world {
	return &world{t: t, values: values{}, cache: new(catalog.Cache), providers: map[string]*registry.Provider{}}
}

// offer adds a provider of tools to the route, all scopes allowed.
func (w *world) offer(provider string, tools ...capability.Tool) *registry.Provider {
	p := &registry.Provider{
		Name: provider, Enabled: true, BaseURL: "https://" + provider + ".example",
		SpecHash: provider + "-spec", CatalogHash: w.values.put(tools),
	}
	w.providers[provider] = p
	w.sources = append(w.sources, registry.ToolSource{Provider: provider, Allow: []string{"*"}})
	return p
}

func (w *world) attach(reserved ...string) (*catalog.Attachment, error) {
	return w.cache.Attach(w.t.Context(), w.values, w.sources, w.providers, reserved...)
}

func (w *world) surface(a catalog.Access) *catalog.Surface {
	w.t.Helper()
	found, err := w.attach()
	if err != nil {
		w.t.Fatal(err)
	}
	return catalog.NewSurface(found, a)
}

// surfaceOf is all of the tools, as an agent sees them that may do everything.
func surfaceOf(t *testing.T, tools ...capability.Tool) *catalog.Surface {
	w := newWorld(t)
	w.offer("erp", tools...)
	d := catalog.Direct{Enabled: true}
	for _, tool := range tools {
		d.WriteTools = append(d.WriteTools, tool.Name)
	}
	return w.surface(catalog.Access{Route: "depot-desk", Permission: "full", Direct: d, HasSubject: true})
}

// read is a read-only tool, for tests to change.
func read(name string, change ...func(*capability.Tool)) capability.Tool {
	t := capability.Tool{
		SchemaVersion: capability.SchemaVersion, Name: name, Source: capability.SourceOpenAPI, Method: "GET", Path: "/" + name,
		Description: "Reads " + name + ".", Scope: "depot.read", Risk: capability.RiskLow, Readonly: true, Idempotent: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"bay":{"type":"integer"}},"required":["bay"]}`),
		ParamIn:     map[string]capability.Location{"bay": capability.InQuery},
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// write is a tool with side effects.
func write(name string, change ...func(*capability.Tool)) capability.Tool {
	return read(name, append([]func(*capability.Tool){func(t *capability.Tool) {
		t.Method, t.Scope, t.Risk, t.Readonly, t.Idempotent = "POST", "depot.write", capability.RiskMedium, false, false
		t.ParamIn = map[string]capability.Location{"bay": capability.InBody}
	}}, change...)...)
}

func described(scope, text string) func(*capability.Tool) {
	return func(t *capability.Tool) { t.Scope, t.Description = scope, text }
}

// names of what is attached or offered.
func names[T any](tools []T, name func(*T) string) []string {
	out := []string{}
	for i := range tools {
		out = append(out, name(&tools[i]))
	}
	return out
}

func attachedNames(a *catalog.Attachment) []string {
	return names(a.Tools, func(t *catalog.Attached) string { return t.Tool.Name })
}

func surfaceNames(s *catalog.Surface) []string {
	return names(s.Tools, func(t *catalog.Tool) string { return t.Tool.Name })
}

func shownNames(shown []catalog.Projection) []string {
	return names(shown, func(p *catalog.Projection) string { return p.Name })
}

// text is v as JSON, with mark-up as it is.
func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
