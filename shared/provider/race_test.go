package provider_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/capability"
	"bailing/shared/envelope"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

// once runs f before the first write of a record, and never again.
func (w *world) once(f func()) {
	done := false
	w.store.BeforePut = func(string, string) {
		if !done {
			done = true
			f()
		}
	}
}

// Of two refreshes at once the one that read an earlier text must not have the last word.
func TestAnEarlierReadingDoesNotReplaceALaterOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later string
		want  apierr.Code
	}{
		"a later text": {spec(read(), pay("high")), apierr.Conflict},
		"the same":     {spec(read()), ""},
	} {
		w := setup(t)
		w.save("")
		w.business.set("protected", spec(pay("low")))
		if _, err := w.refresh(); err != nil {
			t.Fatal(err)
		}
		w.business.set("protected", spec(read()))
		w.once(func() {
			w.business.set("protected", c.later)
			if _, err := w.refresh(); err != nil {
				t.Error(err)
			}
		})
		w.passing(func(context.Context) {
			if _, err := w.refresh(); apierr.CodeOf(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		})
		want := compiledNames(w, c.later)
		if got := w.tools("shop"); !slices.Equal(got, want) {
			t.Errorf("%s: tools %v, want %v", name, got, want)
		}
	}
}

func compiledNames(w *world, text string) (names []string) {
	c := w.Compile([]byte(text))
	for i := range c.Tools {
		names = append(names, c.Tools[i].Name)
	}
	return names
}

// opensTimes opens a secret so often, and then no more.
type opensTimes struct {
	left int
	next provider.Opener
}

func (o *opensTimes) Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error) {
	if o.left--; o.left < 0 {
		return nil, errors.New("kms is down")
	}
	return o.next.Open(ctx, sealed, place)
}

// What a business said about other tools is no finding about these.
func TestNewToolsDoNotKeepTheProbeOfEarlierOnes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	if _, err := w.refresh(); err != nil || w.provider("shop").AuthzProbe.Status != registry.AuthzPass {
		t.Fatal(err)
	}
	sound := w.Secrets
	w.Secrets = &opensTimes{1, sound} // enough to read, not to probe
	if _, err := w.refresh(); err != nil || w.provider("shop").AuthzProbe == nil {
		t.Fatalf("the same tools lost their probe: %v", err)
	}
	w.Secrets = &opensTimes{1, sound}
	w.business.set("protected", spec(read()))
	r, err := w.refresh()
	if err != nil || r.AuthzProbe.Status != registry.AuthzInconclusive {
		t.Fatalf("%+v %v", r.AuthzProbe, err)
	}
	if p := w.provider("shop").AuthzProbe; p != nil {
		t.Fatalf("%+v is about the tools before", p)
	}
}

// hurried is a store whose calls fail once their context has ended, as those of AWS do.
type hurried struct{ *registrytest.Store }

func (s hurried) Providers() registry.Providers { return hurriedProviders{s.Store.Providers()} }

func (s hurried) GetValue(ctx context.Context, address string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Store.GetValue(ctx, address)
}

func (s hurried) PutValue(ctx context.Context, b []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return s.Store.PutValue(ctx, b)
}

type hurriedProviders struct{ registry.Providers }

func (p hurriedProviders) Get(ctx context.Context, name string) (*registry.Versioned[registry.Provider], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Providers.Get(ctx, name)
}

func (p hurriedProviders) Observe(ctx context.Context, v registry.Versioned[registry.Provider], c *registry.Change, events ...registry.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.Providers.Observe(ctx, v, c, events...)
}

func (p hurriedProviders) Note(ctx context.Context, name string, c *registry.Change, events ...registry.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.Providers.Note(ctx, name, c, events...)
}

type sender func(ctx context.Context, r outbound.Request) (*outbound.Response, error)

func (s sender) Do(ctx context.Context, r outbound.Request) (*outbound.Response, error) {
	return s(ctx, r)
}

// What took all the time of a call is on record all the same.
func TestAFindingThatUsedUpTheTimeIsRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"spec_access_policy":"public_allowed"`)
	w.business.set("public", spec())
	if _, err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.Store = hurried{w.store}
	var ctx context.Context
	var end context.CancelFunc
	begin := func() {
		ctx, end = context.WithCancel(t.Context())
		t.Cleanup(end)
	}
	w.HTTP = sender(func(context.Context, outbound.Request) (*outbound.Response, error) {
		end()
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Timeout: true, Connected: true, Sent: true}
	})
	begin()
	if got, err := w.ProbeAuthz(ctx, "shop", byAdmin); err != nil || got.Status != registry.AuthzInconclusive {
		t.Fatalf("%+v %v", got, err)
	}
	if got := w.provider("shop").AuthzProbe; got.Status != registry.AuthzInconclusive {
		t.Fatalf("the probe is not stored: %+v", got)
	}
	begin()
	if _, err := w.Refresh(ctx, "shop", byAdmin); apierr.CodeOf(err) != apierr.Invalid {
		t.Fatal(err)
	}
	if got := w.provider("shop").SpecAccessProbe; got.Status != registry.AccessInconclusive {
		t.Fatalf("the reading is not stored: %+v", got)
	}
}

func TestASpecificationThatWasReadTooLateToBeStoredSaysSo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save("")
	w.Store = hurried{w.store}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	compile := w.Compile
	w.Compile = func(text []byte) *capability.Catalog {
		end()
		return compile(text)
	}
	_, err := w.Refresh(ctx, "shop", byAdmin)
	if apierr.CodeOf(err) != apierr.Unavailable {
		t.Fatal(err)
	}
	p := w.provider("shop")
	if p.SpecHash != "" || p.SpecAccessProbe == nil || p.SpecAccessProbe.Status != registry.AccessProtected {
		t.Fatalf("%+v", p)
	}
	events := w.store.Events()
	if last := events[len(events)-1]; last.Name != "spec_refresh_failed" {
		t.Fatalf("%+v", last)
	}
}

// watched counts specifications between their compilation and the second of the two values that are stored of each.
type watched struct {
	*registrytest.Store
	busy, puts, gets, twice *atomic.Int32
}

// GetValue looks whether two read at once.
func (s watched) GetValue(ctx context.Context, address string) ([]byte, error) {
	if s.gets.Add(1) > 1 {
		s.twice.Add(1)
	}
	defer s.gets.Add(-1)
	for range 100 {
		runtime.Gosched()
	}
	return s.Store.GetValue(ctx, address)
}

func (s watched) PutValue(ctx context.Context, b []byte) (string, error) {
	defer func() {
		if s.puts.Add(1)%2 == 0 {
			s.busy.Add(-1)
		}
	}()
	return s.Store.PutValue(ctx, b)
}

// Catalogues are large: a round that reads many specifications side by side must not hold all of theirs at once.
func TestOneSpecificationIsDigestedAtATime(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, name := range []string{"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"} {
		w.saveAs(name, `,"auto_refresh_min":5`)
	}
	var busy, puts, most, gets, twice atomic.Int32
	compile := w.Compile
	w.Compile = func(text []byte) *capability.Catalog {
		if n := busy.Add(1); n > most.Load() {
			most.Store(n)
		}
		return compile(text)
	}
	w.Store = watched{w.store, &busy, &puts, &gets, &twice}
	if got := w.due(); got.Refreshed != 8 || most.Load() != 1 || twice.Load() > 0 {
		t.Fatalf("%+v, %d at once, %d catalogues beside others", got, most.Load(), twice.Load())
	}
}
