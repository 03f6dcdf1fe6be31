package registry

import (
	"context"
	"slices"
	"strings"

	"bailing/shared/canonical"
)

// DefaultTargetTimeoutMS is the time limit of a job whose route and target set none (core §11.1).
const DefaultTargetTimeoutMS = 120_000

// maxTargetTimeoutMS is the longest time limit of a target or a route (core §10.4).
const maxTargetTimeoutMS = 3_600_000

// BuiltinTarget is a target that exists without being stored: the in-hub model target, so that an empty hub can take
// routes at once. A stored record of the same name replaces it.
func BuiltinTarget(name string) (Target, bool) {
	if name != TargetLLM {
		return Target{}, false
	}
	return Target{
		Name: TargetLLM, Kind: InHub, Stateless: true, TimeoutMS: DefaultTargetTimeoutMS, Enabled: true,
		Description: "OpenAI-compatible chat completions, run inside the hub",
	}, true
}

// TargetView is a target as lists show it.
type TargetView struct {
	Target
	Revision string `json:"revision"` // "" for the built-in target while no record of its name is stored
}

func (s *Service) decodeTarget(body canonical.Value) (Target, expectation, error) {
	o := readObject(body, "", s.o.CheckURL)
	t := Target{
		Name:         o.resourceName("name"),
		Kind:         TargetKind(o.oneOf("kind", "", string(InHub), string(Executor))),
		Stateless:    o.boolean("stateless", false),
		NeedsProject: o.boolean("needs_project", false),
		TimeoutMS:    o.integer("timeout_ms", 0, 0, maxTargetTimeoutMS),
		Enabled:      o.boolean("enabled", true),
		Description:  o.text("description", 0),
	}
	if (t.Kind == InHub) != (t.Name == TargetLLM) {
		o.fail("kind", "inhub is for the built-in target %q, and executor for every other name", TargetLLM)
	}
	expected := o.expectation()
	return t, expected, o.done()
}

// SaveTarget creates or replaces a target.
func (s *Service) SaveTarget(ctx context.Context, body canonical.Value, c Change) error {
	t, expected, err := s.decodeTarget(body)
	if err != nil {
		return err
	}
	return attempt(func() error {
		stored, err := current(ctx, s.o.Store.Targets(), t.Name)
		if err != nil {
			return err
		}
		if err := expected.met(stored.Revision, &stored.Value); err != nil {
			return err
		}
		return s.o.Store.Targets().Put(ctx, t.Name, Versioned[Target]{Value: t, Revision: stored.Revision}, s.stamp(c))
	})
}

// ListTargets returns every target by name, with the built-in one.
func (s *Service) ListTargets(ctx context.Context) ([]TargetView, error) {
	list, err := views(ctx, s.o.Store.Targets(), func(t *Target) (TargetView, error) {
		revision, err := revisionOf(t)
		return TargetView{*t, revision}, err
	})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(t TargetView) bool { return t.Name == TargetLLM }) {
		builtin, _ := BuiltinTarget(TargetLLM)
		list = append(list, TargetView{Target: builtin})
	}
	slices.SortFunc(list, func(a, b TargetView) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// target is the stored or built-in target called name, nil when there is none.
func (s *Service) target(ctx context.Context, name string) (*Target, error) {
	v, err := s.o.Store.Targets().Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if v != nil {
		return &v.Value, nil
	}
	if t, ok := BuiltinTarget(name); ok {
		return &t, nil
	}
	return nil, nil
}
