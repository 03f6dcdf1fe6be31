package catalog_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"bailing/shared/catalog"
)

// counting counts reads, and lets a test decide when and how they end.
type counting struct {
	values
	reads atomic.Int32
	hold  func(ctx context.Context) error
}

func (c *counting) GetValue(ctx context.Context, address string) ([]byte, error) {
	c.reads.Add(1)
	if c.hold != nil {
		if err := c.hold(ctx); err != nil {
			return nil, err
		}
	}
	return c.values.GetValue(ctx, address)
}

func TestACatalogueIsReadOnce(t *testing.T) {
	t.Parallel()
	from := &counting{values: values{}}
	address := from.put(nil)
	var cache catalog.Cache
	first, err1 := cache.Load(t.Context(), from, address)
	second, err2 := cache.Load(t.Context(), from, address)
	if err := errors.Join(err1, err2); err != nil || first != second || from.reads.Load() != 1 {
		t.Errorf("%p and %p after %d reads, %v", first, second, from.reads.Load(), err)
	}
}

func TestSimultaneousLoadsShareOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		from := &counting{values: values{}, hold: func(context.Context) error { <-release; return nil }}
		address := from.put(nil)
		var cache catalog.Cache
		var wg sync.WaitGroup
		got := make([]*catalog.Compiled, 20)
		for i := range got {
			wg.Go(func() {
				var err error
				if got[i], err = cache.Load(t.Context(), from, address); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		for _, c := range got {
			if c != got[0] {
				t.Fatal("not the same catalogue")
			}
		}
		if n := from.reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestOthersReadForThemselvesWhenTheReaderLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		from := &counting{values: values{}, hold: func(c context.Context) error {
			if c == ctx {
				<-c.Done()
			}
			return c.Err()
		}}
		address := from.put(nil)
		var cache catalog.Cache
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := cache.Load(ctx, from, address); !errors.Is(err, context.Canceled) {
				t.Errorf("the reader that left: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := cache.Load(t.Context(), from, address); err != nil {
				t.Errorf("the one that stayed: %v", err)
			}
		})
		synctest.Wait()
		leave()
		wg.Wait()
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	broken := errors.New("no answer")
	from := &counting{values: values{}, hold: func(context.Context) error { return broken }}
	address := from.put(nil)
	var cache catalog.Cache
	if _, err := cache.Load(t.Context(), from, address); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	from.hold = nil
	if _, err := cache.Load(t.Context(), from, address); err != nil {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoCatalogueIsAnError(t *testing.T) {
	t.Parallel()
	from := values{}
	var cache catalog.Cache
	for _, stored := range []string{``, `{"tools":7}`, `{"tools":[{}]`} {
		address := from.putBytes([]byte(stored))
		if _, err := cache.Load(t.Context(), from, address); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("%q: %v", stored, err)
		}
	}
}

// The bytes of the stored form are bounded: one past the bound, the least recently used catalogue goes.
func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	from := &counting{values: values{}}
	sized := func(n int, letter string) string {
		b := []byte(`{"tools":[],"hash":""}`)
		return from.putBytes([]byte(`{"tools":[],"hash":"` + strings.Repeat(letter, n-len(b)) + `"}`))
	}
	load := func(cache *catalog.Cache, address string) (reads int32) {
		before := from.reads.Load()
		if _, err := cache.Load(t.Context(), from, address); err != nil {
			t.Fatal(err)
		}
		return from.reads.Load() - before
	}
	const half = catalog.MaxCached / 2
	a, b, c := sized(half, "a"), sized(half, "b"), sized(half, "c")

	var cache catalog.Cache
	load(&cache, a)
	load(&cache, b)
	if load(&cache, a)+load(&cache, b)+load(&cache, a) != 0 {
		t.Error("two catalogues that fit exactly are not both kept")
	}
	load(&cache, c)
	if load(&cache, a)+load(&cache, c) != 0 {
		t.Error("one that was used lately went")
	}
	if load(&cache, b) != 1 {
		t.Error("three halves are kept")
	}

	var other catalog.Cache
	load(&other, a)
	large := sized(half+1, "d")
	load(&other, large)
	if load(&other, large) != 0 || load(&other, a) != 1 {
		t.Error("one byte past the bound, the older one is kept")
	}
	huge := sized(catalog.MaxCached+1, "e")
	load(&other, huge)
	if load(&other, huge) != 0 {
		t.Error("a catalogue beyond the bound is read again and again")
	}
}
