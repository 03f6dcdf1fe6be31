package job

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"bailing/shared/apierr"
	"bailing/shared/audience"
	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// Limits of a submission, in UTF-16 units (core §1.1).
const (
	requestIDMax   = 128
	inputMax       = 100_000
	callbackURLMax = 2048
	routeKeyMax    = 128 // of the keys that an administrator may give (core §10.4)
)

// Submission is the body of POST /run after its shape was checked.
type Submission struct {
	RequestID   string
	Input       string
	Route       string // "" only from an administrator
	Metadata    canonical.Value
	CallbackURL string // "" = the route's default
	Project     string
	Profile     string
	Source      string
	Fingerprint string // hash of what the client asked for, to tell a replay from a changed request (D3)

	Owner     string              // app id of the client, "" for an administrator
	Principal audience.Principal  // whom metadata names (core §1.3)
	Chosen    *audience.Candidate // with route "auto": why the hub chose the route that it chose
}

// clientMembers are the members that a client may send; wait_ms is what SDKs add and nobody waits for (D2).
var clientMembers = []string{"request_id", "input", "route", "metadata", "callback_url", "callback", "wait_ms"}

// adminMembers may be sent by an administrator in addition.
var adminMembers = []string{"project", "profile", "source"}

// parseSubmission checks the body in the contract's order (core §1.1, steps 2 to 4). client is nil for an administrator.
func parseSubmission(body canonical.Value, client *registry.Client) (Submission, error) {
	var s Submission
	if body.Kind() != canonical.Object {
		return s, apierr.New(apierr.Invalid, "the request body must be a JSON object")
	}
	var err error
	if s.RequestID, err = requiredText(body, "request_id", requestIDMax); err != nil {
		return s, err
	}
	if s.Input, err = requiredText(body, "input", inputMax); err != nil {
		return s, err
	}
	if s.Metadata, err = metadataOf(body); err != nil {
		return s, err
	}
	if s.CallbackURL, err = callbackOf(body); err != nil {
		return s, err
	}
	if v, ok := body.Get("wait_ms"); ok && !(v.Kind() == canonical.Number && v.IsInteger()) {
		return s, apierr.New(apierr.Invalid, "wait_ms must be an integer")
	}
	if err := s.applyCaller(body, client); err != nil {
		return s, err
	}
	s.Principal = audience.Resolve(s.Metadata, s.Owner)
	s.Fingerprint = s.fingerprint()
	return s, nil
}

func (s *Submission) applyCaller(body canonical.Value, client *registry.Client) error {
	if v, ok := body.Get("route"); ok {
		if v.Kind() != canonical.String {
			return apierr.New(apierr.Invalid, "route must be a string")
		}
		s.Route = v.Text()
	}
	if client == nil {
		return s.applyAdmin(body)
	}
	if !textlimit.ClientRoute(s.Route) {
		return apierr.New(apierr.Invalid, "route is required and must match ^[a-z0-9][a-z0-9_-]{1,63}$")
	}
	for _, name := range []string{"project", "profile"} {
		if _, ok := body.Get(name); ok {
			return apierr.Newf(apierr.Forbidden, "%s is set by the route and cannot be overridden", name)
		}
	}
	if err := onlyMembers(body, clientMembers); err != nil {
		return err
	}
	if s.Route != routeAuto && !client.MayUse(s.Route) {
		return forbiddenRoute(client, s.Route)
	}
	s.Owner, s.Source = client.AppID, client.AppID
	return nil
}

func (s *Submission) applyAdmin(body canonical.Value) error {
	if err := onlyMembers(body, append(slices.Clone(clientMembers), adminMembers...)); err != nil {
		return err
	}
	s.Source = "unknown"
	for _, m := range []struct {
		name string
		to   *string
		max  int
	}{{"project", &s.Project, 128}, {"profile", &s.Profile, 64}, {"source", &s.Source, 64}} {
		v, ok := body.Get(m.name)
		if !ok {
			continue
		}
		if v.Kind() != canonical.String || !textlimit.Fits(v.Text(), m.max) {
			return apierr.Newf(apierr.Invalid, "%s must be a string of at most %d characters", m.name, m.max)
		}
		*m.to = v.Text()
	}
	return nil
}

