package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

var reads = []promise{
	{"a batched read answers rows that do not exist with nothing", missingRows},
	{"a batched read brings rows of several tables together", severalTables},
	{"a row that is asked for twice is answered twice", askedTwice},
	{"a batched read may ask for more rows than one request holds", manyRows},
	{"rows that an answer has no room for are asked for again", roomForRows},
	{"outsized records are whole in every read that decides", outsizedRecords},
	{"the kill switch is part of every read that decides", killSwitch},
}

func missingRows(t *testing.T, b *bundle) {
	ctx, none := t.Context(), "none-"+uuid.NewString()
	v, err := b.Store.ReadLaunch(ctx, job.LaunchKeys{TokenHash: none, Route: none, RequestID: none})
	must(t, err)
	if v.Token != nil || v.Route != nil || v.Request != nil || v.Limit.Version != 0 {
		t.Errorf("launch %+v", v)
	}
	if _, err = b.Store.ReadLaunch(ctx, job.LaunchKeys{}); err != nil {
		t.Errorf("a launch that names nothing: %v", err)
	}
	target, thread, err := b.Store.ReadThread(ctx, none, none)
	must(t, err)
	if target != nil || thread.Key != none || thread.Version != 0 || thread.InFlight() != 0 {
		t.Errorf("target %v, thread %+v", target, thread)
	}
	_, _, err = b.Store.ReadReplay(ctx, none, none)
	wantErr(t, err, job.ErrNotFound)
	_, err = b.Store.ReadJob(ctx, none)
	wantErr(t, err, job.ErrNotFound)
	token, j, err := b.Store.ReadOwned(ctx, none, none)
	must(t, err)
	if token != nil || j != nil {
		t.Errorf("token %v, job %v", token, j)
	}
	run, err := b.Store.ReadRun(ctx, none, none)
	must(t, err)
	if run.Route != nil || run.Credential != nil || len(run.Providers) != 0 {
		t.Errorf("run %+v", run)
	}
	call, err := b.Store.ReadCall(ctx, toolcall.Keys{Owner: none, Route: none, Provider: none, Tool: none})
	must(t, err)
	if call.Route != nil || call.Client != nil || call.Provider != nil || call.ToolLimit.Version != 0 {
		t.Errorf("call %+v", call)
	}
}

// world is a configuration of its own.
type world struct {
	client registry.Client
	route  registry.Route
	target registry.Target
	cred   registry.Credential
}

// configure stores a configuration whose route uses the given number of providers, each record padded to about size bytes.
func (b *bundle) configure(t *testing.T, providers, size int) world {
	t.Helper()
	id := uuid.NewString()
	pad := strings.Repeat("p", size)
	w := world{
		client: registry.Client{AppID: "app-" + id, TokenHash: "hash-" + id, Enabled: true, Description: pad},
		route:  registry.Route{RouteKey: "route-" + id, Target: "target-" + id, Description: pad},
		target: registry.Target{Name: "target-" + id, Kind: registry.InHub, Description: pad},
		cred:   registry.Credential{Name: "cred-" + id, Description: pad},
	}
	if providers > 0 {
		w.route.Tools = &registry.RouteTools{}
	}
	change := registry.Change{At: b.now, By: "token", Method: "POST", Path: "test"}
	for i := range providers {
		p := registry.Provider{Name: fmt.Sprintf("biz-%03d-%s", i, id), Description: pad}
		w.route.Tools.Sources = append(w.route.Tools.Sources, registry.ToolSource{Provider: p.Name})
		must(t, b.Store.Providers().Put(t.Context(), p.Name, registry.Versioned[registry.Provider]{Value: p}, change))
	}
	must(t, b.Store.Targets().Put(t.Context(), w.target.Name, registry.Versioned[registry.Target]{Value: w.target}, change))
	must(t, b.Store.Credentials().Put(t.Context(), w.cred.Name, registry.Versioned[registry.Credential]{Value: w.cred}, change))
	must(t, b.Store.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: w.client}, "", change))
	b.saveRoute(t, w.route)
	return w
}

func (b *bundle) saveRoute(t *testing.T, r registry.Route) {
	t.Helper()
	now, err := b.Store.Routes().Get(t.Context(), r.RouteKey)
	must(t, err)
	v := registry.Versioned[registry.Route]{Value: r}
	if now != nil {
		v.Revision = now.Revision
	}
	must(t, b.Store.Routes().Put(t.Context(), r.RouteKey, v, registry.Change{At: b.now}))
}

