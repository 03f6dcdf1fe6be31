package provider

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// Bounds of one round of the schedule.
const (
	dueAtOnce = 8           // providers that are read side by side
	dueTime   = time.Minute // what one refresh may take: three reads, its turn to be digested, the writes, and a probe
)

// Swept counts what a round of the schedule did.
type Swept struct {
	Looked     int // providers
	Due        int // taken on
	Refreshed  int
	Failed     int // the earlier specification keeps serving
	Recompiled int // stored catalogues of an older compiler
}

// RefreshDue refreshes each provider whose auto_refresh_min has elapsed since its URL was last read, and compiles anew what an
// older compiler compiled. Who waits longest comes first: a round that ends before its list does starves nobody. A provider
// that fails does not keep the others from their turn; the next try is as far away as
// after a success. It begins nothing that may not end before ctx does.
//
// A provider is taken on by a conditional write of the time, so that two rounds at once read it once. Dying after that skips one
// interval.
func (s *Service) RefreshDue(ctx context.Context) (Swept, error) {
	all, err := s.Store.Providers().List(ctx)
	if err != nil {
		return Swept{}, err
	}
	var due, refreshed, failed, recompiled atomic.Int64
	var mu sync.Mutex
	var errs []error
	slots := make(chan struct{}, dueAtOnce)
	var running sync.WaitGroup
	for _, p := range s.waiting(all) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		deadline, limited := ctx.Deadline()
		if ctx.Err() != nil || limited && deadline.Sub(s.Clock.Now()) < dueTime {
			break
		}
		due.Add(1)
		running.Go(func() {
			defer func() { <-slots }()
			if err := s.turn(ctx, p.Name, &refreshed, &failed, &recompiled); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	return Swept{
		Looked: len(all), Due: int(due.Load()), Refreshed: int(refreshed.Load()), Failed: int(failed.Load()), Recompiled: int(recompiled.Load()),
	}, errors.Join(errs...)
}

// waiting is the providers that something is due for, whose last reading is longest ago first. Compiling anew comes after all
// reading: what it replaces serves meanwhile.
func (s *Service) waiting(all []registry.Provider) []*registry.Provider {
	now := s.Clock.Now()
	var due, old []*registry.Provider
	for i := range all {
		switch p := &all[i]; {
		case s.isDue(p, now):
			due = append(due, p)
		case s.isOld(p):
			old = append(old, p)
		}
	}
	slices.SortStableFunc(due, func(a, b *registry.Provider) int { return a.RefreshTriedAt.Compare(b.RefreshTriedAt) })
	return append(due, old...)
}

// isDue reports whether the provider's URL should be read again. A time far in the future is a wrong clock's.
func (s *Service) isDue(p *registry.Provider, now time.Time) bool {
	return p.Enabled && p.SpecSource == registry.SpecURLSource && p.AutoRefreshMin > 0 &&
		now.Sub(p.RefreshTriedAt).Abs() >= time.Duration(p.AutoRefreshMin)*time.Minute
}

// isOld reports whether the provider's catalogue was made by an older compiler. One that a newer release made, during a
// deployment, is left alone.
func (s *Service) isOld(p *registry.Provider) bool {
	return p.SpecHash != "" && p.CatalogVersion < s.CompilerVersion
}

// turn does what is due for one provider. Whatever a document makes of the compiler ends this turn alone.
func (s *Service) turn(ctx context.Context, name string, refreshed, failed, recompiled *atomic.Int64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("provider: %s: panic: %v", name, v)
			s.Logger.ErrorContext(ctx, "panic", "provider", name, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	v, err := s.Store.Providers().Get(ctx, name)
	if err != nil || v == nil {
		return err
	}
	p := &v.Value
	if s.isDue(p, s.Clock.Now()) {
		p.RefreshTriedAt = s.Clock.Now()
		switch err := s.Store.Providers().Observe(ctx, *v, nil); {
		case errors.Is(err, registry.ErrStale):
			return nil // somebody else's turn
		case err != nil:
			return err
		}
		_, err := s.refresh(ctx, p, Schedule)
		switch apierr.CodeOf(err) {
		case "":
			refreshed.Add(1)
			return nil
		case apierr.Invalid:
			failed.Add(1) // it is on record, and the earlier specification keeps serving
		case apierr.Conflict:
			failed.Add(1)
			return s.giveBack(ctx, p)
		default:
			return err
		}
	}
	if s.isOld(p) {
		done, err := s.recompile(ctx, p)
		if done {
			recompiled.Add(1)
		}
		return err
	}
	return nil
}

// giveBack makes a provider due again whose refresh met another one: what that one stored may be the earlier text.
func (s *Service) giveBack(ctx context.Context, p *registry.Provider) error {
	err := s.observe(ctx, p, (*registry.Provider).SameSource, func(p *registry.Provider) { p.RefreshTriedAt = time.Time{} }, nil)
	if errors.Is(err, errMoved) {
		return nil // a changed source was never tried
	}
	return err
}

// recompile compiles the stored text of p with this compiler. A text that this compiler refuses keeps its catalogue, and is
// marked, so that it is not tried every minute.
func (s *Service) recompile(ctx context.Context, p *registry.Provider) (bool, error) {
	text, err := s.Store.GetValue(ctx, p.SpecHash)
	if err != nil {
		return false, err
	}
	s.digesting.Lock()
	defer s.digesting.Unlock()
	catalog := s.Compile(text)
	spec := registry.StoredSpec{Hash: p.SpecHash, Catalog: p.CatalogHash, Version: s.CompilerVersion}
	event := s.event("spec_recompiled", info, Schedule, "the stored specification was compiled by this release", map[string]any{"tools": len(catalog.Tools)})
	if catalog.Failed() {
		event.Severity, event.Summary = severe, "this release refuses the stored specification: "+registry.FirstError(catalog.Diagnostics)
	} else if spec, err = registry.PutSpec(ctx, s.Store, text, catalog, s.CompilerVersion); err != nil {
		return false, err
	}
	same := func(a, b *registry.Provider) bool { return a.SpecHash == b.SpecHash && a.CatalogHash == b.CatalogHash }
	err = s.observe(ctx, p, same, func(p *registry.Provider) { p.Take(spec, s.Clock.Now()) }, nil, event)
	if errors.Is(err, errMoved) {
		return false, nil
	}
	return err == nil, err
}
