package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/shared/outbound"
)

// maxAnswer bounds what is read of the hub: the tools of the largest specification fit.
const maxAnswer = 32 << 20

// cookie names the session (core §0.2).
const cookie = "bz_sess"

// Answer is JSON of the hub.
type Answer struct {
	Status int
	Header http.Header
	Body   json.RawMessage
}

// OK reports a status of success.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Into decodes the answer.
func (a Answer) Into(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("the hub's answer has another form than this command knows: %w", err)
	}
	return nil
}

// Reason is the `error` of a refusal.
func (a Answer) Reason() string {
	var refusal struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(a.Body, &refusal) != nil || refusal.Error == "" {
		return fmt.Sprintf("status %d", a.Status)
	}
	return refusal.Error
}

// Session is the session that an answer gives, "" when it gives none.
func (a Answer) Session() string {
	for _, line := range a.Header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == cookie {
			return c.Value
		}
	}
	return ""
}

// Ask sends a request with a line of progress. body is sent as JSON, nil is none.
func (h *Hub) Ask(ctx context.Context, e *cli.Env, method, path string, body any, what string) (Answer, error) {
	defer e.Progress("%s", what)()
	return h.Call(ctx, method, path, body)
}

// Get reads path into v, and refuses every answer but success.
func (h *Hub) Get(ctx context.Context, e *cli.Env, path, what string, v any) (Answer, error) {
	a, err := h.Ask(ctx, e, http.MethodGet, path, nil, what)
	if err != nil {
		return a, err
	}
	if !a.OK() {
		return a, fmt.Errorf("%s: %s", what, a.Reason())
	}
	return a, a.Into(v)
}

// AskList reads a whole list, page after page as the hub's Link headers lead: its Body is one array.
func (h *Hub) AskList(ctx context.Context, e *cli.Env, path, what string) (Answer, error) {
	defer e.Progress("%s", what)()
	whole := Answer{}
	var all []json.RawMessage
	for query := ""; ; {
		a, err := h.Call(ctx, http.MethodGet, path+query, nil)
		if err != nil || !a.OK() {
			return a, err
		}
		next := a.Next()
		if whole.Status == 0 {
			if whole = a; next == "" {
				return whole, nil
			}
		}
		var page []json.RawMessage
		if err := json.Unmarshal(a.Body, &page); err != nil || next != "" && len(page) == 0 {
			return a, fmt.Errorf("%s: the hub's list has another form than this command knows", what)
		}
		all = append(all, page...)
		if next == "" {
			whole.Body, err = json.Marshal(all)
			return whole, err
		}
		query = next
	}
}

// Next is the query of the next page, "" on the last one.
func (a Answer) Next() string {
	target, relation, _ := strings.Cut(a.Header.Get("Link"), ">")
	if query, ok := strings.CutPrefix(target, "<?"); ok && strings.Contains(relation, `rel="next"`) {
		return "?" + query
	}
	return ""
}

// Call sends one request. What it returns is JSON with a status of success, 400 or 409; every other answer is an error that says
// what to do.
func (h *Hub) Call(ctx context.Context, method, path string, body any) (Answer, error) {
	res, err := h.send(ctx, method, path, body)
	if err != nil {
		return Answer{}, err
	}
	return h.judge(res)
}

// Lines reads a page of lines of JSON: the Body of a success is the lines as they came.
func (h *Hub) Lines(ctx context.Context, path string) (Answer, error) {
	res, err := h.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return Answer{}, err
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if res.Status == http.StatusOK && kind == "application/x-ndjson" && !res.Truncated {
		return Answer{res.Status, res.Header, res.Body}, nil
	}
	a, err := h.judge(res)
	if err == nil && a.OK() {
		err = fmt.Errorf("%s answered with %s, not with lines of JSON", h.URL, cmp.Or(kind, "no content type"))
	}
	return a, err
}