func severalTables(t *testing.T, b *bundle) {
	w := b.configure(t, 1, 10)
	j := b.launch(t, "")
	row, _ := b.write(t, b.charged(t, b.clientBucket(t, w.client.TokenHash)))

	v, err := b.Store.ReadLaunch(t.Context(), job.LaunchKeys{TokenHash: w.client.TokenHash, Route: w.route.RouteKey, RequestID: j.RequestID})
	must(t, err)
	wantEqual(t, "token", v.Token, &registry.Token{Hash: w.client.TokenHash, Client: w.client})
	wantEqual(t, "route", v.Route.RouteKey, w.route.RouteKey)
	wantEqual(t, "request", *v.Request, entry(j))
	wantEqual(t, "limit", v.Limit, row)

	token, owned, err := b.Store.ReadOwned(t.Context(), w.client.TokenHash, j.ID)
	must(t, err)
	wantEqual(t, "token", token.Client, w.client)
	wantEqual(t, "job", owned, j)
	target, thread, err := b.Store.ReadThread(t.Context(), w.target.Name, j.ThreadKey)
	must(t, err)
	wantEqual(t, "target", *target, w.target)
	wantEqual(t, "head", thread.Head, j.ID)
}

func askedTwice(t *testing.T, b *bundle) {
	w := b.configure(t, 2, 10)
	w.route.Tools.Sources = append(w.route.Tools.Sources, w.route.Tools.Sources...)
	b.saveRoute(t, w.route)
	b.wantProviders(t, w, 2)
}

func manyRows(t *testing.T, b *bundle) {
	const request = 100 // keys of one BatchGetItem
	b.wantProviders(t, b.configure(t, request, 10), request)
	b.wantProviders(t, b.configure(t, 2*request+1, 10), 2*request+1)
}

// An answer holds 16 MB.
func roomForRows(t *testing.T, b *bundle) {
	const n, size = 60, 290_000
	b.wantProviders(t, b.configure(t, n, size), n)
}

func (b *bundle) wantProviders(t *testing.T, w world, n int) {
	t.Helper()
	run, err := b.Store.ReadRun(t.Context(), w.route.RouteKey, w.cred.Name)
	must(t, err)
	wantEqual(t, "credential", run.Credential.Name, w.cred.Name)
	wantEqual(t, "providers", len(run.Providers), n)
	for name, p := range run.Providers {
		if p == nil || p.Name != name {
			t.Fatalf("under %s: %v", name, p)
		}
	}
}

func outsizedRecords(t *testing.T, b *bundle) {
	w := b.configure(t, 1, 500<<10) // more than an item holds
	keys := job.LaunchKeys{TokenHash: w.client.TokenHash, Route: w.route.RouteKey}
	v, err := b.Store.ReadLaunch(t.Context(), keys)
	must(t, err)
	wantEqual(t, "token", v.Token.Client, w.client)
	wantEqual(t, "route", v.Route.Description, w.route.Description)
	target, _, err := b.Store.ReadThread(t.Context(), w.target.Name, "none")
	must(t, err)
	wantEqual(t, "target", *target, w.target)
	token, _, err := b.Store.ReadOwned(t.Context(), w.client.TokenHash, "")
	must(t, err)
	wantEqual(t, "owner", token.Client, w.client)

	provider := w.route.Tools.Sources[0].Provider
	run, err := b.Store.ReadRun(t.Context(), w.route.RouteKey, w.cred.Name)
	must(t, err)
	wantEqual(t, "credential", *run.Credential, w.cred)
	call, err := b.Store.ReadCall(t.Context(), toolcall.Keys{Owner: w.client.AppID, Route: w.route.RouteKey, Provider: provider, Tool: "t"})
	must(t, err)
	wantEqual(t, "client", *call.Client, w.client)
	for _, p := range []*registry.Provider{run.Providers[provider], call.Provider} {
		wantEqual(t, "provider", len(p.Description), 500<<10)
	}
}

func killSwitch(t *testing.T, b *bundle) {
	for _, want := range []bool{true, false} {
		must(t, b.Store.SetPaused(t.Context(), want, registry.Change{At: b.now}))
		launch, err := b.Store.ReadLaunch(t.Context(), job.LaunchKeys{})
		must(t, err)
		run, err := b.Store.ReadRun(t.Context(), "none", "none")
		must(t, err)
		call, err := b.Store.ReadCall(t.Context(), toolcall.Keys{Route: "none", Provider: "none", Tool: "none"})
		must(t, err)
		paused, err := b.Store.ReadPaused(t.Context())
		must(t, err)
		wantEqual(t, "paused", []bool{launch.Paused, run.Paused, call.Paused, paused}, []bool{want, want, want, want})
	}
}
