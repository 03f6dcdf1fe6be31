package config

import (
	"context"
	"errors"
	"net/http"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/canonical"
	"bailing/shared/registry"
)

// Lookup reads one object; false when the hub has none of that name.
func (k *Kind) Lookup(ctx context.Context, e *cli.Env, h *hub.Hub, name string) (Object, bool, error) {
	all, _, err := k.List(ctx, e, h)
	if err != nil {
		return Object{}, false, err
	}
	o, ok := state{k: all}.find(k, name)
	return o, ok, nil
}

// Text is a text member, and for "a.b" the member b of the object a; "" when it is none.
func (o Object) Text(name string) string { return o.text(name) }

// On reports whether a member is true.
func (o Object) On(name string) bool { return o.get(name).Bool() }

// Members is what a save needs to say the same of an object of kind k again, without its secret.
func (o Object) Members(k *Kind) map[string]any {
	members, _ := k.normal(o).value().ToGo().(map[string]any)
	return members
}

// Same reports whether members say what the hub has of an object already. The secret is compared by its mask; a specification is
// for the caller to compare.
func (o Object) Same(k *Kind, members map[string]any) bool {
	v, err := canonical.FromGo(members)
	if err != nil || len(o.names) == 0 {
		return false
	}
	says := objectOf(v)
	says.drop("spec_json")
	secret := ""
	if k.Secret != "" {
		secret = says.text(k.Secret)
	}
	return len(differences(k.normal(o), k.normal(says), "")) == 0 && (secret == "" || registry.Mask(secret) == o.text(k.Secret))
}

// Save writes an object that was read as was, or that is new where was has no members: the hub refuses it when another one
// changed it since.
func (k *Kind) Save(ctx context.Context, e *cli.Env, h *hub.Hub, was Object, members map[string]any) (hub.Answer, error) {
	members["expected_revision"] = ""
	if len(was.names) > 0 {
		delete(members, "expected_revision")
		if revision := was.get("revision"); revision.Kind() == canonical.String {
			members["expected_revision"] = revision.Text()
		}
	}
	name, _ := members[k.Key].(string)
	if name == "" {
		return hub.Answer{}, errors.New("an object needs a name")
	}
	a, err := h.Ask(ctx, e, http.MethodPost, "/admin/api/"+k.Path, members, "saving "+k.Name+" "+name)
	if err != nil {
		return a, err
	}
	return a, accepted(e, k.Name+" "+name, a)
}
