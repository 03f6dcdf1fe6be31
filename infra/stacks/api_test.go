package stacks_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailing/infra/stacks"
	"bailing/shared/topology"
)

// paths are the resources of the API by logical id, as paths.
func (a *assembly) paths(t *testing.T) map[string]string {
	t.Helper()
	api := a.stateless.only(t, "AWS::ApiGateway::RestApi")
	parent, part := map[string]string{}, map[string]string{}
	for _, r := range a.stateless.of("AWS::ApiGateway::Resource") {
		parent["«"+r.id+"»"] = a.resolve(r.Properties["ParentId"])
		part["«"+r.id+"»"] = r.Properties["PathPart"].(string)
	}
	root := "«" + api.id + ".RootResourceId»"
	paths := map[string]string{root: "/"}
	for id := range parent {
		path := ""
		for at := id; at != root; at = parent[at] {
			path = "/" + part[at] + path
		}
		paths[id] = path
	}
	return paths
}

func TestRoutesAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	want := map[string]string{}
	for _, f := range system.Functions {
		for _, r := range f.Routes {
			want[r.Method+" "+r.Path] = "«" + a.function(t, f.Name).id + ".Arn»"
		}
	}
	paths, used := a.paths(t), map[string]bool{}
	for _, m := range a.stateless.of("AWS::ApiGateway::Method") {
		path := paths[a.resolve(m.Properties["ResourceId"])]
		used[path] = true
		route := fmt.Sprintf("%s %s", m.Properties["HttpMethod"], path)
		fn, known := want[route]
		if !known {
			t.Errorf("%s is in no topology", route)
			continue
		}
		delete(want, route)
		m.want(t, "AuthorizationType", "NONE")
		m.want(t, "Integration.Type", "AWS_PROXY")
		m.want(t, "Integration.IntegrationHttpMethod", http.MethodPost)
		if uri := a.resolve(at(m.Properties, "Integration.Uri")); !strings.Contains(uri, "functions/"+fn+"/invocations") {
			t.Errorf("%s is served by %s", route, uri)
		}
	}
	for route := range want {
		t.Errorf("%s is missing", route)
	}
	for _, path := range paths {
		inside := path == "/"
		for u := range used {
			inside = inside || strings.HasPrefix(u+"/", path+"/")
		}
		if !inside {
			t.Errorf("the resource %s leads nowhere", path)
		}
	}
}

