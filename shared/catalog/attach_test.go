package catalog_test

import (
	"errors"
	"slices"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
)

func TestSourcesAllowByScope(t *testing.T) {
	t.Parallel()
	tools := []capability.Tool{
		read("b", described("depot.stock.read", "x")), read("a", described("depot.gate.read", "x")), read("c", described("depot", "x")),
	}
	for rule, tc := range map[string]struct {
		allow, want []string
	}{
		"everything":     {[]string{"*"}, []string{"b", "a", "c"}},
		"an exact scope": {[]string{"depot.gate.read"}, []string{"a"}},
		"a prefix":       {[]string{"depot.*"}, []string{"b", "a"}},
		"nothing":        {nil, []string{}},
	} {
		w := newWorld(t)
		w.offer("erp", tools...)
		w.sources[0].Allow = tc.allow
		if a, err := w.attach(); err != nil || !slices.Equal(attachedNames(a), tc.want) {
			t.Errorf("%s: %v, %v", rule, a, err)
		}
	}
}

// By source, then as the specification lists them; each tool knows its source.
func TestToolsKeepTheOrderOfTheirSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("wms", read("z"), read("b"))
	w.offer("erp", read("a"))
	w.sources[1].SubjectField = "operator"
	a, err := w.attach()
	if err != nil || !slices.Equal(attachedNames(a), []string{"z", "b", "a"}) {
		t.Fatalf("%v, %v", a, err)
	}
	if last := a.Tools[2]; last.Provider != "erp" || last.Source.SubjectField != "operator" {
		t.Errorf("%+v", last)
	}
}

// A provider that cannot serve loses its own tools only, and a problem names it (D22).
func TestAnUnusableProviderLosesItsOwnTools(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		breakIt func(*world, *registry.Provider)
		problem string
	}{
		"missing":                 {func(w *world, _ *registry.Provider) { delete(w.providers, "wms") }, "provider wms does not exist"},
		"disabled":                {func(_ *world, p *registry.Provider) { p.Enabled = false }, "provider wms is disabled"},
		"without a specification": {func(_ *world, p *registry.Provider) { p.CatalogHash = "" }, "provider wms has no specification"},
	} {
		w := newWorld(t)
		tc.breakIt(w, w.offer("wms", read("a")))
		w.offer("erp", read("b"))
		a, err := w.attach()
		if err != nil || !slices.Equal(attachedNames(a), []string{"b"}) || !slices.Equal(a.Problems, []string{tc.problem}) {
			t.Errorf("%s: %+v, %v", rule, a, err)
		}
	}
}

func TestACatalogueThatIsLostIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", read("a")).CatalogHash = "00"
	if a, err := w.attach(); err == nil {
		t.Errorf("attached %v", a)
	}
}

func TestTheSameNameInTwoProvidersRefusesAllTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", read("a"), read("stock_get"))
	w.offer("wms", read("stock_get", described("wms.read", "x")))
	_, err := w.attach()
	var clash *catalog.ClashError
	if !errors.As(err, &clash) || *clash != (catalog.ClashError{Tool: "stock_get", First: "erp", Second: "wms"}) {
		t.Errorf("%v", err)
	}
	// A scope that is not allowed cannot clash.
	w.sources[1].Allow = []string{"wms.write"}
	if _, err := w.attach(); err != nil {
		t.Error(err)
	}
}

func TestReservedNamesAreLeftOutAndDoNotClash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", read("find_tools"), read("a"))
	w.offer("wms", read("find_tools"))
	a, err := w.attach("send_message", "find_tools")
	if err != nil || !slices.Equal(attachedNames(a), []string{"a"}) || len(a.Problems) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestNoSourcesNoTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if a, err := w.attach(); err != nil || len(a.Tools) != 0 || len(a.Problems) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
