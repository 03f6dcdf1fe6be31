package toolcall_test

import (
	"encoding/json"
	"slices"
	"testing"

	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

func names(set *toolcall.Toolset) []string {
	out := []string{}
	for _, t := range set.Tools {
		out = append(out, t.Tool.Name)
	}
	return out
}

func TestRouteAllowsByScope(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for rule, tc := range map[string]struct {
		allow []string
		want  []string
	}{
		"everything":     {[]string{"*"}, []string{"order_get", "price_check", "whoami", "card_check", "burst_get", "ticket_create", "refund"}},
		"exact scopes":   {[]string{"me.read", "orders.read"}, []string{"order_get", "whoami"}},
		"a prefix":       {[]string{"orders.*"}, []string{"order_get"}},
		"no such scope":  {[]string{"orders", "order.*"}, []string{}},
		"nothing at all": {nil, []string{}},
	} {
		r := jobtest.SupportRoute()
		r.Tools.Sources[0].Allow = tc.allow
		c.SaveRoute(r)
		c.assemble()
		if got := names(c.set); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", rule, got, tc.want)
		}
	}
}

func TestRouteWithoutTools(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	r := jobtest.SupportRoute()
	r.Tools = nil
	for _, route := range []*registry.Route{nil, &r} {
		set, err := c.Tools.Assemble(t.Context(), route, nil)
		if err != nil || len(set.Tools) != 0 || len(set.Problems) != 0 {
			t.Errorf("%+v, %v", set, err)
		}
		if _, found := set.Find("order_get"); found {
			t.Error("finds a tool in an empty set")
		}
	}
}

// A provider that cannot serve loses its own tools only (D22).
func TestUnusableProvider(t *testing.T) {
	t.Parallel()
	for rule, breakIt := range map[string]func(*caller){
		"disabled": func(c *caller) {
			c.SaveProvider(registry.Provider{Name: "depot", BaseURL: jobtest.BaseURL}, jobtest.Spec(jobtest.ManyTools(2)...))
		},
		"without a specification": func(c *caller) {
			c.SaveProvider(registry.Provider{Name: "depot", BaseURL: jobtest.BaseURL, Enabled: true}, "")
		},
		"absent": func(*caller) {},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			breakIt(c)
			r := jobtest.SupportRoute()
			r.Tools.Sources = []registry.ToolSource{{Provider: "depot", Allow: []string{"*"}}, {Provider: "shop", Allow: []string{"me.*"}}}
			c.SaveRoute(r)
			c.assemble()
			if got := names(c.set); !slices.Equal(got, []string{"whoami"}) || len(c.set.Problems) != 1 {
				t.Errorf("tools %v, problems %v", got, c.set.Problems)
			}
		})
	}
}

// The hub's own tools have budgets of their own: a business tool of that name would not be counted (core §9).
func TestNamesOfBuiltInToolsAreTaken(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	var ops []jobtest.Op
	for _, name := range []string{"send_message", "see_image", "find_tools", "search_tools", "order_list"} {
		ops = append(ops, jobtest.Op{Name: name, Method: "GET", Path: "/" + name, Scope: "any.read"})
	}
	c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	c.assemble()
	if got := names(c.set); !slices.Equal(got, []string{"order_list"}) || len(c.set.Problems) != 4 {
		t.Errorf("tools %v, problems %v", got, c.set.Problems)
	}
	c.refused("find_tools", `{}`, "tool_not_allowed")
}

func TestTwoProviders(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.SaveProvider(registry.Provider{Name: "depot", BaseURL: "https://depot.example", TimeoutMS: 1000, Enabled: true}, jobtest.Spec(jobtest.ManyTools(2)...))
	r := jobtest.SupportRoute()
	r.Tools.Sources = append(r.Tools.Sources, registry.ToolSource{Provider: "depot", Allow: []string{"*"}})
	c.SaveRoute(r)
	c.assemble()
	if got := names(c.set); len(got) != 9 || got[7] != "tool_01" || got[8] != "tool_02" {
		t.Fatalf("tools %v: by source, then as the specification lists them", got)
	}
	c.invoke("tool_02", `{}`)
	if got := c.Business.Sent()[0].URL; got != "https://depot.example/tool_02" {
		t.Errorf("sent to %s", got)
	}

	// The same name twice could reach the wrong business: no tools at all.
	c.SaveProvider(registry.Provider{Name: "depot", BaseURL: "https://depot.example", Enabled: true}, jobtest.Spec(jobtest.ShopTools()[0]))
	c.assemble()
	if len(c.set.Tools) != 0 || len(c.set.Problems) != 1 {
		t.Errorf("tools %v, problems %v", names(c.set), c.set.Problems)
	}
	c.refused("whoami", `{}`, "tool_not_allowed")
}

func TestCatalogueThatIsMissing(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	r := jobtest.SupportRoute()
	lost := &registry.Provider{Name: "shop", Enabled: true, CatalogHash: "00"}
	if _, err := c.Tools.Assemble(t.Context(), &r, map[string]*registry.Provider{"shop": lost}); err == nil {
		t.Error("assembled from nothing")
	}
	address, err := c.Store.PutValue(t.Context(), json.RawMessage(`{"tools":7}`))
	if err != nil {
		t.Fatal(err)
	}
	lost.CatalogHash = address
	if _, err := c.Tools.Assemble(t.Context(), &r, map[string]*registry.Provider{"shop": lost}); err == nil {
		t.Error("assembled from what is no catalogue")
	}
}