func TestTheAPI(t *testing.T) {
	t.Parallel()
	a := product(t)
	api := a.stateless.only(t, "AWS::ApiGateway::RestApi")
	api.want(t, "EndpointConfiguration.Types.0", "REGIONAL")
	api.want(t, "EndpointConfiguration.Types.1", nil)
	api.want(t, "BinaryMediaTypes.0", "*/*")
	api.want(t, "DisableExecuteApiEndpoint", nil)
	stage := a.stateless.only(t, "AWS::ApiGateway::Stage")
	stage.want(t, "StageName", "v1")
	stage.want(t, "MethodSettings.0.LoggingLevel", "OFF")
	stage.want(t, "MethodSettings.0.DataTraceEnabled", false)
	stage.want(t, "MethodSettings.0.ThrottlingRateLimit", nil)
	// Whoever logs in has proved nothing yet, and costs a slow hash.
	stage.want(t, "MethodSettings.1.ResourcePath", "/~1admin~1login")
	stage.want(t, "MethodSettings.1.HttpMethod", "POST")
	stage.want(t, "MethodSettings.1.ThrottlingRateLimit", 10.0)
	stage.want(t, "MethodSettings.1.ThrottlingBurstLimit", 20.0)
	log := a.stateless.one(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/apigateway/bailing-api")
	if got := a.resolve(at(stage.Properties, "AccessLogSetting.DestinationArn")); !strings.Contains(got, "«"+log.id+"»") {
		t.Errorf("access is logged to %s", got)
	}
	format, _ := at(stage.Properties, "AccessLogSetting.Format").(string)
	if !strings.Contains(format, "$context.resourcePath") || !strings.Contains(format, "$context.requestId") {
		t.Errorf("access log %s", format)
	}
	for _, value := range []string{"$context.path", "$context.identity", "querystring", "header", "authorizer"} {
		if strings.Contains(format, value) {
			t.Errorf("the access log holds %s: ids yes, values no (I10)", value)
		}
	}
}

// One permission for each function: with one for each method, the policy of a function with many routes would be too long.
func TestTheGatewayMayInvokeWhatItServes(t *testing.T) {
	t.Parallel()
	a := product(t)
	api := a.stateless.only(t, "AWS::ApiGateway::RestApi")
	got := map[string]int{}
	for _, p := range a.stateless.of("AWS::Lambda::Permission") {
		if p.Properties["Principal"] == "apigateway.amazonaws.com" {
			got[a.resolve(p.Properties["FunctionName"])]++
			if source := a.resolve(p.Properties["SourceArn"]); !strings.Contains(source, "«"+api.id+"»") {
				t.Errorf("%s: any API may invoke it: %s", p.id, source)
			}
		}
	}
	for _, f := range topology.System().Functions {
		want := 0
		if len(f.Routes) > 0 {
			want = 1
		}
		if n := got["«"+a.function(t, f.Name).id+".Arn»"]; n != want {
			t.Errorf("%s: %d permissions, want %d", f.Name, n, want)
		}
	}
}

func TestGatewayResponses(t *testing.T) {
	t.Parallel()
	a := product(t)
	unknown := a.stateless.one(t, "AWS::ApiGateway::GatewayResponse", "ResponseType", "MISSING_AUTHENTICATION_TOKEN")
	unknown.want(t, "StatusCode", "404")
	templates, _ := unknown.Properties["ResponseTemplates"].(map[string]any)
	if templates["application/json"] != `{"error":"not found"}` {
		t.Errorf("an unknown path answers %v (core §0.1)", templates)
	}
	// A status on a default would give every refusal, a 413 or a 429 alike, that one status.
	for _, kind := range []string{"DEFAULT_4XX", "DEFAULT_5XX"} {
		a.stateless.one(t, "AWS::ApiGateway::GatewayResponse", "ResponseType", kind).want(t, "StatusCode", nil)
	}
	for _, r := range a.stateless.of("AWS::ApiGateway::GatewayResponse") {
		headers, _ := r.Properties["ResponseParameters"].(map[string]any)
		if headers["gatewayresponse.header.Access-Control-Allow-Origin"] != "'*'" {
			t.Errorf("%s: a browser would hide it: %v", r.id, headers)
		}
	}
}

func TestStreamingFunctionsStream(t *testing.T) {
	t.Parallel()
	system := topology.System()
	system.Functions = append(system.Functions, topology.Function{
		Name: "streamer", Purpose: "p", Streaming: true, Timeout: 15 * time.Minute, MemoryMB: 128,
		Routes: []topology.Route{
			{Method: http.MethodGet, Path: "/chat/{entry}/events/{job}", Handler: "Stream", Auth: topology.Public, Summary: "s"},
			{Method: http.MethodGet, Path: "/", Handler: "Root", Auth: topology.Public, Summary: "s"},
		},
	})
	a := synth(t, system, stacks.DefaultOptions())
	paths := a.paths(t)
	streaming := 0
	for _, m := range a.stateless.of("AWS::ApiGateway::Method") {
		path := paths[a.resolve(m.Properties["ResourceId"])]
		if path == "/" || strings.HasPrefix(path, "/chat/") {
			streaming++
			m.want(t, "Integration.ResponseTransferMode", "STREAM")
			m.want(t, "Integration.TimeoutInMillis", 900_000.0)
			if uri := a.resolve(at(m.Properties, "Integration.Uri")); !strings.Contains(uri, "response-streaming-invocations") {
				t.Errorf("%s is invoked by %s", path, uri)
			}
		} else {
			m.want(t, "Integration.ResponseTransferMode", nil)
		}
	}
	if streaming != 2 {
		t.Errorf("%d streaming methods, want 2", streaming)
	}
}

func TestAlarmsWatchDeadLetters(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, q := range topology.System().Queues {
		alarm := a.stateless.one(t, "AWS::CloudWatch::Alarm", "AlarmName", "bailing-"+q.Name+"-dlq")
		alarm.want(t, "Namespace", "AWS/SQS")
		alarm.want(t, "MetricName", "ApproximateNumberOfMessagesVisible")
		alarm.want(t, "Threshold", 1.0)
		alarm.want(t, "ComparisonOperator", "GreaterThanOrEqualToThreshold")
		alarm.want(t, "AlarmActions", nil)
		dead := a.queue(t, q.Name+"-dlq")
		if got := a.resolve(at(alarm.Properties, "Dimensions.0.Value")); got != "«"+dead.id+".QueueName»" {
			t.Errorf("%s watches %s", alarm.id, got)
		}
	}
}

// The dashboard shows what docs/operations.md says the functions write, with the dimensions it names.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()
	a := product(t)
	body := a.resolve(a.stateless.only(t, "AWS::CloudWatch::Dashboard").Properties["DashboardBody"])
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	name, rows := regexp.MustCompile("`([a-z_]+)`"), 0
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !name.MatchString(cells[1]) {
			continue
		}
		rows++
		dimensions := "function"
		for _, d := range name.FindAllStringSubmatch(regexp.MustCompile(`\(.*\)`).ReplaceAllString(cells[2], ""), -1) {
			dimensions += "," + d[1]
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			search := fmt.Sprintf(`SEARCH('{Bailing,%s} MetricName=\"%s\"'`, dimensions, m[1])
			if !strings.Contains(body, search) {
				t.Errorf("the dashboard does not %s", search)
			}
		}
	}
	if !found || rows == 0 {
		t.Error("docs/operations.md lists no metrics")
	}
}
