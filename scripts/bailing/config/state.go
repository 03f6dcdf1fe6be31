package config

import (
	"context"
	"fmt"
	"net/url"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/canonical"
)

// List reads the objects of a kind as the hub shows them, with the answer itself.
func (k *Kind) List(ctx context.Context, e *cli.Env, h *hub.Hub) ([]Object, hub.Answer, error) {
	a, err := h.AskList(ctx, e, "/admin/api/"+k.Path, "reading the "+k.Plural())
	if err != nil {
		return nil, a, err
	}
	if !a.OK() {
		return nil, a, fmt.Errorf("the hub did not list its %s: %s", k.Plural(), a.Reason())
	}
	v, err := canonical.Parse(a.Body, limits)
	if err != nil || v.Kind() != canonical.Array {
		return nil, a, fmt.Errorf("the hub's list of %s has another form than this command knows", k.Plural())
	}
	var all []Object
	for _, element := range v.Elems() {
		all = append(all, objectOf(element))
	}
	return all, a, nil
}

// Find reads one object; an error that says what there is when it does not exist.
func (k *Kind) Find(ctx context.Context, e *cli.Env, h *hub.Hub, name string) (Object, error) {
	all, _, err := k.List(ctx, e, h)
	if err != nil {
		return Object{}, err
	}
	for _, o := range all {
		if o.text(k.Key) == name {
			return o, nil
		}
	}
	return Object{}, &cli.HintError{Err: fmt.Errorf("the hub has no %s %s", k.Name, name),
		Hint: fmt.Sprintf("'bailing %s list' shows those that it has.", k.Name)}
}

// path is where an object is addressed, with what follows its name.
func (k *Kind) path(name, action string) string {
	return "/admin/api/" + k.Path + "/" + url.PathEscape(name) + action
}

// state is what a hub has of some kinds.
type state map[*Kind][]Object

// readState reads all objects of some kinds.
func readState(ctx context.Context, e *cli.Env, h *hub.Hub, kinds []*Kind) (state, error) {
	s := state{}
	for _, k := range kinds {
		all, _, err := k.List(ctx, e, h)
		if err != nil {
			return nil, err
		}
		s[k] = all
	}
	return s, nil
}

// find is the object of a kind, false when the hub has none of that name.
func (s state) find(k *Kind, name string) (Object, bool) {
	for _, o := range s[k] {
		if o.text(k.Key) == name {
			return o, true
		}
	}
	return Object{}, false
}

// builtin reports whether an object is there without being stored.
func builtin(o Object) bool {
	revision := o.get("revision")
	return revision.Kind() == canonical.String && revision.Text() == ""
}
