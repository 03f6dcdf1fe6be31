//go:build unix

package runtimeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/scripts/local/gateway"
	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp"
	"bailing/shared/topology"
)

// request is an event for fakeStream.
func request(do, to string) []byte {
	payload, err := json.Marshal(events.APIGatewayProxyRequest{
		Resource: "/long", Path: "/long", HTTPMethod: http.MethodPost,
		MultiValueQueryStringParameters: map[string][]string{"do": {do}, "to": {to}},
		RequestContext:                  events.APIGatewayProxyRequestContext{RequestID: "req-1", DomainName: "hub.example"},
	})
	if err != nil {
		panic(err) // strings
	}
	return payload
}

const (
	zeros     = "\x00\x00\x00\x00\x00\x00\x00\x00"
	committed = `{"statusCode":200,"multiValueHeaders":{"Cache-Control":["no-store"],"Content-Type":["application/json; charset=utf-8"]}}` + zeros
)

// stream invokes without waiting for the end. Pieces arrive in the first channel, which is closed before the second one receives.
func (w *world) stream(ctx context.Context, payload []byte) (<-chan string, <-chan error) {
	pieces, done := make(chan string, 100), make(chan error, 1)
	go func() {
		err := w.f.InvokeStream(ctx, payload, writerFunc(func(p []byte) (int, error) {
			pieces <- string(p)
			return len(p), nil
		}))
		close(pieces)
		done <- err
	}()
	return pieces, done
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func rest(pieces <-chan string) string {
	var b strings.Builder
	for p := range pieces {
		b.WriteString(p)
	}
	return b.String()
}

// upTo takes pieces until they end with suffix.
func upTo(pieces <-chan string, suffix string) string {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), suffix) {
		p, ok := <-pieces
		if !ok {
			break
		}
		b.WriteString(p)
	}
	return b.String()
}

func TestWhatAProgramStreams(t *testing.T) {
	t.Parallel()
	cases := []struct {
		program, do string
		want        string // of the stream; %d is the process
		err         string // "" = none
	}{
		{"stream", "", `{"statusCode":202,"multiValueHeaders":{"Content-Type":["application/json"]}}` + zeros + `{"pid":%d}`, ""},
		{"stream", "fail", `{"statusCode":409,"multiValueHeaders":{"Cache-Control":["no-store"],"Content-Type":["application/json; charset=utf-8"]}}` + zeros + `{"error":"taken"}`, ""},
		{"stream", "exit", "", "function exited: exit status 3"},
		{"broken", "", `{"statusCode":200}` + zeros + "part", "errorString: out of paper"},
		{"other-mode", "", "400", ""},
		{"one-piece", "", "", "a streamed answer has the content type application/vnd.awslambda.http-integration-response"},
	}
	for _, tc := range cases {
		t.Run(tc.program+" "+tc.do, func(t *testing.T) {
			w := setup(t, tc.program, 1)
			for range 2 {
				pieces, done := w.stream(t.Context(), request(tc.do, ""))
				got, err := rest(pieces), <-done
				want := tc.want
				if strings.Contains(want, "%d") {
					want = fmt.Sprintf(want, w.f.idle[0].cmd.Process.Pid)
				}
				if got != want || (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("%q, %v; want %q, %s", got, err, want, tc.err)
				}
			}
		})
	}
}

// What a program sends arrives before it sends more.
func TestAStreamIsPassedOnAsItComes(t *testing.T) {
	w := setup(t, "stream", 1)
	g := newGate(t)
	pieces, done := w.stream(t.Context(), request("pass,period,wait,period,wait", g.url))
	pid := <-g.arrived
	if got := upTo(pieces, "\n"); got != committed+"\n" {
		t.Errorf("at first %q", got)
	}
	g.released <- struct{}{}
	<-g.arrived
	if got := upTo(pieces, "\n"); got != "\n" {
		t.Errorf("then %q", got)
	}
	g.released <- struct{}{}
	if got, err := rest(pieces), <-done; got != `{"pid":`+pid+`}` || err != nil {
		t.Errorf("at last %q, %v", got, err)
	}
}

