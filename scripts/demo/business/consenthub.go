package business

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hub asks the hub about authorizations and tells it decisions (agent §2.3 to §2.5), with the Client Token.
type hub struct {
	url, token string
	http       *http.Client
}

func newHub(base, token string) *hub {
	return &hub{url: base, token: token, http: &http.Client{
		// A redirect would carry the token along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// authorization is what the hub tells about a request (agent §2.3).
type authorization struct {
	ID     string `json:"authorization_id"`
	Client struct {
		AppID string `json:"app_id"`
		Name  string `json:"name"`
	} `json:"client"`
	Device struct {
		Name string `json:"name"`
	} `json:"device"`
	RequestedRoutes []string  `json:"requested_routes"`
	Status          string    `json:"status"`
	ExpiresAt       time.Time `json:"expires_at"`
}

// approval is who lets the agent in, and where to (agent §2.4).
type approval struct {
	Principal      principal      `json:"principal"`
	OnBehalfOf     string         `json:"on_behalf_of"`
	AllowedRoutes  []string       `json:"allowed_routes"`
	SubjectDisplay subjectDisplay `json:"subject_display"`
}

type principal struct {
	ID     string   `json:"id"`
	Tenant string   `json:"tenant"`
	Roles  []string `json:"roles"`
}

type subjectDisplay struct {
	Name string `json:"name"`
}

// hubError is a refusal of the hub.
type hubError struct {
	status int
	code   string
}

func (e *hubError) Error() string { return fmt.Sprintf("the hub answered %d %s", e.status, e.code) }

func (h *hub) context(ctx context.Context, id string) (a authorization, err error) {
	if err := h.call(ctx, http.MethodGet, id, "", nil, &a); err != nil {
		return a, err
	}
	if !strings.EqualFold(a.ID, id) || len(a.RequestedRoutes) == 0 {
		return a, errors.New("the hub answered with another authorization")
	}
	return a, nil
}

// approve returns where the browser goes with the code.
func (h *hub) approve(ctx context.Context, id string, a approval) (string, error) {
	return h.decide(ctx, id, "/approve", a)
}

// deny returns where the browser goes with the refusal.
func (h *hub) deny(ctx context.Context, id string) (string, error) {
	return h.decide(ctx, id, "/deny", struct{}{})
}

func (h *hub) decide(ctx context.Context, id, decision string, body any) (string, error) {
	var answer struct {
		RedirectURI string `json:"redirect_uri"`
	}
	err := h.call(ctx, http.MethodPost, id, decision, body, &answer)
	return answer.RedirectURI, err
}

// maxHubAnswer is the largest answer in bytes that is read.
const maxHubAnswer = 64 << 10

// call makes one request. Its errors tell neither the token nor the answer, which may hold a code.
func (h *hub) call(ctx context.Context, method, id, decision string, body, into any) error {
	ctx, cancel := patient(ctx)
	defer cancel()
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.url+"/agent-auth/v1/authorizations/"+id+decision, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxHubAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusOK {
		if json.Unmarshal(text, into) != nil {
			return errors.New("the hub's answer is not the JSON that was expected")
		}
		return nil
	}
	var no struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &no) != nil || !codePattern.MatchString(no.Error) {
		no.Error = "without_code"
	}
	return &hubError{res.StatusCode, no.Error}
}

// codePattern is how codes of errors look; nothing else of an answer reaches a log.
var codePattern = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)

// maxTarget is the longest address in bytes that a browser is sent to: a redirect_uri of 2048 characters and a state of 512, encoded.
const maxTarget = 8 << 10

// loopback reports whether target is the listener of an agent on the person's own machine, and its host: http, a literal loopback
// address with a port, no user info, no fragment (agent §2.2). It judges the text that the browser gets, since browsers repair what
// Go refuses or reads in another way.
func loopback(target string) (host string, ok bool) {
	odd := strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '#' })
	rest, plain := strings.CutPrefix(target, "http://")
	if odd || !plain || len(target) > maxTarget {
		return "", false
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		port, found := strings.CutPrefix(authority, host+":")
		if n, err := strconv.ParseUint(port, 10, 16); found && err == nil && n > 0 {
			_, err := url.Parse(target)
			return host, err == nil
		}
	}
	return "", false
}
