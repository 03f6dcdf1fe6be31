package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/functions/admin"
	"bailing/functions/agentauth"
	"bailing/functions/approvals"
	"bailing/functions/approvalwait"
	"bailing/functions/callbackworker"
	"bailing/functions/jobworker"
	"bailing/functions/refresher"
	"bailing/functions/runs"
	"bailing/functions/sweeper"
	"bailing/scripts/local/gateway"
	"bailing/scripts/local/poller"
	"bailing/shared/awslocal/provision"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

// ahead is a clock that can be moved forward. Waits take real time.
type ahead struct{ by atomic.Int64 }

func (c *ahead) Now() time.Time                         { return time.Now().UTC().Add(time.Duration(c.by.Load())) }
func (c *ahead) After(d time.Duration) <-chan time.Time { return time.After(d) }

const (
	prefix     = "soak-"
	sweepEvery = 5 * time.Second
	grace      = 5 * time.Second
)

// hub is the product's functions in this process, with what invokes them.
type hub struct {
	clock   *ahead
	config  platform.Config
	gateway *gateway.Gateway
	stop    context.CancelFunc
	running sync.WaitGroup
	dir     string
}

func startHub(ctx context.Context, endpoint string) (_ *hub, err error) {
	h := &hub{clock: &ahead{}}
	if h.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return nil, err
	}
	t := topology.System()
	h.config = platform.Config{
		Region: "us-east-1", Endpoint: endpoint, AccessKey: setup, SecretKey: "soak", TablePrefix: prefix, Bucket: prefix + t.Bucket.Name,
		KeyFile: filepath.Join(h.dir, "secrets.key"), ServerToken: platform.NewToken(), EgressAllow: "loopback", BodyMax: 1 << 20,
	}
	ground := func(name string) *platform.Platform {
		c := h.config
		c.AccessKey = name
		return platform.New(name, c, platform.Options{Output: io.Discard, Clock: h.clock})
	}
	made, err := provision.Create(ctx, ground(setup).AWS(), t, prefix)
	if err != nil {
		return nil, err
	}
	h.config.JobsQueueURL, h.config.CallbacksQueueURL = made.QueueURLs[topology.QueueJobs], made.QueueURLs[topology.QueueCallbacks]
	h.config.ApprovalsMachine = made.Machines[topology.MachineApprovals]
	functions := map[string]lambda.Handler{}
	for name, build := range map[string]func(*platform.Platform) (lambda.Handler, error){
		"runs": runs.New, "admin": admin.New, "agentauth": agentauth.New, "approvals": approvals.New, "approvalwait": approvalwait.New, "jobworker": jobworker.New,
		"callbackworker": callbackworker.New, "sweeper": sweeper.New, "refresher": refresher.New,
	} {
		if functions[name], err = build(ground(name)); err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
	}
	if h.gateway, err = gateway.New(t, functions, gateway.Options{Clock: h.clock}); err != nil {
		return nil, err
	}
	ctx, h.stop = context.WithCancel(ctx)
	client := sqs.NewFromConfig(ground("poller").AWS())
	o := poller.Options{Clock: h.clock, Grace: grace} // deadlines are on the clock of the functions
	for _, f := range t.Functions {
		switch {
		case f.Queue != "":
			var q topology.Queue
			for _, q = range t.Queues {
				if q.Name == f.Queue {
					break
				}
			}
			p, err := poller.NewSQS(f, q, functions[f.Name], client, made.QueueURLs[f.Queue], o)
			if err != nil {
				return nil, err
			}
			h.running.Go(func() { p.Run(ctx) })
		case f.Every > 0:
			f.Every = sweepEvery
			p, err := poller.NewSchedule(f, functions[f.Name], o)
			if err != nil {
				return nil, err
			}
			h.running.Go(func() { p.Run(ctx) })
		}
	}
	return h, nil
}

func (h *hub) close() error {
	h.stop()
	h.running.Wait()
	return os.RemoveAll(h.dir)
}

// do makes a request to the hub.
func (h *hub) do(method, path, token string, body any) (status int, answer []byte) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // maps of texts
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(b))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.gateway.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// configure sets up one business, one route and one client, and returns the client's token. Requests that fail are repeated.
func (h *hub) configure(ctx context.Context, world string) (token string, err error) {
	for _, step := range []struct {
		path string
		body map[string]any
	}{
		{"targets", map[string]any{"name": "llm", "kind": "inhub"}},
		{"credentials", map[string]any{"name": "model", "kind": "chat", "base_url": world + "/v1", "api_key": "soak-key", "default_model": "soak"}},
		{"tool-providers", map[string]any{
			"name": "business", "base_url": world, "spec_source": "inline", "spec_json": specification, "secret": platform.NewToken(), "rate_limit_per_min": 0,
		}},
		{"routes", map[string]any{
			"route_key": "route", "name": "Route", "target": "llm", "target_config": map[string]any{"credential": "model"}, "session_policy": "new",
			"tools": map[string]any{"sources": []any{map[string]any{"provider": "business", "allow": []any{"soak.*"}, "subject_field": "operator"}}, "max_calls": 5},
		}},
		{"clients", map[string]any{"app_id": "client", "name": "Client", "allowed_routes": []any{"route"}, "rate_limit_per_min": 0}},
	} {
		for try := 0; ; try++ {
			status, answer := h.do(http.MethodPost, "/admin/api/"+step.path, h.config.ServerToken, step.body)
			if status == http.StatusOK {
				var v struct{ Token string }
				if err := json.Unmarshal(answer, &v); err != nil {
					return "", err
				}
				if v.Token != "" {
					token = v.Token
				}
				break
			}
			if try == 20 || ctx.Err() != nil {
				return "", fmt.Errorf("%s: %d %s", step.path, status, answer)
			}
		}
	}
	if token == "" { // its answer got lost
		status, answer := h.do(http.MethodGet, "/admin/api/clients/client/token", h.config.ServerToken, nil)
		var v struct{ Token string }
		if err := json.Unmarshal(answer, &v); err != nil || v.Token == "" {
			return "", fmt.Errorf("token: %d %s", status, answer)
		}
		token = v.Token
	}
	return token, nil
}

// listen serves on a port of its own until the context ends.
func listen(ctx context.Context, handler http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }() // ends with the context
	return "http://" + l.Addr().String(), nil
}