func TestAStreamThatBreaksOff(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		do     string
		breaks func(w *world, cancel func())
		want   error
	}{
		{"the program ends", "pass,period,wait,exit", func(*world, func()) {}, ErrExited},
		{"its time is over", "pass,period,wait,hold,wait", func(w *world, _ func()) { w.clock.Advance(timeout) }, invoke.ErrTimeout},
		{"the caller ends", "pass,period,wait,hold,wait", func(_ *world, cancel func()) { cancel() }, context.Canceled},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := setup(t, "stream", 1)
			g := newGate(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pieces, done := w.stream(ctx, request(tc.do, g.url))
			<-g.arrived
			if got := upTo(pieces, "\n"); got != committed+"\n" {
				t.Errorf("at first %q", got)
			}
			g.released <- struct{}{}
			tc.breaks(w, cancel)
			if strings.Contains(tc.do, "hold") {
				go func() { // it may or may not have come to its second wait
					select {
					case <-g.arrived:
					case <-t.Context().Done():
					}
				}()
			}
			if got, err := rest(pieces), <-done; got != "" || !errors.Is(err, tc.want) {
				t.Errorf("%q, %v; want %v", got, err, tc.want)
			}
			pieces, done = w.stream(t.Context(), request("", ""))
			if got, err := rest(pieces), <-done; !strings.HasPrefix(got, `{"statusCode":202`) || err != nil {
				t.Errorf("the next invocation: %q, %v", got, err)
			}
		})
	}
}

func TestAStreamWhoseReaderHasLeftIsReadToItsEnd(t *testing.T) {
	w := setup(t, "stream", 1)
	err := w.f.InvokeStream(t.Context(), request("", ""), writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }))
	if err != nil {
		t.Errorf("err = %v", err)
	}
}

func TestAStreamingProgramCanAnswerInOnePiece(t *testing.T) {
	w := setup(t, "stream", 1)
	out, err := w.f.Invoke(t.Context(), request("fail", ""))
	if !bytes.HasSuffix(out, []byte(zeros+`{"error":"taken"}`)) || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}

// zeroReader never ends.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { return len(p), nil }

func TestTheSizeOfAStreamAtTheLimitAndPastIt(t *testing.T) {
	t.Parallel()
	for over, want := range []error{nil, invoke.ErrResponseTooLarge} {
		r := httptest.NewRequest(http.MethodPost, "/", io.LimitReader(zeroReader{}, int64(lambdahttp.StreamMax+over)))
		r.Header.Set("Content-Type", lambdahttp.StreamType)
		if err := copyStream(io.Discard, r); !errors.Is(err, want) {
			t.Errorf("%d bytes past the limit: %v, want %v", over, err, want)
		}
	}
}

// The whole way in the lane of built programs: HTTP, gateway, Runtime API, process, adapter, endpoint, and back.
func TestALongCallFromAProcessToAnHTTPClient(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Options{Name: "f", Path: self, Env: map[string]string{fakeVariable: "stream"}, Timeout: 15 * time.Minute, Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tp := topology.Topology{Functions: []topology.Function{{
		Name: "f", Streaming: true, Timeout: 15 * time.Minute, Routes: []topology.Route{{Method: http.MethodPost, Path: "/long", Handler: "H"}},
	}}}
	gw, err := gateway.New(tp, map[string]lambda.Handler{"f": f}, gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gw)
	defer server.Close()
	g := newGate(t)
	go func() { <-g.arrived }()
	query := url.Values{"do": {"pass,period,wait,panic"}, "to": {g.url}}
	res, err := http.Post(server.URL+"/long?"+query.Encode(), "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "\n" {
		t.Fatalf("%q, %v", first, err)
	}
	close(g.released)
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != 200 || string(body) != `{"error":"reconciliation_required"}` || err != nil {
		t.Errorf("answer %d %q, %v", res.StatusCode, body, err)
	}
	if res.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("headers %v", res.Header)
	}
}
