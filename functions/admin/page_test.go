package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/registry"
)

// targets saves n targets, t000 and so on, each with a description of size characters.
func (h *hub) targets(t *testing.T, n, size int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("t%03d", i)
		v := registry.Versioned[registry.Target]{Value: registry.Target{Name: name, Kind: registry.Executor, Description: strings.Repeat("d", size)}}
		if err := h.store.Targets().Put(t.Context(), name, v, registry.Change{}); err != nil {
			t.Fatal(err)
		}
	}
}

// page is what a list answers, without the built-in target.
func (h *hub) page(t *testing.T, query string) (names []string, link string) {
	t.Helper()
	w := h.admin("GET", "/admin/api/targets"+query, "")
	var items []struct{ Name string }
	if err := json.Unmarshal(w.Body.Bytes(), &items); err != nil || w.Code != 200 {
		t.Fatalf("%s: %d %.300s", query, w.Code, w.Body)
	}
	if w.Body.Len() > 5<<20 {
		t.Fatalf("%s: %d bytes", query, w.Body.Len())
	}
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names, w.Header().Get("Link")
}

func TestAListIsWholeUnlessAPartIsAskedFor(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.targets(t, 5, 1)
	all, link := h.page(t, "")
	if len(all) < 5 || link != "" {
		t.Fatalf("%v, link %q", all, link)
	}
	for query, want := range map[string]struct {
		names []string
		link  string
	}{
		"?limit=2":                           {all[:2], `<?limit=2&offset=2>; rel="next"`},
		"?limit=2&offset=2":                  {all[2:4], `<?limit=2&offset=4>; rel="next"`},
		"?offset=3":                          {all[3:], ""},
		fmt.Sprintf("?limit=%d", len(all)):   {all, ""},
		fmt.Sprintf("?offset=%d", len(all)):  {nil, ""},
		"?offset=1000000":                    {nil, ""},
		fmt.Sprintf("?limit=%d", len(all)-1): {all[:len(all)-1], fmt.Sprintf(`<?limit=%d&offset=%d>; rel="next"`, len(all)-1, len(all)-1)},
	} {
		names, link := h.page(t, query)
		if strings.Join(names, " ") != strings.Join(want.names, " ") || link != want.link {
			t.Errorf("%s: %v, link %q", query, names, link)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=x", "?offset=-1", "?offset=1000001"} {
		if w := h.admin("GET", "/admin/api/targets"+query, ""); w.Code != 400 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

func TestALongListGoesOnBehindItsLink(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.targets(t, 60, 100_000)
	seen, answers := 0, 0
	for query := ""; answers < 10; answers++ {
		names, link := h.page(t, query)
		seen += len(names)
		if link == "" {
			break
		}
		query = link[1:strings.IndexByte(link, '>')]
	}
	if seen < 60 || answers == 0 || answers > 3 {
		t.Errorf("%d targets in %d answers", seen, answers+1)
	}
}
