package store_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/registry"
	"bailing/shared/topology"
)

// Records as the release before revisions, setups and audience policies wrote them.
var oldRecords = map[string]string{
	"target#exec":     `{"name":"exec","kind":"executor","stateless":false,"needs_project":false,"timeout_ms":0,"enabled":true}`,
	"credential#demo": `{"name":"demo","kind":"chat","base_url":"https://m.example/v1","api_key":"sealed","api_key_mask":"…","enabled":true}`,
	"provider#shop": `{"name":"shop","base_url":"https://biz.example","spec_source":"inline",
		"spec_refreshed_at":"0001-01-01T00:00:00Z","secret":"sealed","secret_mask":"…","log_payload":true,"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":0,"enabled":true}`,
	"route#bare": `{"route_key":"bare","name":"Bare","enabled":true,"target":"exec","target_config":{},"profile":"readonly","session_policy":"new"}`,
	"route#desk": `{"route_key":"desk","name":"Desk","enabled":true,"target":"llm","target_config":{"credential":"demo"},"profile":"readonly",
		"session_policy":"new","tools":{"sources":[{"provider":"shop","allow":["*"]}],"max_calls":9,"note":1}}`,
	"client#crm": `{"app_id":"crm","name":"CRM","allowed_routes":["desk"],"allowed_channels":[],"rate_limit_per_min":60,"enabled":true,
		"sealed_token":"sealed","token_mask":"…","token_hash":"abc"}`,
}

// putRaw writes an item of the registry past the store.
func (b *registryBundle) putRaw(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(registryPrefix + topology.TableRegistry), Item: it})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsOfTheReleaseBeforeAreReadListedAndSetUp(t *testing.T) {
	t.Parallel()
	b, s := administeredOn(t)
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	for pk, doc := range oldRecords {
		kind, name, _ := strings.Cut(pk, "#")
		it := at(pk, "record")
		it["gk"], it["gs"], it["doc"] = text(kind), text(name), text(doc)
		it["sv"], it["rev"] = &types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberN{Value: "1"}
		b.putRaw(t, it)
		if kind == "client" {
			row := at("token#abc", "record")
			row["sv"], row["doc"] = it["sv"], it["doc"]
			b.putRaw(t, row)
		}
	}
	by := registry.Change{By: "ada"}
	routes, err := s.ListRoutes(t.Context())
	if err != nil || len(routes) != 2 || routes[0].Audience != nil || routes[0].Revision == "" {
		t.Fatalf("%+v, %v", routes, err)
	}
	if auto, err := b.ReadAutoRoutes(t.Context()); err != nil || len(auto) != 0 {
		t.Fatalf("routes that never said so take part in automatic routing: %+v, %v", auto, err)
	}
	for _, key := range []string{"bare", "desk"} {
		before, err := s.RouteSetup(t.Context(), key)
		if err != nil || before.AgentClient != nil || before.AgentDirect != nil || before.ToolSources == nil {
			t.Fatalf("%+v, %v", before, err)
		}
		after, err := s.SaveRouteSetup(t.Context(), key, parsed(t,
			`{"expected_revision":%q,"agent_client":{"enabled":true},"tool_sources":[],"agent_direct":null}`, before.Revision), by)
		if err != nil || after.Revision == before.Revision || len(after.ToolSources) != 0 {
			t.Fatalf("%+v, %v", after, err)
		}
	}
	if v, err := b.Routes().Get(t.Context(), "desk"); err != nil || v.Value.Tools.MaxCalls != 9 || string(v.Value.Tools.Rest["note"]) != "1" {
		t.Fatalf("other members of tools are lost: %+v, %v", v.Value.Tools, err)
	}
	client, err := s.ClientSetup(t.Context(), "crm")
	if err != nil || client.AuthorizeURL != nil || !client.Enabled {
		t.Fatalf("%+v, %v", client, err)
	}
	_, err = s.SaveClientSetup(t.Context(), "crm", parsed(t,
		`{"expected_revision":%q,"enabled":true,"agent_authorize_url":"https://crm.example/agent","allowed_routes":["desk"]}`, client.Revision), by)
	if err != nil {
		t.Fatal(err)
	}
	sameTokenRow(t, b, "crm")
	if overview, err := s.AgentOverview(t.Context(), 30); err != nil || len(overview.Applications) != 1 || len(overview.Workspaces) != 2 {
		t.Fatalf("%+v, %v", overview, err)
	}
	if err := s.DeleteTarget(t.Context(), "exec", by); err == nil {
		t.Fatal("the target of an old route was deleted")
	}
	if list, err := s.ListProviders(t.Context()); err != nil || len(list) != 1 || list[0].SpecRefreshedAt != "" {
		t.Fatalf("%+v, %v", list, err)
	}
}
