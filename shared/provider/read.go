package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/signature"
)

// Bounds of reading a specification (core §4.2).
const (
	readTimeout  = 10 * time.Second // per request
	MaxSpecBytes = 5 << 20
)

// invalidSignature is a signature of the right form that no secret makes.
var invalidSignature = "sha256=" + strings.Repeat("0", 64)

// Warning is something that a refresh lets pass and its author should change.
type Warning struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// reading is what came of reading a specification from its URL.
type reading struct {
	text     []byte
	probe    registry.AccessProbe
	warnings []Warning
	refusal  string // why the text must not be used; "" when it may
}

// read reads the specification of p as its policy says, and looks who else may read it. It never fails: what went wrong is the
// finding.
func (s *Service) read(ctx context.Context, p *registry.Provider, secret []byte) reading {
	if p.SpecAccessPolicy == registry.PublicAllowed {
		return s.readPublic(ctx, p)
	}
	return s.readSigned(ctx, p, secret)
}

// readPublic makes one unsigned request, and never another one with a signature.
func (s *Service) readPublic(ctx context.Context, p *registry.Provider) reading {
	a := s.ask(ctx, p, nil, MaxSpecBytes)
	r := reading{text: a.body, probe: registry.AccessProbe{Status: registry.AccessPublic, UnsignedHTTP: a.status}}
	if a.refusal != "" {
		r.probe.Status, r.refusal = registry.AccessInconclusive, "reading the specification without a signature failed: "+a.refusal
		if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
			r.refusal += "; if it is protected on purpose, set spec_access_policy to signed_required"
		}
		r.probe.Reason = r.refusal
	}
	r.probe.At = registry.ProbeTime(s.Clock.Now())
	return r
}

// readSigned makes a correctly signed request and, when that succeeds, one without and one with an invalid signature, side by
// side: both must be refused (core §4.2).
func (s *Service) readSigned(ctx context.Context, p *registry.Provider, secret []byte) reading {
	path, err := outbound.RequestPath(p.SpecURL)
	if err != nil { // it was checked when it was saved
		return s.inconclusive(registry.AccessProbe{}, "spec_url is not usable: "+err.Error())
	}
	good := signature.SignTool(string(secret), signature.SpecFetch(path), s.Clock.Now())
	a := s.ask(ctx, p, &good, MaxSpecBytes)
	probe := registry.AccessProbe{SignedHTTP: a.status}
	if a.refusal != "" {
		return s.inconclusive(probe, "reading the specification with a correct signature failed: "+a.refusal)
	}
	var unsigned, invalid answer
	var both sync.WaitGroup
	both.Go(func() { unsigned = s.ask(ctx, p, nil, 1) })
	both.Go(func() {
		invalid = s.ask(ctx, p, &signature.Headers{Timestamp: good.Timestamp, Signature: invalidSignature}, 1)
	})
	both.Wait()
	probe.UnsignedHTTP, probe.InvalidHTTP = unsigned.status, invalid.status
	switch probe.Status = Access(unsigned.status, invalid.status); probe.Status {
	case registry.AccessPublic:
		probe.Reason = "the specification must be readable with a correct signature only, but " + who(unsigned, invalid) +
			" can read it, too; check the signature in the business, or set spec_access_policy to public_allowed"
	case registry.AccessInconclusive:
		return s.inconclusive(probe, "whether others can read the specification is not clear: "+
			unsigned.describe("a request without a signature")+", "+invalid.describe("one with an invalid signature")+
			"; both must get 401, 403 or 404")
	}
	probe.At = registry.ProbeTime(s.Clock.Now())
	r := reading{text: a.body, probe: probe}
	if probe.Status == registry.AccessPublic {
		r.refusal = probe.Reason
		return r
	}
	if w, ok := cacheable(a.header); ok {
		r.warnings = append(r.warnings, w)
		r.probe.Reason = w.Message
	}
	return r
}

func (s *Service) inconclusive(probe registry.AccessProbe, why string) reading {
	probe.Status, probe.Reason, probe.At = registry.AccessInconclusive, why, registry.ProbeTime(s.Clock.Now())
	return reading{probe: probe, refusal: why}
}

