package jobtest

import (
	"fmt"
	"strings"
)

// Op is one operation of a specification. Members are JSON, left out when empty.
type Op struct {
	Name, Method, Path, Scope string
	Params                    string // the parameters array
	Body                      string // schema of a required JSON body
	Capability                string // further members of x-agent-capability, without braces
}

// Spec is an OpenAPI document of the operations, each of which becomes a tool.
func Spec(ops ...Op) string {
	paths := make([]string, len(ops))
	for i, o := range ops {
		members := fmt.Sprintf(`"operationId":%q,"summary":"Does %s","x-agent-capability":{"version":1,"enabled":true,"scope":%q%s}`,
			o.Name, o.Name, o.Scope, join(nonEmpty(o.Capability)))
		if o.Params != "" {
			members += `,"parameters":` + o.Params
		}
		if o.Body != "" {
			members += `,"requestBody":{"required":true,"content":{"application/json":{"schema":` + o.Body + `}}}`
		}
		paths[i] = fmt.Sprintf(`%q:{%q:{%s}}`, o.Path, strings.ToLower(o.Method), members)
	}
	return `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{` + strings.Join(paths, ",") + `}}`
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

const idempotent = `"execution":{"idempotent":true}`

// ShopTools are the operations of the provider that Seed makes, one for each kind of tool.
func ShopTools() []Op {
	return []Op{
		{
			Name: "order_get", Method: "GET", Path: "/orders/{id}", Scope: "orders.read",
			Params: `[{"name":"id","in":"path","required":true,"description":"d","schema":{"type":"string"}},` +
				`{"name":"note","in":"query","description":"d","schema":{"type":"string"}}]`,
		},
		{
			Name: "price_check", Method: "PUT", Path: "/prices", Scope: "prices.check", Capability: idempotent,
			Body: `{"type":"object","properties":{"sku":{"type":"string"},"count":{"type":"integer"}},"required":["sku"]}`,
		},
		{Name: "whoami", Method: "GET", Path: "/me", Scope: "me.read", Capability: `"subject":{"required":true}`},
		{
			Name: "card_check", Method: "PUT", Path: "/cards", Scope: "cards.check", Capability: idempotent + `,"audit":{"sensitive":true}`,
			Body: `{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}`,
		},
		{Name: "burst_get", Method: "GET", Path: "/burst", Scope: "burst.read", Capability: `"execution":{"rate_limit":{"count":2,"window":"1s"}}`},
		{
			Name: "ticket_create", Method: "POST", Path: "/tickets", Scope: "tickets.write",
			Body: `{"type":"object","properties":{"text":{"type":"string"}}}`,
		},
		{
			Name: "refund", Method: "PUT", Path: "/refunds", Scope: "refunds.write", Capability: idempotent + `,"risk":{"level":"high"}`,
			Body: `{"type":"object","properties":{"order":{"type":"string"}}}`,
		},
	}
}

// ManyTools are n read-only operations without arguments, tool_01 to tool_n.
func ManyTools(n int) []Op {
	ops := make([]Op, n)
	for i := range ops {
		name := fmt.Sprintf("tool_%02d", i+1)
		ops[i] = Op{Name: name, Method: "GET", Path: "/" + name, Scope: "many.read"}
	}
	return ops
}
