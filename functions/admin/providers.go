package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/lambdahttp"
	"bailing/shared/provider"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// Providers reaches out to the businesses of tool providers (package provider).
type Providers interface {
	Refresh(ctx context.Context, name string, b provider.By) (provider.Refreshed, error)
	ProbeAuthz(ctx context.Context, name string, b provider.By) (registry.AuthzProbe, error)
	ProbeSaved(ctx context.Context, name string, b provider.By) registry.AuthzProbe
	Debug(ctx context.Context, name string, d provider.Debug, b provider.By) (provider.Debugged, error)
}

// SpecBodyMax caps the body that brings a specification, in bytes (D32).
const SpecBodyMax = 4 << 20

// Bounds of one answer: a Lambda's ends at 6 MB.
const (
	maxListedChanges   = 200       // tools whose changes are listed one by one
	maxChangeBytes     = 256 << 10 // of the texts of these, which JSON may write six times as long
	maxToolBytes       = 4 << 20   // of all tools in the list of a provider's tools
	reservedToolBytes  = 2 << 20   // of these, kept for tools whose parameters are left out
	maxShortText       = 1000      // UTF-16 units of path and scope of a tool that is shortened
	maxToolDiagnostics = 1000      // in the list of a provider's tools
)

type savedProvider struct {
	OK          bool                    `json:"ok"`
	AuthzProbe  registry.AuthzProbe     `json:"authz_probe"`
	Diagnostics []capability.Diagnostic `json:"diagnostics,omitempty"`
	Total       int                     `json:"diagnostics_total,omitempty"` // when not all are listed
	Warnings    []string                `json:"warnings,omitempty"`
}

// ListProviders serves GET /admin/api/tool-providers.
func (h *Handler) ListProviders(w http.ResponseWriter, r *http.Request) {
	list(w, r, h.d.Registry.ListProviders)
}

// SaveProviders serves POST /admin/api/tool-providers. Its body may hold a specification and has a cap of its own. The
// authorization probe runs once it is saved; whatever comes of that, the save stands.
func (h *Handler) SaveProviders(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), provider.Budget)
	defer cancel()
	body, err := lambdahttp.ReadJSON(r, SpecBodyMax)
	if apierr.CodeOf(err) == apierr.PayloadTooLarge {
		err = apierr.Of(err).With("message", "the specification is too large to be sent inline; shorten it, or let it be read from a spec_url")
	}
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	result, err := h.d.Registry.SaveProvider(ctx, body, change(r))
	if err != nil {
		lambdahttp.WriteError(w, r, late(ctx, err))
		return
	}
	out := savedProvider{OK: true, Diagnostics: result.Diagnostics, Total: unlisted(result.Diagnostics, result.Total), Warnings: result.Warnings}
	name, _ := body.Get("name")
	out.AuthzProbe = h.d.Providers.ProbeSaved(ctx, name.Text(), by(r))
	apierr.WriteJSON(w, http.StatusOK, out)
}

// unlisted is the number of diagnostics, when not all of them are listed.
func unlisted(listed []capability.Diagnostic, total int) int {
	if total > len(listed) {
		return total
	}
	return 0
}

// by is the account of the call.
func by(r *http.Request) provider.By {
	c := change(r)
	return provider.By{Change: &c}
}

