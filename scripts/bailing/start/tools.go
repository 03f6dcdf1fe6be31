package start

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/config"
	"bailing/scripts/bailing/provider"
	"bailing/scripts/bailing/specfile"
	"bailing/shared/registry"
)

// attached is what the route gets of a provider.
type attached struct {
	provider string
	found    provider.Checked
}

// business is the provider that is saved.
type business struct {
	was    config.Object // what the hub has of it
	exists bool
	secret string // "" keeps the hub's
	made   bool   // the secret was made here
	spec   *specfile.Document
	found  provider.Checked
}

var providers = config.KindNamed("provider")

// useTools makes tools of a specification, if there is one, after it was checked.
func (w *wizard) useTools(ctx context.Context) (err error) {
	if w.spec == "" && !w.yes {
		if w.spec, err = w.e.Ask(ctx, "Specification of your API, a file or URL (empty: no tools yet)", ""); err != nil {
			return err
		}
	}
	if w.spec == "-" {
		return cli.Usagef("a specification for init is a file or a URL: standard input is for answers")
	}
	if w.spec == "" {
		w.say("Tools", "None: no specification is given. 'bailing init --spec FILE|URL' adds them.")
		return nil
	}
	if w.provider, err = w.ask(ctx, "provider", w.provider, "Name of the tool provider", "business"); err != nil {
		return err
	}
	var b business
	if b.was, b.exists, err = providers.Lookup(ctx, w.e, w.hub, w.provider); err != nil {
		return err
	}
	if b.secret, b.made, err = w.signingSecret(ctx, b.exists); err != nil {
		return err
	}
	if b.found, b.spec, err = w.checkSpec(ctx, b.secret); err != nil {
		return err
	}
	if err := w.saveProvider(ctx, &b); err != nil {
		return err
	}
	w.tools = &attached{w.provider, b.found}
	w.say("Tools", "The provider %s has %s.", w.provider, cli.Count(b.found.Tools, "tool"))
	if b.made {
		w.made = b.secret
		if !w.flags.JSON {
			fmt.Fprintf(w.e.Stdout, "   Your API verifies calls with this secret, shown this once:\n     %s\n", b.secret)
		}
	}
	if b.found.NeedsSubject && w.subject == "" && !w.yes {
		w.subject, err = w.e.Ask(ctx, "In whose name the first job calls tools, such as u_42 (empty: nobody's)", "")
	}
	return err
}

// signingSecret is the secret of the provider: given, kept by the hub (""), or made here.
func (w *wizard) signingSecret(ctx context.Context, exists bool) (secret string, made bool, err error) {
	question := "Secret that your API verifies calls with (empty: make one)"
	if exists {
		question = "Secret that your API verifies calls with (empty: the one that the hub has)"
	}
	secret, err = w.secret(ctx, "provider-secret-env", w.secretEnv, question)
	if err != nil || secret != "" || exists {
		return secret, false, err
	}
	if w.yes {
		return "", false, cli.Usagef("--provider-secret-env is needed with --yes for a new provider")
	}
	b := make([]byte, 32)
	_, err = rand.Read(b)
	return hex.EncodeToString(b), true, err
}

// checkSpec reads and compiles the specification; one with errors ends the walk before anything of it is saved.
func (w *wizard) checkSpec(ctx context.Context, secret string) (provider.Checked, *specfile.Document, error) {
	d, err := specfile.Read(ctx, w.e, w.spec, specfile.Options{
		Secret: secret, Judge: secret != "" && specfile.IsURL(w.spec), Timeout: 10 * time.Second,
	})
	if err != nil {
		return provider.Checked{}, nil, err
	}
	quiet := *w.e
	if w.flags.JSON {
		quiet.Stdout = w.e.Stderr
	}
	found := provider.Check(&quiet, d)
	switch {
	case !found.OK:
		return found, nil, cli.ErrNotFine
	case found.Tools == 0:
		return found, nil, &cli.HintError{Err: errors.New("no operation is enabled for agents"),
			Hint: "'bailing provider lint --enable-all' previews what could become a tool."}
	}
	return found, d, nil
}

// saveProvider saves the provider, if it is not as it should be, and lets the hub read a specification from its URL.
func (w *wizard) saveProvider(ctx context.Context, b *business) error {
	members, err := w.providerMembers(ctx, b)
	if err != nil {
		return err
	}
	fromURL := members["spec_source"] == registry.SpecURLSource
	save := !b.was.Same(providers, members)
	if !save && !fromURL {
		change, err := provider.CompareSpec(ctx, w.e, w.hub, w.provider, b.spec.Bytes, b.was.On("has_spec"))
		if err != nil {
			return err
		}
		save = !change.Same()
	}
	if save {
		if _, err := providers.Save(ctx, w.e, w.hub, b.was, members); err != nil {
			return err
		}
	}
	if !fromURL {
		return nil
	}
	path := "/admin/api/tool-providers/" + url.PathEscape(w.provider) + "/refresh"
	a, err := w.hub.Ask(ctx, w.e, http.MethodPost, path, nil, "the hub reads the specification")
	if err == nil && !a.OK() {
		err = fmt.Errorf("the hub did not take the specification: %s", a.Reason())
	}
	return err
}

// providerMembers is what is saved: with the URL of the specification, or with the text of a file.
func (w *wizard) providerMembers(ctx context.Context, b *business) (map[string]any, error) {
	base := ""
	if u, err := url.Parse(w.spec); err == nil && specfile.IsURL(w.spec) {
		base = u.Scheme + "://" + u.Host
	}
	base, err := w.ask(ctx, "provider-url", w.providerURL, "Base URL of the API", cmp.Or(b.was.Text("base_url"), base))
	if err != nil {
		return nil, err
	}
	members := map[string]any{"name": w.provider}
	if b.exists {
		members = b.was.Members(providers)
	}
	members["base_url"], members["enabled"] = base, true
	if b.secret != "" {
		members["secret"] = b.secret
	}
	if specfile.IsURL(w.spec) {
		members["spec_source"], members["spec_url"] = registry.SpecURLSource, w.spec
		members["spec_access_policy"] = string(registry.SignedRequired)
		if b.found.Public {
			members["spec_access_policy"] = string(registry.PublicAllowed)
		}
		return members, nil
	}
	for _, name := range []string{"spec_url", "spec_access_policy", "auto_refresh_min"} {
		delete(members, name)
	}
	members["spec_source"], members["spec_json"] = registry.SpecInline, string(b.spec.Bytes)
	return members, nil
}