func (h *Hub) judge(res *outbound.Response) (Answer, error) {
	a := Answer{res.Status, res.Header, res.Body}
	switch {
	case res.Truncated:
		return a, fmt.Errorf("the hub's answer is larger than %d MiB", maxAnswer>>20)
	case res.Status >= 300 && res.Status < 400:
		return a, &cli.HintError{Err: fmt.Errorf("%s answers with a redirect (status %d)", h.URL, res.Status),
			Hint: "The token is not sent to another address: use the final one."}
	case !json.Valid(res.Body):
		return a, h.notTheHub(res)
	case a.OK(), res.Status == http.StatusBadRequest, res.Status == http.StatusConflict:
		return a, nil
	case res.Status == http.StatusUnauthorized:
		return a, h.unauthorized(a)
	case res.Status == http.StatusForbidden:
		return a, h.forbidden(a)
	}
	return a, fmt.Errorf("the hub answered with status %d: %s", res.Status, a.Reason())
}

func (h *Hub) send(ctx context.Context, method, path string, body any) (*outbound.Response, error) {
	r := outbound.Request{
		Method: method, URL: h.URL + path, Timeout: h.timeout, MaxResponse: maxAnswer, OneSend: method != http.MethodGet,
		Header: http.Header{"Accept": {"application/json"}},
	}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body = b
		r.Header.Set("Content-Type", "application/json")
	}
	switch {
	case h.token != "":
		r.Header.Set("Authorization", "Bearer "+h.token)
	case h.session != "":
		r.Header.Set("Cookie", cookie+"="+h.session)
	}
	if h.token == "" && method != http.MethodGet { // what a browser would say (core §0.2)
		u, err := url.Parse(h.URL)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Origin", u.Scheme+"://"+u.Host)
	}
	res, err := h.net.Do(ctx, r)
	if err != nil {
		return nil, h.unreachable(method, err)
	}
	return res, nil
}

func (h *Hub) unauthorized(a Answer) error {
	switch {
	case h.session != "":
		return &cli.HintError{Err: fmt.Errorf("the session of the profile %s has ended (status 401)", h.Profile),
			Hint: "Log in again: " + LoginCommand(h.Profile) + "."}
	case h.token == "":
		return fmt.Errorf("%s (status 401)", a.Reason())
	}
	return &cli.HintError{Err: errors.New("the hub does not accept the token (status 401)"),
		Hint: "BAILING_SERVER_TOKEN is not the server token of this hub."}
}

func (h *Hub) forbidden(a Answer) error {
	if h.session != "" {
		return &cli.HintError{Err: errors.New("the hub refuses this (status 403): " + a.Reason()),
			Hint: "'bailing whoami' shows your role; this needs one that may do more."}
	}
	return &cli.HintError{Err: errors.New("the hub refuses the token (status 403): " + a.Reason()),
		Hint: "BAILING_SERVER_TOKEN is a client's token; this command needs the server token."}
}

func (h *Hub) unreachable(method string, err error) error {
	var failed *outbound.Error
	hint := "Is the hub running, and is this its address?"
	switch {
	case !errors.As(err, &failed):
	case failed.Timeout && failed.Sent && method != http.MethodGet:
		return &cli.HintError{Err: fmt.Errorf("%s did not answer within %s", h.URL, h.timeout),
			Hint: "The hub may still do what was asked. Look, or give it longer with --timeout."}
	case failed.Timeout:
		return &cli.HintError{Err: fmt.Errorf("%s did not answer within %s", h.URL, h.timeout), Hint: "Give it longer with --timeout."}
	case failed.Phase == outbound.PhaseTLS:
		hint = "The certificate must be valid for this host and come from an authority that this machine trusts."
	}
	return &cli.HintError{Err: fmt.Errorf("the hub cannot be reached: %s", strings.TrimPrefix(err.Error(), "outbound: ")), Hint: hint}
}

// notTheHub is the error of an answer that only something else gives, such as a proxy's page.
func (h *Hub) notTheHub(res *outbound.Response) error {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind == "" {
		kind = "no content type"
	}
	return &cli.HintError{Err: fmt.Errorf("%s answered with status %d and %s, not with JSON", h.URL, res.Status, kind),
		Hint: "That is not the hub's API: a proxy, a login page or another service stands at this address."}
}