// providerCall runs a command on the provider that the path names, within the budget of calls that reach out.
func providerCall[T any](w http.ResponseWriter, r *http.Request, command func(ctx context.Context, name string, b provider.By) (T, error), shape func(T) any) {
	ctx, cancel := context.WithTimeout(r.Context(), provider.Budget)
	defer cancel()
	name, err := providerName(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	result, err := command(ctx, name, by(r))
	if err != nil {
		lambdahttp.WriteError(w, r, late(ctx, err))
		return
	}
	apierr.WriteJSON(w, http.StatusOK, shape(result))
}

// late says of a call that failed because its budget was used up that this is why. What it had begun may be done.
func late(ctx context.Context, err error) error {
	if ctx.Err() == nil || apierr.CodeOf(err) != apierr.Internal {
		return err
	}
	return apierr.Wrap(apierr.Unavailable, "the call took too long and was given up; look at the tool provider before you repeat it", err)
}

func providerName(r *http.Request) (string, error) {
	name := r.PathValue("name")
	if !textlimit.ResourceName(name) {
		return "", apierr.New(apierr.NotFound, "the tool provider does not exist")
	}
	return name, nil
}

type refreshed struct {
	OK            bool               `json:"ok"`
	Tools         int                `json:"tools"`
	Added         []string           `json:"added"`
	Removed       []string           `json:"removed"`
	Changed       []string           `json:"changed"`
	Weakened      []string           `json:"weakened"` // less protection than before
	Changes       []changedTool      `json:"changes,omitempty"`
	NowIdempotent []string           `json:"now_idempotent,omitempty"` // no longer kept from being repeated
	Other         []string           `json:"other,omitempty"`          // changed in what protects nothing: inputs, texts
	Warnings      []provider.Warning `json:"warnings,omitempty"`

	Diagnostics []capability.Diagnostic `json:"diagnostics,omitempty"`
	Total       int                     `json:"diagnostics_total,omitempty"`
	AccessProbe registry.AccessProbe    `json:"spec_access_probe"`
	AuthzProbe  registry.AuthzProbe     `json:"authz_probe"`
}

type changedTool struct {
	Tool     string                   `json:"tool"`
	Fields   []capability.FieldChange `json:"fields"`
	Weakened []capability.Weakening   `json:"weakened,omitempty"`
}

// RefreshProvider serves POST /admin/api/tool-providers/{name}/refresh.
func (h *Handler) RefreshProvider(w http.ResponseWriter, r *http.Request) {
	providerCall(w, r, h.d.Providers.Refresh, func(d provider.Refreshed) any {
		out := refreshed{
			OK: true, Tools: d.Tools, Added: d.Diff.Added, Removed: d.Diff.Removed, Changed: d.Diff.ChangedNames(), Weakened: d.Diff.WeakenedTools(),
			NowIdempotent: d.Diff.NowIdempotent, Other: d.Diff.Other, Warnings: d.Warnings, Diagnostics: d.Diagnostics, Total: unlisted(d.Diagnostics, d.Total),
			AccessProbe: d.AccessProbe, AuthzProbe: d.AuthzProbe,
		}
		room := maxChangeBytes
		for _, c := range d.Diff.Changed {
			if size := sizeOf(c); len(out.Changes) < maxListedChanges && size <= room {
				out.Changes, room = append(out.Changes, changedTool{c.Tool, c.Fields, c.Weakened}), room-size
			}
		}
		return out
	})
}

// sizeOf is the length of a change's texts, which rules can make long.
func sizeOf(c capability.Change) (n int) {
	for _, f := range c.Fields {
		n += len(f.Was) + len(f.Now)
	}
	return n
}

// ProbeProvider serves POST /admin/api/tool-providers/{name}/authz-probe.
func (h *Handler) ProbeProvider(w http.ResponseWriter, r *http.Request) {
	providerCall(w, r, h.d.Providers.ProbeAuthz, func(p registry.AuthzProbe) any {
		return struct {
			OK         bool                `json:"ok"`
			AuthzProbe registry.AuthzProbe `json:"authz_probe"`
		}{true, p}
	})
}

// DebugProvider serves POST /admin/api/tool-providers/{name}/debug-invoke.
func (h *Handler) DebugProvider(w http.ResponseWriter, r *http.Request) {
	body, err := lambdahttp.ReadJSON(r, h.d.BodyMax)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	d, err := decodeDebug(body)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	providerCall(w, r, func(ctx context.Context, name string, b provider.By) (provider.Debugged, error) {
		return h.d.Providers.Debug(ctx, name, d, b)
	}, func(d provider.Debugged) any { return d })
}

// decodeDebug reads {tool, args?, on_behalf_of?, job_id?, allow_risky?}. A member that is null counts as absent.
func decodeDebug(body canonical.Value) (d provider.Debug, err error) {
	if body.Kind() != canonical.Object {
		return d, apierr.New(apierr.Invalid, "the body must be a JSON object")
	}
	text := func(name string, v canonical.Value) string {
		if v.Kind() != canonical.String {
			err = cmp.Or(err, error(apierr.Newf(apierr.Invalid, "%s must be a string", name)))
		}
		return v.Text()
	}
	d.Args, _ = canonical.Parse([]byte("{}"), canonical.Limits{}) // cannot fail
	for name, v := range body.Members() {
		if v.Kind() == canonical.Null {
			continue
		}
		switch name {
		case "tool":
			d.Tool = text(name, v)
		case "on_behalf_of":
			d.OnBehalfOf = text(name, v)
		case "job_id":
			d.JobID = text(name, v)
		case "args":
			d.Args = v
			if v.Kind() != canonical.Object {
				err = cmp.Or(err, error(apierr.New(apierr.Invalid, "args must be a JSON object")))
			}
		case "allow_risky":
			d.AllowRisky = v.Bool()
			if v.Kind() != canonical.Bool {
				err = cmp.Or(err, error(apierr.New(apierr.Invalid, "allow_risky must be true or false")))
			}
		default:
			err = cmp.Or(err, error(apierr.Newf(apierr.Invalid, "%s is not a known member", textlimit.Cut(name, 64))))
		}
	}
	if err == nil && d.Tool == "" {
		err = apierr.New(apierr.Invalid, "tool is required")
	}
	return d, err
}

// withoutDetails is the tool without what can be long: a few kilobytes remain.
func withoutDetails(t capability.AdminTool) capability.AdminTool {
	t.Parameters, t.Extensions, t.ConfirmWhen, t.Context = json.RawMessage(`{}`), json.RawMessage(`{}`), []capability.Rule{}, []string{}
	t.ParamIn = map[string]capability.Location{}
	t.Path, t.Scope = textlimit.Cut(t.Path, maxShortText), textlimit.Cut(t.Scope, maxShortText)
	return t
}

// offsetOf is the query's offset, where a list too large for one answer goes on.
func offsetOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("offset")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, apierr.New(apierr.Invalid, "offset must be a whole number")
	}
	return int(n), nil
}

