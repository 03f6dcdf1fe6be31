package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/scripts/bailing/provider"
	"bailing/shared/canonical"
	"bailing/shared/registry"
)

// Action is what becomes of an object.
type Action string

// The actions.
const (
	Create  Action = "create"
	Update  Action = "update"
	Refresh Action = "refresh" // read a specification, change nothing else
	Delete  Action = "delete"
)

// Step is one object that is not as the file says. Its JSON is a stable interface; secrets are masked in it.
type Step struct {
	Action      Action               `json:"action"`
	Kind        string               `json:"kind"`
	Name        string               `json:"name"`
	Differences []Difference         `json:"differences"`
	Tools       *provider.SpecChange `json:"tools,omitempty"` // of a specification that is sent
	Done        bool                 `json:"done"`

	kind    *Kind
	body    Object // what is sent
	refresh bool   // read the specification from its URL afterwards
}

func (s *Step) String() string { return s.kind.Name + " " + s.Name }

// plan is what makes a hub as a file says.
type plan struct {
	steps   []*Step
	same    int      // objects that are as the file says already
	missing []string // secrets that are needed and not set
}

// options say how a plan is made.
type options struct {
	prune bool // delete what the file does not name, of kinds that it speaks of
	force bool // send secrets and specifications that look the same
}

// makePlan compares a file with a hub.
func makePlan(ctx context.Context, e *cli.Env, h *hub.Hub, f *File, s state, o options) (*plan, error) {
	p := &plan{}
	for i := range f.Items {
		item := &f.Items[i]
		step, err := p.compare(ctx, e, h, item, s, o.force)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", item, err)
		}
		if step == nil {
			p.same++
			continue
		}
		p.steps = append(p.steps, step)
	}
	if o.prune {
		p.prune(f, s)
	}
	return p, nil
}

// compare is the step for one object; nil when there is nothing to do.
func (p *plan) compare(ctx context.Context, e *cli.Env, h *hub.Hub, item *Item, s state, force bool) (*Step, error) {
	k := item.Kind
	has, exists := s.find(k, item.Name)
	step := &Step{Action: Update, Kind: k.Name, Name: item.Name, kind: k, body: k.normal(item.Object)}
	var was Object
	if exists {
		was = k.normal(has)
	} else {
		step.Action = Create
	}
	step.Differences = differences(was, step.body, "")
	expected := has.get("revision")
	if !exists {
		expected = textValue("")
	}
	p.secret(e, item, step, has, exists, force)
	if item.Spec != nil {
		if err := step.specification(ctx, e, h, item, exists && has.get("has_spec").Bool(), force); err != nil {
			return nil, err
		}
	}
	if step.body.text("spec_source") == registry.SpecURLSource {
		step.refresh = !wasRead(has, step.body.text("spec_access_policy")) ||
			step.touches("spec_url", "spec_source", "spec_access_policy", "secret")
	}
	switch {
	case len(step.Differences) > 0:
		if expected.Kind() == canonical.String {
			step.body.set("expected_revision", expected)
		}
		return step, nil
	case step.refresh:
		step.Action, step.Differences = Refresh, []Difference{}
		return step, nil
	}
	return nil, nil
}

// wasRead reports whether the hub has the specification of a provider from its present source: a new source, policy or secret, or
// a read that failed, leaves another finding about who may read it than the policy asks for (core §4.2).
func wasRead(has Object, policy string) bool {
	found := map[string]string{"signed_required": "protected", "public_allowed": "public"}[policy]
	return has.get("has_spec").Bool() && (found == "" || has.text("spec_access_probe.status") == found)
}

// touches reports whether one of the members is different.
func (s *Step) touches(members ...string) bool {
	return slices.ContainsFunc(s.Differences, func(d Difference) bool { return slices.Contains(members, d.Member) })
}

// secret decides whether the secret of an object is sent. What the hub has is known by its mask only.
func (p *plan) secret(e *cli.Env, item *Item, step *Step, has Object, exists, force bool) {
	k := item.Kind
	if k.Secret == "" {
		return
	}
	value, mask := "", has.text(k.Secret)
	if item.SecretEnv != "" {
		value = e.Getenv(item.SecretEnv)
	}
	if value == "" {
		if !exists || mask == "" {
			p.missing = append(p.missing, missing(item))
			step.Differences = append(step.Differences, Difference{Member: k.Secret, Now: textValue("not set")})
		}
		return
	}
	shown := registry.Mask(value)
	if !force && exists && shown == mask && shown == registry.Mask("") {
		note := fmt.Sprintf("%s: its %s is too short for the hub to show its ends; --force sends it", item, k.Secret)
		fmt.Fprintln(e.Stderr, cli.Hang("note: ", note, e.TextWidth()))
	}
	if force || !exists || shown != mask {
		d := Difference{Member: k.Secret, Now: textValue(shown + " from " + item.SecretEnv)}
		if exists {
			d.Was = has.get(k.Secret)
		}
		step.Differences = append(step.Differences, d)
		step.body.set(k.Secret, textValue(value))
	}
}

func missing(item *Item) string {
	if item.SecretEnv == "" {
		return fmt.Sprintf("%s needs %s: {env: NAME}", item, item.Kind.Secret)
	}
	return fmt.Sprintf("%s needs %s in %s", item, item.Kind.Secret, item.SecretEnv)
}

// specification decides whether a specification is sent: when it makes other tools than the hub has.
func (s *Step) specification(ctx context.Context, e *cli.Env, h *hub.Hub, item *Item, has, force bool) error {
	change, err := provider.CompareSpec(ctx, e, h, item.Name, item.Spec, has)
	if err != nil {
		return err
	}
	if has && change.Same() && !force {
		return nil
	}
	if change.Errors > 0 {
		note := fmt.Sprintf("%s: its specification has %s; such operations are no tools, see 'bailing provider lint'",
			s, cli.Count(change.Errors, "error"))
		fmt.Fprintln(e.Stderr, cli.Hang("note: ", note, e.TextWidth()))
	}
	s.Tools = change
	s.Differences = append(s.Differences, Difference{Member: "spec_json", Now: textValue(cli.Count(change.Tools, "tool"))})
	s.body.set("spec_json", textValue(string(item.Spec)))
	return nil
}

// prune adds the deletion of what the file does not name, last what others refer to.
func (p *plan) prune(f *File, s state) {
	for _, k := range slices.Backward(f.Kinds) {
		for _, o := range s[k] {
			name := o.text(k.Key)
			named := slices.ContainsFunc(f.Items, func(i Item) bool { return i.Kind == k && i.Name == name })
			if !named && !builtin(o) {
				p.steps = append(p.steps, &Step{Action: Delete, Kind: k.Name, Name: name, Differences: []Difference{}, kind: k})
			}
		}
	}
}

// count is how many steps, of those that match, take an action.
func (p *plan) count(a Action, match func(*Step) bool) (n int) {
	for _, s := range p.steps {
		if s.Action == a && match(s) {
			n++
		}
	}
	return n
}

// summary says how many objects, of those that match, are what; the verbs are "to create", or "created".
func (p *plan) summary(verbs map[Action]string, match func(*Step) bool) string {
	var parts []string
	for _, a := range []Action{Create, Update, Refresh, Delete} {
		if n := p.count(a, match); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verbs[a]))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d the same", p.same)), ", ")
}

var (
	toDo = map[Action]string{Create: "to create", Update: "to change", Refresh: "to refresh", Delete: "to delete"}
	done = map[Action]string{Create: "created", Update: "changed", Refresh: "refreshed", Delete: "deleted"}
)
