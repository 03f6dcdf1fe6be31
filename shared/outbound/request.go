package outbound

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
}

// connectionFields belong to the transport. A caller who could set them could change where a message ends.
var connectionFields = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Host": true, "Keep-Alive": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// build checks r, fills in its defaults and makes the request of net/http. The target is nil when the URL is wrong.
func (c *Client) build(r *Request) (*target, *http.Request, error) {
	t, err := parseTarget(r.URL)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !methods[r.Method]:
		return t, nil, &requestError{"method not supported"}
	case r.Timeout < 0:
		return t, nil, &requestError{"negative timeout"}
	case r.MaxResponse < 0:
		return t, nil, &requestError{"negative response limit"}
	}
	if r.Timeout == 0 {
		r.Timeout = DefaultTimeout
	}
	if r.MaxResponse == 0 {
		r.MaxResponse = DefaultMaxResponse
	}
	header, err := c.header(r.Header)
	if err != nil {
		return t, nil, err
	}
	req := &http.Request{
		Method: r.Method, URL: t.url, Host: t.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(r.Body) > 0 {
		// No GetBody: net/http could rewind the body and send it again.
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
		req.ContentLength = int64(len(r.Body))
	}
	return t, req, nil
}

func (c *Client) header(in http.Header) (http.Header, error) {
	out := make(http.Header, len(in)+2)
	for name, values := range in {
		if !validFieldName(name) {
			return nil, &requestError{"invalid header name"}
		}
		canonical := http.CanonicalHeaderKey(name)
		if connectionFields[canonical] {
			return nil, &requestError{"header " + canonical + " may not be set"}
		}
		for _, value := range values {
			if !validFieldValue(value) {
				return nil, &requestError{"invalid value of header " + canonical}
			}
			out[canonical] = append(out[canonical], value)
		}
	}
	if out.Get("User-Agent") == "" {
		out.Set("User-Agent", c.userAgent)
	}
	out.Set("Accept-Encoding", "identity")
	return out, nil
}

// validFieldName accepts a token of RFC 9110 §5.6.2.
func validFieldName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isAlnum(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// validFieldValue refuses what could end the field: control characters other than a tab.
func validFieldValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