type providerTools struct {
	Tools       []json.RawMessage       `json:"tools"` // of capability.AdminTool
	Diagnostics []capability.Diagnostic `json:"diagnostics"`
	Skipped     []skippedOperation      `json:"skipped"`
	Warnings    []operationWarning      `json:"warnings"`
	Note        string                  `json:"note,omitempty"`
	// Shortened is how many of the tools are shown without parameters, extensions and approval rules.
	Shortened int `json:"shortened,omitempty"`

	next int // offset at which the list goes on; 0 at its end
}

type skippedOperation struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

type operationWarning struct {
	Path       string `json:"path"`
	Message    string `json:"message"`
	Code       string `json:"code"`
	Suggestion string `json:"suggestion,omitempty"`
}

// ProviderTools serves GET /admin/api/tool-providers/{name}/tools (core §4.7, D36).
func (h *Handler) ProviderTools(w http.ResponseWriter, r *http.Request) {
	name, err := providerName(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	offset, err := offsetOf(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	c, err := h.d.Registry.ProviderCatalog(r.Context(), name)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	tools, err := toolList(c, offset)
	if err == nil && tools.next > 0 {
		w.Header().Set("Link", nextPage(r.URL.Query(), tools.next))
	}
	answer(w, r, tools, err)
}

// toolList shows a catalogue in the order of its document, from the tool at offset on. Only a very large one loses something, and says so.
func toolList(c *capability.Catalog, offset int) (providerTools, error) {
	out := providerTools{Tools: []json.RawMessage{}, Skipped: []skippedOperation{}, Warnings: []operationWarning{}, Diagnostics: []capability.Diagnostic{}}
	if c == nil {
		out.Note = "the provider has no specification yet"
		return out, nil
	}
	var notes []string
	room, bare := maxToolBytes, 0
	for i := offset; i < len(c.Tools); i++ {
		tool, err := element(c.Tools[i].AdminView())
		if err != nil {
			return providerTools{}, err
		}
		if len(tool) > room-reservedToolBytes {
			bare++
			if tool, err = element(withoutDetails(c.Tools[i].AdminView())); err != nil {
				return providerTools{}, err
			}
		}
		if room -= len(tool); room < 0 {
			notes = append(notes, fmt.Sprintf("these are %d of %d tools; ask again with offset=%d", i-offset, len(c.Tools), i))
			out.next = i
			break
		}
		out.Tools = append(out.Tools, tool)
	}
	out.Shortened = bare
	if bare > 0 {
		notes = append(notes, fmt.Sprintf("the parameters, extensions and approval rules of %d tools are left out: the answer would be too large", bare))
	}
	for _, d := range c.Diagnostics {
		if len(out.Diagnostics) == maxToolDiagnostics {
			notes = append(notes, fmt.Sprintf("the first %d of %d diagnostics are listed", maxToolDiagnostics, len(c.Diagnostics)))
			break
		}
		out.Diagnostics = append(out.Diagnostics, d)
		switch d.Severity {
		case capability.SeverityError:
			out.Skipped = append(out.Skipped, skippedOperation{d.Path, d.Message, d.Code})
		case capability.SeverityWarning:
			out.Warnings = append(out.Warnings, operationWarning{d.Path, d.Message, d.Code, d.Suggestion})
		}
	}
	out.Note = strings.Join(notes, "; ")
	return out, nil
}
