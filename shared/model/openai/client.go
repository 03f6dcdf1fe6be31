package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bailing/shared/model"
	"bailing/shared/outbound"
)

// maxResponse bounds the bytes of an answer.
const maxResponse = 8 << 20

// Sender sends one guarded HTTP request; [outbound.Client] is one.
type Sender interface {
	Do(ctx context.Context, r outbound.Request) (*outbound.Response, error)
}

// Client is a [model.Client]. It is safe for concurrent use.
type Client struct{ sender Sender }

var _ model.Client = (*Client)(nil)

// New returns a client whose requests leave through s.
func New(s Sender) *Client { return &Client{sender: s} }

// Complete runs one round. Errors are [*model.Error]; their Cause is the [*outbound.Error] when no answer came.
func (c *Client) Complete(ctx context.Context, ep model.Endpoint, r model.Request, timeout time.Duration) (model.Response, error) {
	body, err := encodeRequest(r)
	if err != nil {
		return model.Response{}, &model.Error{Public: "LLM request cannot be encoded", Cause: err}
	}
	res, err := c.sender.Do(ctx, outbound.Request{
		Method:      http.MethodPost,
		URL:         completionsURL(ep.BaseURL),
		Header:      headers(ep),
		Body:        body,
		Timeout:     model.ClampTimeout(timeout),
		MaxResponse: maxResponse,
		OneSend:     true, // a repeated round is paid for twice
	})
	if err != nil {
		return model.Response{}, sendError(err)
	}
	if res.Status < 200 || res.Status > 299 {
		return model.Response{}, model.HTTPError(res.Status, string(res.Body), ep.APIKey)
	}
	if res.Truncated {
		return model.Response{}, unparsable(res.Status, errTooLarge)
	}
	return decodeResponse(res.Status, res.Body, r.Messages, ep.APIKey)
}

// completionsURL appends to the path of base and leaves a query (Azure's api-version) where it is.
func completionsURL(base string) string {
	path, query, hasQuery := strings.Cut(base, "?")
	path = strings.TrimSuffix(path, "/") + "/chat/completions"
	if hasQuery {
		path += "?" + query
	}
	return path
}

func headers(ep model.Endpoint) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if ep.APIKey != "" {
		h.Set("Authorization", "Bearer "+ep.APIKey)
		if isAzure(ep.BaseURL) {
			h.Set("Api-Key", ep.APIKey)
		}
	}
	return h
}

// isAzure reports whether base is a deployment of Azure OpenAI, which reads resource keys from a header of its own.
func isAzure(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".cognitiveservices.azure.com")
}

// sendError sorts what the guarded client reports. An address that is not permitted and a URL that cannot be used are
// mistakes of configuration; everything else may pass.
func sendError(err error) *model.Error {
	e := &model.Error{Transient: true, Public: "LLM network error", Cause: err}
	var out *outbound.Error
	if !errors.As(err, &out) {
		return e
	}
	e.Status = out.Status
	var badURL *outbound.URLError
	switch {
	case out.Timeout:
		e.Public = "LLM timeout"
	case errors.As(err, &badURL):
		e.Transient, e.Public = false, "LLM base_url cannot be used: "+badURL.Error()
	case out.Phase == outbound.PhaseBlocked:
		e.Transient, e.Public = false, "LLM address is not permitted"
	case out.Phase == outbound.PhaseRequest && !errors.Is(err, context.Canceled):
		e.Transient, e.Public = false, "LLM request is not possible with this base_url and credential"
	}
	return e
}
