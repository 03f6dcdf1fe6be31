package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// shopSpec has one tool of each kind that governance tells apart.
const shopSpec = `{"openapi":"3.1.0","info":{"title":"shop","version":"1"},
"x-bailing-authz-probe":{"path":"/.well-known/bailing/authz-probe"},"paths":{
"/items/{id}":{"get":{"operationId":"read_thing","summary":"Read","x-agent-capability":{"version":1,"enabled":true,"scope":"thing.read"},
	"parameters":[{"name":"id","in":"path","required":true,"description":"id","schema":{"type":"string"}}]}},
"/whoami":{"get":{"operationId":"whoami","summary":"Who","x-agent-capability":{"version":1,"enabled":true,"scope":"me.read","subject":{"required":true}}}},
"/big":{"get":{"operationId":"big","summary":"Big","x-agent-capability":{"version":1,"enabled":true,"scope":"thing.read"}}},
"/notes":{"post":{"operationId":"note","summary":"Note","x-agent-capability":{"version":1,"enabled":true,"scope":"note.write"},
	"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"title":{"type":"string","description":"t"}}}}}}}},
"/pay":{"post":{"operationId":"pay","summary":"Pay","x-agent-capability":{"version":1,"enabled":true,"scope":"pay","risk":{"level":"high"}},
	"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"to":{"type":"string","description":"t"}}}}}}}},
"/ask":{"post":{"operationId":"ask_first","summary":"Ask","x-agent-capability":{"version":1,"enabled":true,"scope":"pay","approval":{"required":true}},
	"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"to":{"type":"string","description":"t"}}}}}}}},
"/transfer":{"post":{"operationId":"transfer","summary":"Transfer","x-agent-capability":{"version":1,"enabled":true,"scope":"pay",
	"approval":{"when":[{"param":"amount","op":">","value":1000}]}},
	"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["amount"],
		"properties":{"amount":{"type":"number","description":"a"}}}}}}}}}}`

const shopTools = 7

// shop is a hub and the business that it reads specifications from.
type shop struct {
	*hub
	b *business
}

func startShop(t testing.TB) *shop {
	s := &shop{start(t, "", nil), startBusiness(t, secret)}
	s.b.publish(shopSpec, protected)
	return s
}

// provider stores the business as "shop", read from a URL; more overrides members, and a nil removes one. It returns the answer.
func (s *shop) provider(more object) answer {
	s.t.Helper()
	o := object{"name": "shop", "base_url": s.b.url, "secret": secret, "spec_source": "url", "spec_url": s.b.url + specPath}
	for k, v := range more {
		o[k] = v
	}
	return s.post("/admin/api/tool-providers", s.admin, asJSON(s.t, o))
}

// saved is provider for saves that must succeed.
func (s *shop) saved(more object) map[string]any {
	s.t.Helper()
	a := s.provider(more)
	if a.status != http.StatusOK {
		s.t.Fatalf("save %v: %d %s", more, a.status, cut(a.body))
	}
	return a.object(s.t)
}

// call posts to an endpoint of the provider "shop".
func (s *shop) call(what, body string) answer {
	s.t.Helper()
	return s.post("/admin/api/tool-providers/shop/"+what, s.admin, body)
}

// entry is the provider "shop" as the list shows it.
func (s *shop) entry() map[string]any {
	s.t.Helper()
	var list []map[string]any
	a := s.get("/admin/api/tool-providers", s.admin)
	if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
		s.t.Fatalf("list: %d %v %s", a.status, err, cut(a.body))
	}
	for _, p := range list {
		if p["name"] == "shop" {
			return p
		}
	}
	s.t.Fatal("the list does not show the provider")
	return nil
}

// access is the stored finding about who reads the specification.
func (s *shop) access() map[string]any {
	s.t.Helper()
	probe, _ := s.entry()["spec_access_probe"].(map[string]any)
	return probe
}

// tools is how many tools the stored specification has.
func (s *shop) tools() int {
	s.t.Helper()
	tools, _ := s.get("/admin/api/tool-providers/shop/tools", s.admin).object(s.t)["tools"].([]any)
	return len(tools)
}

// canned is a business that gives the same answer to whatever it is asked.
type canned struct {
	url string

	mu             sync.Mutex
	status         int
	body, location string
}

func startCanned(t testing.TB) *canned {
	c := &canned{status: http.StatusForbidden}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// say sets the answer from now on.
func (c *canned) say(status int, body, location string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.body, c.location = status, body, location
}

func (c *canned) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.location != "" {
		w.Header().Set("Location", c.location)
	}
	reply(w, c.status, c.body)
}
