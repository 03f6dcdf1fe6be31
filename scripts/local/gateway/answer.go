package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// remapped are the response headers that the service keeps for itself: a function's value arrives under this prefix.
const remappedPrefix = "X-Amzn-Remapped-"

var remapped = []string{"Connection", "Content-Length", "Date", "Server", "Www-Authenticate"}

// answer writes the function's response to w. On an error nothing was written.
func answer(w http.ResponseWriter, payload []byte) error {
	var res events.APIGatewayProxyResponse
	if err := json.Unmarshal(payload, &res); err != nil {
		return fmt.Errorf("not a proxy response: %w", err)
	}
	if res.StatusCode < 200 || res.StatusCode > 599 {
		return fmt.Errorf("status code %d", res.StatusCode)
	}
	body := []byte(res.Body)
	if res.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(res.Body); err != nil {
			return errors.New("body is not base64")
		}
	}
	writeHead(w, res.StatusCode, res.Headers, res.MultiValueHeaders)
	_, _ = w.Write(body) // fails only when the client is gone, or for a status without body
	return nil
}

// writeHead writes status and headers as the service does.
func writeHead(w http.ResponseWriter, status int, single map[string]string, multi map[string][]string) {
	function := http.Header{}
	for name, value := range single {
		function.Set(name, value)
	}
	for name, values := range multi {
		function.Del(name)
		for _, v := range values {
			function.Add(name, v)
		}
	}
	for _, name := range remapped {
		if values := function.Values(name); len(values) > 0 {
			function.Del(name)
			function[http.CanonicalHeaderKey(remappedPrefix+name)] = values
		}
	}
	for _, name := range hopByHop {
		function.Del(name)
	}
	if function.Get("Content-Type") == "" {
		function.Set("Content-Type", "application/json")
	}
	for name, values := range function {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
}

// refuse answers in the gateway's own voice.
func refuse(w http.ResponseWriter, status int, message string) {
	own(w, status, `{"message":"`+message+`"}`)
}

// notFound is the response that the deployment maps to unknown resources and methods (core §0.1).
func notFound(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	own(w, http.StatusNotFound, `{"error":"not found"}`)
}

func own(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
