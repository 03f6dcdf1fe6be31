package start

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/config"
)

// useModel decides on a model credential: one that is there, or a new one.
func (w *wizard) useModel(ctx context.Context) error {
	k := config.KindNamed("credential")
	all, _, err := k.List(ctx, w.e, w.hub)
	if err != nil {
		return err
	}
	var usable []string
	for _, o := range all {
		if o.On("enabled") && o.Text("kind") != "embedding" {
			usable = append(usable, o.Text("name"))
		}
	}
	if w.modelURL == "" {
		if err := w.chooseModel(ctx, usable); err != nil {
			return err
		}
		if slices.Contains(usable, w.credential) {
			w.say("Model", "The credential %s is there and is used.", w.credential)
			return nil
		}
	}
	return w.saveModel(ctx, k)
}

// chooseModel settles the name of a credential among those that are there; "" stays for a new one.
func (w *wizard) chooseModel(ctx context.Context, usable []string) (err error) {
	switch {
	case w.credential != "" || len(usable) == 0:
	case w.yes && len(usable) > 1:
		return cli.Usagef("--credential is needed with --yes: the hub has %s", strings.Join(usable, ", "))
	case w.yes:
		w.credential = usable[0]
	default:
		w.credential, err = w.e.Ask(ctx, "Model credential: one of "+strings.Join(usable, ", ")+", or a new name", usable[0])
	}
	return err
}

// saveModel saves a credential for the endpoint that flags or answers describe.
func (w *wizard) saveModel(ctx context.Context, k *config.Kind) (err error) {
	w.credential = cmp.Or(w.credential, "model")
	const question = "Base URL of the model endpoint, such as https://models.example/v1"
	if w.modelURL, err = w.ask(ctx, "model-url", w.modelURL, question, ""); err != nil {
		return err
	}
	w.modelURL = strings.TrimSuffix(strings.TrimRight(w.modelURL, "/"), "/chat/completions") // what people copy
	if w.model, err = w.ask(ctx, "model", w.model, "Name of the model", ""); err != nil {
		return err
	}
	was, exists, err := k.Lookup(ctx, w.e, w.hub, w.credential)
	if err != nil {
		return err
	}
	key, err := w.secret(ctx, "model-key-env", w.modelKeyEnv, "Key of the endpoint (any text where it asks for none)")
	if err != nil {
		return err
	}
	if key == "" && !exists {
		return cli.Usagef("the endpoint's key is needed: --model-key-env names an environment variable with it")
	}
	members := map[string]any{"name": w.credential, "kind": "chat"}
	if exists {
		members = was.Members(k)
	}
	members["base_url"], members["default_model"], members["enabled"] = w.modelURL, w.model, true
	if key != "" {
		members["api_key"] = key
	}
	if was.Same(k, members) {
		w.say("Model", "The credential %s is there and is used.", w.credential)
		return nil
	}
	if _, err := k.Save(ctx, w.e, w.hub, was, members); err != nil {
		return err
	}
	w.say("Model", "The credential %s is saved: the model %s at %s.", w.credential, w.model, w.modelURL)
	return nil
}
