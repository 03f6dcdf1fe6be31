package config

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/canonical"
)

// TokenCommand is `bailing client token`.
func TokenCommand() *cli.Command {
	k := KindNamed("client")
	return &cli.Command{
		Name: "token", Args: "NAME",
		Short: "Shows the token of a client in clear text, or gives it a new one.",
		Long: `
The hub records who looked. With --rotate the old token stops working at once; it asks first on a terminal, without one --yes is
needed.

Exit status: 0 shown; 2 wrong usage, no such client, or no answer.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			rotate := fs.Bool("rotate", false, "replace the token by a new one")
			yes := fs.Bool("yes", false, "do not ask before the token is replaced")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := k.oneName(args)
				if err != nil {
					return err
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				if *rotate {
					return rotateToken(ctx, e, h, name, *yes, f.JSON)
				}
				return reveal(ctx, e, h, k, name, "token", f.JSON)
			}
		},
	}
}

// SecretCommand is `bailing provider secret`.
func SecretCommand() *cli.Command {
	k := KindNamed("provider")
	return &cli.Command{
		Name: "secret", Args: "NAME",
		Short: "Shows the signing secret of a tool provider in clear text.",
		Long:  "The hub records who looked.\n\nExit status: 0 shown; 2 wrong usage, no such provider, or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := k.oneName(args)
				if err != nil {
					return err
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				return reveal(ctx, e, h, k, name, "secret", f.JSON)
			}
		},
	}
}

// reveal prints what the hub shows of a secret: on standard output alone, for a pipe.
func reveal(ctx context.Context, e *cli.Env, h *hub.Hub, k *Kind, name, member string, asJSON bool) error {
	a, err := h.Ask(ctx, e, http.MethodGet, k.path(name, "/"+member), nil, "asking for the "+member)
	if a.Status == http.StatusNotFound {
		return &cli.HintError{
			Err: fmt.Errorf("%s: %s", name, a.Reason()), Hint: "'bailing " + k.Name + " list' shows what the hub has.",
		}
	}
	if err != nil {
		return err
	}
	return printSecret(e, a, member, asJSON)
}

func printSecret(e *cli.Env, a hub.Answer, member string, asJSON bool) error {
	if !a.OK() {
		return fmt.Errorf("the hub does not show it: %s", a.Reason())
	}
	v, err := canonical.Parse(a.Body, limits)
	if err != nil {
		return err
	}
	if asJSON {
		return e.JSON(a.Body)
	}
	secret, _ := v.Get(member)
	fmt.Fprintln(e.Stdout, cli.Clean(secret.Text()))
	return nil
}

// rotateToken saves the client as it is, with a new token.
func rotateToken(ctx context.Context, e *cli.Env, h *hub.Hub, name string, yes, asJSON bool) error {
	k := KindNamed("client")
	o, err := k.Find(ctx, e, h, name)
	if err != nil {
		return err
	}
	if !yes {
		if err := e.Confirm(ctx, fmt.Sprintf("Replace the token of %s? The old one stops working at once.", name)); err != nil {
			return err
		}
	}
	body := k.normal(o)
	if revision := o.get("revision"); revision.Kind() == canonical.String {
		body.set("expected_revision", revision)
	}
	body.set("rotate_token", mustParse([]byte("true")))
	a, err := h.Ask(ctx, e, http.MethodPost, "/admin/api/"+k.Path, body, "replacing the token of "+name)
	if err != nil {
		return err
	}
	if err := accepted(e, "client "+name, a); err != nil {
		return err
	}
	return printSecret(e, a, "token", asJSON)
}
