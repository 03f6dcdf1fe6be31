package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp/routetree"
)

// event is the proxy event of r as JSON. path is the path as sent, without the stage.
func (g *Gateway) event(r *http.Request, id, path string, route routetree.Match[target], body []byte) ([]byte, error) {
	now := g.o.Clock.Now()
	sourceIP := sourceIP(r)
	headers := g.headers(r, id, sourceIP)
	query := parseQuery(r.URL.RawQuery)
	stage, prefix := "local", ""
	if g.o.Stage != "" {
		stage, prefix = g.o.Stage, "/"+g.o.Stage
	}
	e := events.APIGatewayProxyRequest{
		Resource:                        route.Resource,
		Path:                            path,
		HTTPMethod:                      r.Method,
		Headers:                         last(headers),
		MultiValueHeaders:               headers,
		QueryStringParameters:           last(query),
		MultiValueQueryStringParameters: query,
		PathParameters:                  route.Params,
		Body:                            base64.StdEncoding.EncodeToString(body),
		IsBase64Encoded:                 len(body) > 0,
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID: invoke.Account, APIID: "local", Stage: stage,
			DomainName: hostname(r.Host), RequestID: id, ExtendedRequestID: id, Protocol: r.Proto,
			Identity:     events.APIGatewayRequestIdentity{SourceIP: sourceIP, UserAgent: r.UserAgent()},
			ResourcePath: route.Resource, Path: prefix + path, HTTPMethod: r.Method,
			RequestTime: now.Format("02/Jan/2006:15:04:05 -0700"), RequestTimeEpoch: now.UnixMilli(),
		},
	}
	payload, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return payload, nil
}

// hopByHop are the headers that end at the gateway, beside those that Connection names (RFC 9110 §7.6.1).
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Expect",
}

// headers are the request's headers as the function sees them. Where the client came from is said by the gateway; an
// X-Forwarded-For of the client stays in front, for what it is worth (D24).
func (g *Gateway) headers(r *http.Request, id, sourceIP string) map[string][]string {
	h := r.Header.Clone()
	for _, v := range h["Connection"] {
		for _, name := range strings.Split(v, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
	h.Set("Host", r.Host)
	h.Set("X-Forwarded-For", strings.Join(append(h.Values("X-Forwarded-For"), sourceIP), ", "))
	proto, port := "http", "80"
	if r.TLS != nil {
		proto, port = "https", "443"
	}
	if _, p, err := net.SplitHostPort(r.Host); err == nil && p != "" {
		port = p
	}
	h.Set("X-Forwarded-Proto", proto)
	h.Set("X-Forwarded-Port", port)
	if h.Get("X-Amzn-Trace-Id") == "" {
		digest := sha256.Sum256([]byte(id))
		h.Set("X-Amzn-Trace-Id", fmt.Sprintf("Root=1-%08x-%s", uint32(g.o.Clock.Now().Unix()), hex.EncodeToString(digest[:12])))
	}
	return h
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	host, _, _ = strings.Cut(host, "%") // zone of a link-local address
	return host
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// parseQuery decodes a query as the service does: a semicolon separates like an ampersand, and what cannot be decoded
// stays as it is. It returns nil for none.
func parseQuery(raw string) map[string][]string {
	var query map[string][]string
	for _, pair := range strings.FieldsFunc(raw, func(c rune) bool { return c == '&' || c == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if query == nil {
			query = map[string][]string{}
		}
		name = unescape(name)
		query[name] = append(query[name], unescape(value))
	}
	return query
}

func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// last is the single-value form of a multi-value map: the last value of each name.
func last(multi map[string][]string) map[string]string {
	if multi == nil {
		return nil
	}
	single := make(map[string]string, len(multi))
	for name, values := range multi {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return single
}
