package stacks

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

const (
	// stageName is the path prefix of the default URL.
	stageName = "v1"
	// streamTimeout is how long API Gateway holds a streamed answer open.
	streamMinutes = 15
)

// newAPI makes the REST API with exactly the routes of the topology: what they do not name, the gateway refuses.
func (s *stateless) newAPI() {
	log := s.newLogGroup("log-gateway", "/aws/apigateway/"+s.options.TablePrefix+"api")
	api := awsapigateway.NewRestApi(s.stack, jsii.String("api"), &awsapigateway.RestApiProps{
		RestApiName: jsii.String(s.options.TablePrefix + "api"),
		Description: jsii.String("the HTTP API of bailing"),
		EndpointConfiguration: &awsapigateway.EndpointConfiguration{
			Types: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		},
		// Every body travels as base64: what was signed is what arrives, whatever its content type says.
		BinaryMediaTypes: list("*/*"),
		CloudWatchRole:   jsii.Bool(s.options.AccountLogRole),
		DeployOptions:    s.stage(log),
	})
	api.Node().TryRemoveChild(jsii.String("Endpoint")) // an output that ours replaces
	for _, f := range s.topology.Functions {
		integration := s.integration(f)
		for _, r := range f.Routes {
			resource(api, r.Path).AddMethod(jsii.String(r.Method), integration, &awsapigateway.MethodOptions{
				AuthorizationType: awsapigateway.AuthorizationType_NONE, // functions check credentials (core §0.3)
				OperationName:     jsii.String(r.Handler),
			})
		}
	}
	addGatewayResponses(api)
	s.protect(api)
	s.addDomain(api)
	output(s.stack, "Url", *api.Url(), "where the API is; paths stand below it")
}

// Logins that the gateway lets through: on average per second, and at once.
const (
	loginRate  = 10
	loginBurst = 20
)

func (s *stateless) stage(log awslogs.LogGroup) *awsapigateway.StageOptions {
	o := &awsapigateway.StageOptions{
		StageName:            jsii.String(stageName),
		AccessLogDestination: awsapigateway.NewLogGroupLogDestination(log),
		AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLogFormat())),
		// The gateway's own execution log would hold header values and bodies.
		LoggingLevel:     awsapigateway.MethodLoggingLevel_OFF,
		DataTraceEnabled: jsii.Bool(false),
		// A login costs a slow hash, and nobody has proved anything yet; per address and user the hub itself counts (core §10.1).
		MethodOptions: &map[string]*awsapigateway.MethodDeploymentOptions{"/admin/login/POST": {
			ThrottlingRateLimit: jsii.Number(loginRate), ThrottlingBurstLimit: jsii.Number(loginBurst),
			LoggingLevel: awsapigateway.MethodLoggingLevel_OFF, DataTraceEnabled: jsii.Bool(false),
		}},
	}
	if s.options.ThrottleRate > 0 {
		o.ThrottlingRateLimit = jsii.Number(s.options.ThrottleRate)
		o.ThrottlingBurstLimit = jsii.Number(s.options.ThrottleBurst)
	}
	return o
}

// accessLogFormat is one JSON object per request: the resource, never the path, which may hold values; no address, no agent.
func accessLogFormat() string {
	b, err := json.Marshal(struct {
		Time        string `json:"time"`
		RequestID   string `json:"request_id"`
		Method      string `json:"method"`
		Route       string `json:"route"`
		Status      string `json:"status"`
		Bytes       string `json:"response_bytes"`
		Latency     string `json:"latency_ms"`
		Integration string `json:"integration_ms"`
		Refusal     string `json:"gateway_response"`
	}{
		"$context.requestTimeEpoch", "$context.requestId", "$context.httpMethod", "$context.resourcePath", "$context.status",
		"$context.responseLength", "$context.responseLatency", "$context.integrationLatency", "$context.error.responseType",
	})
	if err != nil {
		panic(err) // a struct of strings
	}
	return string(b)
}

// integration hands requests to f. One permission covers all its routes: a policy of a function holds 20 KB.
func (s *stateless) integration(f topology.Function) awsapigateway.Integration {
	o := &awsapigateway.LambdaIntegrationOptions{
		Proxy: jsii.Bool(true), ScopePermissionToMethod: jsii.Bool(false),
	}
	if f.Streaming {
		o.ResponseTransferMode = awsapigateway.ResponseTransferMode_STREAM
		o.Timeout = awscdk.Duration_Minutes(jsii.Number(streamMinutes))
	}
	return awsapigateway.NewLambdaIntegration(s.functions[f.Name], o)
}

// resource is the node of path in the tree of resources, which is made as far as it is not there.
func resource(api awsapigateway.RestApi, path string) awsapigateway.IResource {
	node := api.Root()
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		if child := node.GetResource(jsii.String(part)); child != nil {
			node = child
		} else {
			node = node.AddResource(jsii.String(part), nil)
		}
	}
	return node
}

// addGatewayResponses shapes what the gateway answers by itself. Unknown paths and methods get the contract's 404 (core §0.1)
// instead of a 403 that speaks of tokens. Defaults keep their statuses; without the CORS header a browser would show a script
// no answer at all.
func addGatewayResponses(api awsapigateway.RestApi) {
	const cors = "Access-Control-Allow-Origin"
	anyone := func() map[string]*string { return map[string]*string{cors: jsii.String("'*'")} }
	unknown := anyone()
	unknown["Cache-Control"] = jsii.String("'no-store'")
	api.AddGatewayResponse(jsii.String("unknown"), &awsapigateway.GatewayResponseOptions{
		Type:            awsapigateway.ResponseType_MISSING_AUTHENTICATION_TOKEN(),
		StatusCode:      jsii.String("404"),
		ResponseHeaders: &unknown,
		Templates:       &map[string]*string{"application/json": jsii.String(`{"error":"not found"}`)},
	})
	refused, failed := anyone(), anyone()
	api.AddGatewayResponse(jsii.String("refused"), &awsapigateway.GatewayResponseOptions{
		Type: awsapigateway.ResponseType_DEFAULT_4XX(), ResponseHeaders: &refused,
	})
	api.AddGatewayResponse(jsii.String("failed"), &awsapigateway.GatewayResponseOptions{
		Type: awsapigateway.ResponseType_DEFAULT_5XX(), ResponseHeaders: &failed,
	})
}
