package runs_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/runs"
	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

// api is the function as API Gateway invokes it.
type api struct {
	*jobtest.World
	t       *testing.T
	handler lambda.Handler
	token   string
}

func open(t *testing.T, options ...jobtest.Option) *api {
	t.Helper()
	a := &api{World: jobtest.New(t, options...), t: t}
	a.token = a.Seed()
	var err error
	if a.handler, err = runs.New(a.Platform); err != nil {
		t.Fatal(err)
	}
	return a
}

func configure(f func(*platform.Config)) jobtest.Option { return jobtest.Configure(f) }

// answer is a response with its body decoded from transport.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

func (a *api) invoke(payload []byte) answer {
	a.t.Helper()
	out, err := a.handler.Invoke(a.t.Context(), payload)
	if err != nil {
		a.t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		a.t.Fatal(err)
	}
	if r.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			a.t.Fatal(err)
		}
		r.Body = string(b)
	}
	h := http.Header{}
	for name, values := range r.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return answer{r.StatusCode, h, r.Body}
}

// call sends a request to the resource of the topology that path belongs to.
func (a *api) call(method, resource, path, token, body string) answer {
	a.t.Helper()
	e := events.APIGatewayProxyRequest{
		Resource: resource, Path: path, HTTPMethod: method, IsBase64Encoded: true, Body: base64.StdEncoding.EncodeToString([]byte(body)),
		MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}},
		RequestContext:    events.APIGatewayProxyRequestContext{RequestID: "req-1", DomainName: "hub.example", Stage: "v1"},
	}
	if token != "" {
		e.MultiValueHeaders["Authorization"] = []string{"Bearer " + token}
	}
	payload, err := json.Marshal(e)
	if err != nil {
		a.t.Fatal(err)
	}
	r := a.invoke(payload)
	if method == http.MethodHead {
		return r
	}
	// Every answer is one that the OpenAPI document lists.
	contracttest.Response(a.t, method, resource, r.Status, []byte(r.Body))
	return r
}

func (a *api) run(token, body string) answer {
	a.t.Helper()
	return a.call("POST", "/run", "/run", token, body)
}

func (a *api) get(token, id string) answer {
	a.t.Helper()
	return a.call("GET", "/jobs/{id}", "/jobs/"+id, token, "")
}

// want checks a whole JSON answer of the contract's envelope.
func (r answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if r.Status != status || r.Body != body {
		t.Errorf("%d %s, want %d %s", r.Status, r.Body, status, body)
	}
	r.json(t)
}

func (r answer) json(t *testing.T) {
	t.Helper()
	if ct, cc := r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"); ct != "application/json; charset=utf-8" || cc != "no-store" {
		t.Errorf("content type %q, cache control %q", ct, cc)
	}
}

func (r answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
