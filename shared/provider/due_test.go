package provider_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"bailing/shared/capability"
	"bailing/shared/envelope"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/registry"
)

type opener func() ([]byte, error)

func (o opener) Open(context.Context, string, envelope.Context) ([]byte, error) { return o() }

func (w *world) due() provider.Swept {
	w.t.Helper()
	n, err := w.RefreshDue(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestDueProvidersAreRefreshed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.saveAs("shop", `,"auto_refresh_min":5`)
	w.saveAs("never", ``)
	w.saveAs("disabled", `,"auto_refresh_min":5,"enabled":false`)
	w.saveBody(`{"name":"inline","base_url":"https://biz.example","secret":"` + secret + `"}`)
	if got := w.due(); got != (provider.Swept{Looked: 4, Due: 1, Refreshed: 1}) {
		t.Fatalf("a provider that was never read is not due: %+v", got)
	}
	if w.tools("never") != nil || w.tools("disabled") != nil || len(w.tools("shop")) != 2 {
		t.Fatal("the wrong ones were read")
	}
	w.clock.Advance(5*time.Minute - time.Second)
	if got := w.due(); got.Due != 0 {
		t.Fatalf("too early: %+v", got)
	}
	w.clock.Advance(time.Second)
	w.business.set("public", spec(read()))
	if got := w.due(); got != (provider.Swept{Looked: 4, Due: 1, Failed: 1}) {
		t.Fatalf("%+v", got)
	}
	if len(w.tools("shop")) != 2 {
		t.Fatal("the earlier specification is gone")
	}
	events := w.store.Events()
	if last := events[len(events)-1]; last.Name != "spec_refresh_failed" || last.By != "schedule" {
		t.Fatalf("%+v", last)
	}
	if got := w.due(); got.Due != 0 {
		t.Fatalf("a failure is tried again at once: %+v", got)
	}
	w.clock.Advance(5 * time.Minute)
	w.business.set("protected", spec(read()))
	if got := w.due(); got.Refreshed != 1 || !slices.Equal(w.tools("shop"), []string{"order_list"}) {
		t.Fatalf("%+v %v", got, w.tools("shop"))
	}
	for _, c := range w.store.Changes() {
		if c.By == "schedule" {
			t.Fatal("the schedule made an administrator's change")
		}
	}
}

func TestTwoRoundsReadAProviderOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"auto_refresh_min":5`)
	first := true
	w.store.BeforePut = func(string, string) {
		if first { // another round takes it on in between
			first = false
			if got := w.due(); got.Refreshed != 1 {
				t.Errorf("%+v", got)
			}
		}
	}
	if got := w.due(); got.Refreshed != 0 || got.Failed != 0 {
		t.Fatalf("%+v", got)
	}
	reads := 0
	for _, r := range w.business.seen() {
		if r.path == "/spec?v=1" {
			reads++
		}
	}
	if reads != 3 {
		t.Fatalf("%d reads, want one signed, one unsigned and one invalid", reads)
	}
}

// An administrator's refresh that read an earlier text may be the first to write. The next round reads again.
func TestARoundThatMeetsAnotherRefreshIsRepeated(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"auto_refresh_min":1440`)
	writes := 0
	w.store.BeforePut = func(string, string) {
		if writes++; writes != 2 { // the first takes the turn, the second is the finding
			return
		}
		w.business.set("protected", spec(pay("low")))
		if _, err := w.refresh(); err != nil {
			t.Error(err)
		}
		w.business.set("protected", spec())
	}
	w.passing(func(context.Context) {
		if got := w.due(); got.Due != 1 || got.Failed != 1 {
			t.Errorf("%+v", got)
		}
	})
	if got := w.due(); got.Refreshed != 1 || len(w.tools("shop")) != 2 {
		t.Fatalf("%+v %v", got, w.tools("shop"))
	}
	if got := w.due(); got.Due != 0 {
		t.Fatalf("again: %+v", got)
	}
}

func TestOneBadProviderDoesNotKeepTheOthersWaiting(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, name := range []string{"aa", "bb", "cc"} {
		w.saveAs(name, `,"auto_refresh_min":5`)
	}
	sound := w.Secrets
	w.Secrets = openNot{"bb", sound}
	n, err := w.RefreshDue(t.Context())
	if err == nil || n.Refreshed != 2 {
		t.Fatalf("%+v %v", n, err)
	}
}

func TestADocumentThatBreaksTheCompilerEndsItsOwnTurnOnly(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.saveBody(`{"name":"aa","base_url":"https://biz.example","secret":"` + secret + `","spec_json":` + spec(read()) + `}`)
	for _, name := range []string{"bb", "cc"} {
		w.saveAs(name, `,"auto_refresh_min":5`)
	}
	w.CompilerVersion++
	compile := w.Compile
	w.Compile = func(text []byte) *capability.Catalog {
		if string(text) == spec(read()) {
			panic("index out of range")
		}
		return compile(text)
	}
	n, err := w.RefreshDue(t.Context())
	if err == nil || n.Refreshed != 2 || n.Recompiled != 0 || len(w.tools("aa")) != 1 {
		t.Fatalf("%+v %v", n, err)
	}
}

// openNot cannot open the secret of one provider.
type openNot struct {
	id   string
	next provider.Opener
}

func (o openNot) Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error) {
	if place.ID == o.id {
		return nil, errors.New("kms is down")
	}
	return o.next.Open(ctx, sealed, place)
}

func TestARoundBeginsNothingThatMayNotEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"auto_refresh_min":5`)
	ctx, cancel := context.WithDeadline(t.Context(), w.clock.Now().Add(39*time.Second))
	defer cancel()
	if n, err := w.RefreshDue(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) || n.Due != 0 {
		t.Fatalf("%+v %v", n, err)
	}
	if len(w.business.seen()) != 0 {
		t.Fatal("it was read")
	}
}

func TestAnUpgradeCompilesStoredSpecificationsAnew(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.saveBody(`{"name":"inline","base_url":"https://biz.example","secret":"` + secret + `","spec_json":` + spec(read()) + `}`)
	old := *w.provider("inline")
	if got := w.due(); got.Recompiled != 0 {
		t.Fatalf("%+v", got)
	}
	w.CompilerVersion++
	w.clock.Advance(time.Hour)
	if got := w.due(); got.Recompiled != 1 || got.Due != 1 {
		t.Fatalf("%+v", got)
	}
	p := w.provider("inline")
	if p.CatalogVersion != w.CompilerVersion || p.SpecHash != old.SpecHash || !p.SpecRefreshedAt.Equal(old.SpecRefreshedAt) || len(w.tools("inline")) != 1 {
		t.Fatalf("%+v", p)
	}
	if got := w.due(); got.Due != 0 {
		t.Fatalf("again: %+v", got)
	}
	// During a deployment both releases run. The older one must not undo the newer one's work.
	w.CompilerVersion--
	if got := w.due(); got.Due != 0 {
		t.Fatalf("the older release: %+v", got)
	}
}

func TestAnUpgradeThatRefusesASpecificationKeepsItsTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.saveBody(`{"name":"inline","base_url":"https://biz.example","secret":"` + secret + `","spec_json":` + spec(read()) + `}`)
	w.CompilerVersion++
	compile := w.Compile
	w.Compile = func([]byte) *capability.Catalog { return compile([]byte("[]")) }
	w.due()
	if len(w.tools("inline")) != 1 {
		t.Fatal("the tools are gone")
	}
	events := w.store.Events()
	if last := events[len(events)-1]; last.Name != "spec_recompiled" || last.Severity != "error" {
		t.Fatalf("%+v", last)
	}
	if got := w.due(); got.Due != 0 {
		t.Fatalf("it is tried every minute: %+v", got)
	}
}

// limited is a context that ends at a time of a manual clock, for those who look ahead.
type limited struct {
	context.Context
	at time.Time
}

func (l limited) Deadline() (time.Time, bool) { return l.at, true }

// A round that has no time for all takes those who wait longest, so that names late in the alphabet get their turn; and it begins
// nothing after it waited for a free place until too little time was left.
func TestWhoeverWaitsLongestComesFirst(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const public = `,"spec_access_policy":"public_allowed","auto_refresh_min":5`
	names := []string{"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"}
	w.saveAs("zz", public)
	w.business.set("public", spec())
	w.due()
	w.clock.Advance(2 * time.Minute)
	for _, name := range names {
		w.saveAs(name, public)
	}
	if got := w.due(); got.Due != len(names) {
		t.Fatalf("%+v", got)
	}
	w.clock.Advance(5 * time.Minute)
	begun := w.clock.Now()
	var arrived sync.WaitGroup
	arrived.Add(len(names)) // as many as are read side by side
	var late sync.Once
	w.HTTP = sender(func(context.Context, outbound.Request) (*outbound.Response, error) {
		arrived.Done()
		arrived.Wait()
		late.Do(func() { w.clock.Advance(30 * time.Second) })
		return &outbound.Response{Status: 404}, nil
	})
	n, err := w.RefreshDue(limited{t.Context(), begun.Add(80 * time.Second)})
	if err != nil || n.Due != len(names) || w.provider("zz").RefreshTriedAt.Before(begun) {
		t.Fatalf("%+v %v, zz tried at %v", n, err, w.provider("zz").RefreshTriedAt)
	}
}

// The record of a reading that never was, by a clock that was wrong, must not stop the readings to come.
func TestATimeFarInTheFutureIsNoReasonToWait(t *testing.T) {
	t.Parallel()
	for ahead, due := range map[time.Duration]int{time.Second: 0, 5*time.Minute - time.Second: 0, 5 * time.Minute: 1, 10_000 * time.Hour: 1} {
		w := setup(t)
		w.save(`,"auto_refresh_min":5`)
		v, err := w.store.Providers().Get(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		v.Value.RefreshTriedAt = w.clock.Now().Add(ahead)
		if err := w.store.Providers().Put(t.Context(), "shop", *v, registry.Change{}); err != nil {
			t.Fatal(err)
		}
		if got := w.due(); got.Due != due {
			t.Errorf("%v ahead: %+v", ahead, got)
		}
	}
}

// With an interval of a minute, a URL that fails is due in every round.
func TestAnUpgradeReachesAProviderWhoseURLFails(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.save(`,"auto_refresh_min":1`)
	w.due()
	w.business.set("public", spec())
	w.CompilerVersion++
	w.clock.Advance(time.Minute)
	if got := w.due(); got.Failed != 1 || got.Recompiled != 1 || w.provider("shop").CatalogVersion != w.CompilerVersion {
		t.Fatalf("%+v", got)
	}
}
