package registry

import (
	"context"
	"unicode/utf8"

	"bailing/shared/apierr"
	"bailing/shared/audience"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// maxInput is the length of an input, in characters (core §1.1).
const maxInput = 100_000

// AutoPreview is what `route: "auto"` would decide now, and why about every route (core §1.4).
type AutoPreview struct {
	audience.Decision
	Routes    []AutoVerdict       `json:"routes"`    // by route_key
	Principal *audience.Principal `json:"principal"` // null: the request names nobody
	Client    *PreviewClient      `json:"client"`    // null: the request is an administrator's
}

// AutoVerdict is what became of one route. Score and Reasons are there when the route admits the request.
type AutoVerdict struct {
	RouteKey       string          `json:"route_key"`
	Name           string          `json:"name"`
	Score          *int            `json:"score,omitempty"`
	Reasons        []string        `json:"reasons,omitzero"`
	RejectedReason audience.Reason `json:"rejected_reason,omitempty"` // absent: a candidate
}

// PreviewClient is the client that the preview is about.
type PreviewClient struct {
	AppID   string `json:"app_id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"` // a disabled client may use no route
}

// previewRequest is the body of a preview.
type previewRequest struct {
	text      audience.Text
	principal audience.Principal
	clientID  string // "" = an administrator
}

// PreviewAuto decides as a submission with this input, metadata, channel and client would be decided, and changes nothing:
//
//	{input | text, metadata?, principal?, channel?, client_app_id | client_id?}
//
// principal stands for the member of that name of metadata, also where words are looked for. A broken rule and an unknown client are 400.
func (s *Service) PreviewAuto(ctx context.Context, body canonical.Value) (AutoPreview, error) {
	q, err := s.decodePreview(body)
	if err != nil {
		return AutoPreview{}, err
	}
	var client *Client
	p := AutoPreview{}
	if q.clientID != "" {
		v, err := s.o.Store.Clients().Get(ctx, q.clientID)
		if err != nil {
			return AutoPreview{}, err
		}
		if v == nil {
			return AutoPreview{}, apierr.Newf(apierr.Invalid, "unknown client: %s", textlimit.Cut(q.clientID, maxAudienceText))
		}
		client = &v.Value
		p.Client = &PreviewClient{AppID: client.AppID, Name: client.Name, Enabled: client.Enabled}
	}
	routes, err := s.o.Store.Routes().List(ctx)
	if err != nil {
		return AutoPreview{}, err
	}
	var verdicts []audience.Verdict
	p.Decision, verdicts = audience.Decide(AutoRoutes(routes, client), q.principal, q.text)
	p.Routes = describe(verdicts, routes)
	if q.principal.Known() {
		p.Principal = &q.principal
	}
	return p, nil
}

func describe(verdicts []audience.Verdict, routes []Route) []AutoVerdict {
	names := make(map[string]string, len(routes))
	for i := range routes {
		names[routes[i].RouteKey] = routes[i].Name
	}
	out := make([]AutoVerdict, len(verdicts))
	for i, v := range verdicts {
		out[i] = AutoVerdict{RouteKey: v.RouteKey, Name: names[v.RouteKey], RejectedReason: v.Rejected}
		if v.Rejected == audience.Admitted || v.Rejected == audience.NoScore {
			out[i].Score, out[i].Reasons = &v.Score, v.Reasons
		}
	}
	return out
}

func (s *Service) decodePreview(body canonical.Value) (previewRequest, error) {
	o := readObject(body, "", s.o.CheckURL)
	input := o.either("input", "text", func(name string) string { return o.input(name) })
	if o.err == nil && input == "" {
		o.fail("input", "is required")
	}
	metadata := o.metadata("metadata")
	channel := o.text("channel", maxAudienceText)
	q := previewRequest{
		clientID: o.either("client_app_id", "client_id", func(name string) string { return o.text(name, maxAudienceText) }),
	}
	named := metadata
	principal, explicit := o.get("principal")
	if explicit {
		named = o.withMember(metadata, "principal", principal)
	}
	q.principal = audience.Resolve(named, q.clientID)
	if explicit && !q.principal.Known() {
		o.fail("principal", "must name somebody by its id")
	}
	q.principal.Channel = textlimit.Trim(channel)
	if err := o.done(); err != nil {
		return previewRequest{}, err
	}
	q.text = audience.SearchText(input, named)
	return q, nil
}

// either reads a member that has two names; given twice, both must say the same.
func (o *object) either(name, alias string, read func(string) string) string {
	a, b := read(name), read(alias)
	if a != "" && b != "" && a != b {
		o.fail(name, "and %s differ; send one of them", alias)
	}
	if a == "" {
		return b
	}
	return a
}

// input is a text as a submission may have it: any characters, but not blank (core §1.1).
func (o *object) input(name string) string {
	v, ok := o.get(name)
	switch {
	case !ok:
		return ""
	case v.Kind() != canonical.String, textlimit.Blank(v.Text()), !utf8.ValidString(v.Text()):
		o.fail(name, "must be a string of valid Unicode that is not blank")
	case !textlimit.Fits(v.Text(), maxInput):
		o.fail(name, "must have at most %d characters", maxInput)
	}
	return v.Text()
}

// metadata is the metadata of a submission; an empty list counts as an empty object, as it does there (core §3.8).
func (o *object) metadata(name string) canonical.Value {
	v, ok := o.get(name)
	if ok && v.Kind() != canonical.Object && !(v.Kind() == canonical.Array && v.Len() == 0) {
		o.fail(name, "must be a JSON object")
	}
	return v
}

// withMember is the object with one member, itself an object, set.
func (o *object) withMember(v canonical.Value, name string, member canonical.Value) canonical.Value {
	if member.Kind() != canonical.Object {
		o.fail(name, "must be a JSON object")
		return v
	}
	all := map[string]any{}
	for k, m := range v.Members() {
		all[k] = m
	}
	all[name] = member
	out, err := canonical.FromGo(all)
	o.adopt(err)
	return out
}