// onlyMembers refuses a member that the public API does not declare: silently dropping it would look like consent.
func onlyMembers(body canonical.Value, known []string) error {
	var extra []string
	for name := range body.Members() {
		if !slices.Contains(known, name) {
			extra = append(extra, name)
		}
	}
	if len(extra) == 0 {
		return nil
	}
	slices.Sort(extra)
	if len(extra) > 8 {
		extra = extra[:8]
	}
	return apierr.Newf(apierr.Invalid, "unknown members: %s", textlimit.Cut(strings.Join(extra, ", "), 300))
}

func requiredText(body canonical.Value, name string, limit int) (string, error) {
	v, ok := body.Get(name)
	if !ok || v.Kind() != canonical.String || textlimit.Blank(v.Text()) {
		return "", apierr.Newf(apierr.Invalid, "%s is required and must be a string that is not blank", name)
	}
	if !textlimit.Fits(v.Text(), limit) {
		return "", apierr.Newf(apierr.Invalid, "%s is longer than %d characters", name, limit)
	}
	if !utf8.ValidString(v.Text()) { // a lone surrogate: no store keeps it, so that two ids could become one
		return "", apierr.Newf(apierr.Invalid, "%s is not valid Unicode text", name)
	}
	return v.Text(), nil
}

// metadataOf is the metadata object. An empty array counts as one: the PHP SDK sends it for an empty map (core §3.8).
func metadataOf(body canonical.Value) (canonical.Value, error) {
	empty, err := canonical.Parse([]byte("{}"), canonical.Limits{})
	if err != nil {
		return empty, err
	}
	v, ok := body.Get("metadata")
	switch {
	case !ok, v.Kind() == canonical.Array && v.Len() == 0:
		return empty, nil
	case v.Kind() != canonical.Object:
		return empty, apierr.New(apierr.Invalid, "metadata must be a JSON object")
	}
	return v, nil
}

// callbackOf reads callback_url and its short alias callback (D1).
func callbackOf(body canonical.Value) (string, error) {
	var found string
	for _, name := range []string{"callback_url", "callback"} {
		v, ok := body.Get(name)
		if !ok {
			continue
		}
		if v.Kind() != canonical.String {
			return "", apierr.Newf(apierr.Invalid, "%s must be an absolute http or https URL", name)
		}
		if err := CheckCallbackURL(v.Text()); err != nil {
			return "", apierr.Newf(apierr.Invalid, "%s %s", name, err)
		}
		if found != "" && found != v.Text() {
			return "", apierr.New(apierr.Invalid, "callback and callback_url differ; send one of them")
		}
		found = v.Text()
	}
	return found, nil
}

// CheckCallbackURL applies the contract's rule: absolute, http or https, at most 2048 characters (core §1.1). Whether its
// address may be reached is decided when it is dialled.
func CheckCallbackURL(raw string) error {
	if !textlimit.Fits(raw, callbackURLMax) {
		return fmt.Errorf("is longer than %d characters", callbackURLMax)
	}
	u, err := url.Parse(raw)
	if err != nil || !utf8.ValidString(raw) || u.Host == "" || (!strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https")) {
		return fmt.Errorf("must be an absolute http or https URL")
	}
	return nil
}

// fingerprint covers what decides the job's outcome; wait_ms and the spelling of the callback member do not.
func (s *Submission) fingerprint() string {
	v, err := canonical.FromGo(map[string]any{
		"route": s.Route, "input": s.Input, "metadata": s.Metadata.Hash(), "callback_url": s.CallbackURL,
		"project": s.Project, "profile": s.Profile,
	})
	if err != nil {
		return ""
	}
	return v.Hash()
}

func forbiddenRoute(client *registry.Client, route string) error {
	return apierr.Newf(apierr.Forbidden, "client %s may not use route %s", client.AppID, route)
}
