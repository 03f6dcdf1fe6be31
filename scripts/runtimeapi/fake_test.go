package runtimeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"bailing/shared/lambdahttp"
)

// fakeVariable makes the test binary one of the programs below.
const fakeVariable = "BAILING_TEST_PROGRAM"

var programs = map[string]func(){
	"function":   func() { lambda.Start(fakeFunction{}) },
	"rude":       func() { (&rawClient{}).rude() },
	"dying":      func() { (&rawClient{}).answerAndDie() },
	"lingering":  func() { (&rawClient{}).answerAndLinger() },
	"init-error": func() { (&rawClient{}).cannotStart() },
	"exiting":    func() { fmt.Fprintln(os.Stderr, "AWS_REGION is not set"); os.Exit(1) },
	"host":       hostThatIsKilled,
	"mute":       func() { fmt.Println("up"); select {} },
	"stream":     func() { lambdahttp.Start(fakeStream()) },
	"one-piece":  func() { lambda.Start(fakeStream()) },
	"broken":     func() { lambda.Start(brokenStream) },
	"other-mode": func() { (&rawClient{}).otherMode() },
}

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		programs[name]()
		return
	}
	os.Exit(m.Run())
}

// command is the event of fakeFunction.
type command struct {
	Do    string `json:"do"`
	To    string `json:"to,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
	Pad   string `json:"pad,omitempty"`
}

// seen is what fakeFunction answers about itself.
type seen struct {
	PID      int       `json:"pid"`
	ID       string    `json:"id"`
	ARN      string    `json:"arn"`
	Deadline time.Time `json:"deadline"`
	Trace    string    `json:"trace"`
	Env      []string  `json:"env"`
	Event    int       `json:"event"` // bytes
	Dir      string    `json:"dir"`
}

// fakeFunction is a function written with the real runtime.
type fakeFunction struct{}

func (fakeFunction) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var c command
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	switch c.Do {
	case "wait":
		res, err := http.Get(c.To + fmt.Sprint(os.Getpid()))
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
	case "tick":
		conn, err := net.Dial("udp", c.To)
		if err != nil {
			return nil, err
		}
		go tick(conn)
	case "hold":
		select {}
	case "bytes":
		return bytes.Repeat([]byte("x"), c.Bytes), nil
	case "print":
		fmt.Print("one\ntw", "o\n")
		fmt.Fprint(os.Stderr, "unfinished")
		os.Exit(0)
	case "exit":
		os.Exit(3)
	case "panic":
		panic("out of order")
	case "error":
		return nil, errors.New("own error")
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	dir, _ := os.Getwd()
	return json.Marshal(seen{os.Getpid(), lc.AwsRequestID, lc.InvokedFunctionArn, deadline, os.Getenv("_X_AMZN_TRACE_ID"), os.Environ(), len(payload), dir})
}

// tick says every millisecond that this process runs.
func tick(conn net.Conn) {
	for range time.Tick(time.Millisecond) {
		_, _ = fmt.Fprint(conn, os.Getpid())
	}
}

// rawClient speaks the Runtime API by hand, to break its rules.
type rawClient struct{}

func (*rawClient) do(method, path, body string) (status int, id string) {
	req, err := http.NewRequest(method, "http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header.Get("Lambda-Runtime-Aws-Request-Id")
}

func (c *rawClient) next() (id string) {
	_, id = c.do(http.MethodGet, "invocation/next", "")
	return id
}

func (c *rawClient) post(path, body string) int {
	status, _ := c.do(http.MethodPost, path, body)
	return status
}

// rude breaks every rule, and answers with the statuses that it got for it.
func (c *rawClient) rude() {
	early := c.post("invocation/none/response", "{}")
	var after []int
	for {
		id := c.next()
		second, _ := c.do(http.MethodGet, "invocation/next", "")
		statuses := slices.Concat(after, []int{early, second, c.post("invocation/none/error", "{}"), c.post("init/error", "{}")})
		text, _ := json.Marshal(statuses)
		after = []int{
			c.post("invocation/"+id+"/response", string(text)),
			c.post("invocation/"+id+"/response", `"again"`),
			c.post("invocation/"+id+"/error", "{}"),
		}
	}
}

func (c *rawClient) answerAndDie() {
	c.post("invocation/"+c.next()+"/response", `"last words"`)
	os.Exit(1)
}

func (c *rawClient) answerAndLinger() {
	c.post("invocation/"+c.next()+"/response", `"answered"`)
	fmt.Println("answered")
	select {}
}

func (c *rawClient) cannotStart() {
	c.post("init/error", `{"errorType":"Config","errorMessage":"no region"}`)
	os.Exit(1)
}

// hostThatIsKilled invokes a function that waits at the gate of its first argument, until both are dead.
func hostThatIsKilled() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	f, err := New(Options{Name: "f", Path: self, Env: map[string]string{fakeVariable: "function"}, Timeout: time.Hour, Max: 1})
	if err != nil {
		panic(err)
	}
	_, err = f.Invoke(context.Background(), fmt.Appendf(nil, `{"do":"wait","to":%q}`, os.Args[1]))
	panic(err)
}
