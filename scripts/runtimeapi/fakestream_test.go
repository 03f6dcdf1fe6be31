package runtimeapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

// fakeStream is a streaming function written with the real adapter. The query of a request says what its endpoint does; its clock moves
// only then.
func fakeStream() lambdahttp.StreamHandler {
	m := clock.NewManual(time.Now())
	return lambdahttp.Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, do := range strings.Split(r.URL.Query().Get("do"), ",") {
			switch do {
			case "pass":
				lambdahttp.Passed(r.Context(), func(error) []byte { return []byte(`{"error":"reconciliation_required"}`) })
			case "period":
				m.Advance(lambdahttp.Heartbeat)
			case "wait":
				res, err := http.Get(r.URL.Query().Get("to") + fmt.Sprint(os.Getpid()))
				if err == nil {
					_ = res.Body.Close()
				}
			case "fail":
				lambdahttp.WriteError(w, r, apierr.New(apierr.Conflict, "taken"))
				return
			case "panic":
				panic("out of order")
			case "exit":
				os.Exit(3)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, `{"pid":%d}`, os.Getpid())
	}), lambdahttp.Options{Clock: m})
}

// brokenStream answers with a body that fails.
func brokenStream() (*events.APIGatewayProxyStreamingResponse, error) {
	body := io.MultiReader(strings.NewReader("part"), failing{})
	return &events.APIGatewayProxyStreamingResponse{StatusCode: http.StatusOK, Body: body}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("out of paper") }

// otherMode answers in a mode that does not exist, and then says what it got for it.
func (c *rawClient) otherMode() {
	for {
		id := c.next()
		url := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/" + id + "/response"
		post := func(mode, body string) int {
			req, err := http.NewRequest(http.MethodPost, url, io.MultiReader(strings.NewReader(body)))
			if err != nil {
				panic(err)
			}
			req.Header.Set("Lambda-Runtime-Function-Response-Mode", mode)
			req.Header.Set("Content-Type", lambdahttp.StreamType)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				panic(err)
			}
			_ = res.Body.Close()
			return res.StatusCode
		}
		refused := post("turtle", "x")
		post("streaming", fmt.Sprint(refused))
	}
}