func who(unsigned, invalid answer) string {
	switch {
	case unsigned.success() && invalid.success():
		return "requests without a signature and with an invalid one"
	case unsigned.success():
		return "a request without a signature"
	}
	return "a request with an invalid signature"
}

// answer is what one request for a specification brought.
type answer struct {
	status  int // 0 without an answer
	header  http.Header
	body    []byte
	refusal string // why it is no specification
}

func (a answer) success() bool { return success(a.status) }

func success(status int) bool { return status >= 200 && status <= 299 }

// Refused reports the statuses that protect a specification (core §4.2).
func Refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
}

// Access is what two reads without a good signature say about a specification whose signed read succeeded (core §4.2); a status is
// 0 when no answer came.
func Access(unsigned, invalid int) registry.AccessStatus {
	switch {
	case success(unsigned) || success(invalid):
		return registry.AccessPublic
	case Refused(unsigned) && Refused(invalid):
		return registry.AccessProtected
	}
	return registry.AccessInconclusive
}

func (a answer) describe(request string) string {
	if a.status == 0 {
		return request + " got no answer (" + a.refusal + ")"
	}
	return fmt.Sprintf("%s got HTTP %d", request, a.status)
}

// ask makes one request for the specification of p; at most max bytes of the answer are kept. With max 1 only the status
// matters.
func (s *Service) ask(ctx context.Context, p *registry.Provider, signed *signature.Headers, max int64) answer {
	h := http.Header{"Accept": {"application/json, application/yaml;q=0.9, */*;q=0.1"}}
	if signed != nil {
		h.Set("X-Bailing-Timestamp", signed.Timestamp)
		h.Set("X-Bailing-Signature", signed.Signature)
	}
	res, err := s.HTTP.Do(ctx, outbound.Request{
		Method: http.MethodGet, URL: p.SpecURL, Header: h, Timeout: readTimeout, MaxResponse: max, OneSend: true,
	})
	if err != nil {
		var failed *outbound.Error
		if errors.As(err, &failed) {
			// The head of an answer decides who may read, even if its body ends early.
			return answer{status: failed.Status, header: failed.Header, refusal: noAnswer(failed)}
		}
		return answer{refusal: "the request could not be made"}
	}
	a := answer{status: res.Status, header: res.Header, body: res.Body}
	switch {
	case res.Status >= 300 && res.Status <= 399:
		a.refusal = fmt.Sprintf("HTTP %d; redirects are not followed, name the final address", res.Status)
	case !a.success():
		a.refusal = fmt.Sprintf("HTTP %d", res.Status)
	case res.Truncated && max > 1:
		a.refusal = fmt.Sprintf("it has more than %d bytes", max)
	}
	return a
}

// noAnswer says in our words why a whole answer did not come.
func noAnswer(e *outbound.Error) string {
	switch {
	case e.Timeout:
		return "no whole answer in time"
	case e.Phase == outbound.PhaseBlocked:
		return "the address is not permitted; an operator opens private networks with BAILING_EGRESS_ALLOW"
	case e.Phase == outbound.PhaseResolve:
		return "the host name cannot be resolved"
	case e.Phase == outbound.PhaseTLS:
		return "no TLS connection could be made"
	case e.Phase == outbound.PhaseBody:
		return "the answer ended early"
	case !e.Connected:
		return "no connection could be made"
	}
	return "the connection broke before a whole answer"
}

// cacheable reports that an answer which only a signature may read could be kept by a cache and given to others (seed: Tool
// Provider Spec).
func cacheable(h http.Header) (Warning, bool) {
	if Uncached(h) {
		return Warning{}, false
	}
	return Warning{
		Code:       "spec_cacheable",
		Message:    "the signed answer may be kept by a cache and given to others",
		Suggestion: "Answer signed reads of the specification with Cache-Control: private, no-store.",
	}, true
}

// Uncached reports whether an answer has both directives that a specification for signed reads needs.
func Uncached(h http.Header) bool {
	var directives []string
	for _, line := range h.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			directives = append(directives, strings.ToLower(strings.TrimSpace(d)))
		}
	}
	return slices.Contains(directives, "no-store") && slices.Contains(directives, "private")
}
