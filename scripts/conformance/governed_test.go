package conformance_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// What a business publishes for hubs.
const (
	specPath  = "/.well-known/bailing/tools.json"
	movedPath = "/.well-known/bailing/moved.json"
	probePath = "/.well-known/bailing/authz-probe"
)

// noSignature is the one that the hub sends to see whether signatures are checked (core §4.2).
var noSignature = "sha256=" + strings.Repeat("0", 64)

// access is how a business answers reads of its specification.
type access struct {
	unsigned, invalid int    // statuses of the reads that nobody signed, or signed wrongly
	signed            int    // of a correctly signed read
	text              string // "" = the specification
}

var (
	public    = access{200, 200, 200, ""}
	protected = access{401, 401, 200, ""}
)

// accessOf is how the recorded business answered, by recording.
var accessOf = map[string]access{
	"provider-refresh-public-signed-required":   public,
	"provider-refresh-protected":                protected,
	"provider-refresh-unchanged":                protected,
	"provider-refresh-unsigned-open":            {200, 401, 200, ""},
	"provider-refresh-inconclusive":             {500, 500, 200, ""},
	"provider-refresh-redirect":                 {302, 302, 302, ""},
	"provider-refresh-badjson":                  {200, 200, 200, "{neither: [JSON"},
	"provider-refresh-public-allowed-protected": protected,
	"provider-refresh-public-allowed":           public,
}

// published is the part of a business that hubs read to govern it: its specification, and the probe of its authorization.
type published struct {
	mu    sync.Mutex
	spec  string
	open  access
	calls []call
}

// publish sets what the specification says, if spec is not empty, and who may read it.
func (p *published) publish(spec string, a access) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if spec != "" {
		p.spec = spec
	}
	p.open = a
}

// take returns the requests since it was last called.
func (p *published) take() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// serve answers requests below /.well-known/.
func (p *published) serve(w http.ResponseWriter, r *http.Request, c call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	switch path, _, _ := strings.Cut(c.uri, "?"); {
	case path == probePath && c.signed:
		reply(w, http.StatusOK, `{"authorized":false}`)
	case path == probePath:
		reply(w, http.StatusUnauthorized, `{"authorized":false,"error":"bad_signature"}`)
	case path == movedPath:
		reply(w, http.StatusOK, p.spec)
	case path == specPath:
		p.read(w, r, c)
	default:
		reply(w, http.StatusNotFound, `{"error":"not found"}`)
	}
}

func (p *published) read(w http.ResponseWriter, r *http.Request, c call) {
	status := p.open.invalid
	switch {
	case c.header.Get("X-Bailing-Signature") == "":
		status = p.open.unsigned
	case c.signed:
		status = p.open.signed
	}
	switch {
	case status >= 300 && status <= 399:
		http.Redirect(w, r, movedPath, status)
	case status != http.StatusOK:
		reply(w, status, `{"error":"not for you"}`)
	default:
		w.Header().Set("Cache-Control", "private, no-store")
		w.WriteHeader(status)
		io.WriteString(w, or(p.open.text, p.spec))
	}
}

// noteAsked keeps what the business was asked during the exchange that was replayed last.
func (r *replay) noteAsked(rec recording) {
	calls := r.business.take()
	if len(calls) >= 3 { // the two that must be refused are sent side by side
		slices.SortStableFunc(calls[1:3], func(a, b call) int {
			return strings.Compare(a.header.Get("X-Bailing-Signature"), b.header.Get("X-Bailing-Signature"))
		})
	}
	r.asked[rec.ID] = calls
	if recorded := r.requests[rec.ID]; recorded > 0 && len(calls) > recorded {
		r.differ(rec.ID, "%d requests at the business, ours %d", recorded, len(calls))
	}
}

// governedBy compares a read of the specification, or a probe, as the business got it.
func (r *replay) governedBy(rec recording) {
	base, n := attemptOf(rec.ID)
	calls := r.asked[base]
	if len(calls) < n {
		r.differ(rec.ID, "request not sent")
		return
	}
	got := calls[n-1]
	r.compareCall(rec, got, rec.Received.Headers["x-bailing-job-id"])
	if rec.Received.Headers["x-bailing-signature"] != noSignature {
		return
	}
	if got.header.Get("X-Bailing-Signature") != noSignature {
		r.differ(rec.ID, "another invalid signature")
	}
	if got.header.Get("X-Bailing-Timestamp") != calls[0].header.Get("X-Bailing-Timestamp") {
		r.differ(rec.ID, "another timestamp than the signed request's")
	}
}

// compareTools compares the names of tools that a refresh lists.
func (r *replay) compareTools(id, path string, want, got []any) {
	recorded, ours := []string{}, []string{}
	for _, v := range want {
		name, _, described := strings.Cut(v.(string), "（")
		if recorded = append(recorded, name); described {
			r.differ(id, "%s describes tools, ours names them", path)
		}
	}
	for _, v := range got {
		name, _ := v.(string)
		ours = append(ours, name)
	}
	slices.Sort(recorded)
	slices.Sort(ours)
	if !slices.Equal(recorded, ours) {
		r.differ(id, "%s %v, ours %v", path, recorded, ours)
	}
}
