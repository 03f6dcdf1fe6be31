package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"bailing/scripts/bailing/cli"
	"bailing/shared/agentclient"
)

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name: "logout", Args: "",
		Short: "Ends the session, at the hub and here.",
		Long: `
The session is forgotten here even when the hub cannot be told. It then ends by itself, thirty days after the login at the latest; the
business can end it at once.

Exit status: 0 logged out, or nobody was logged in; 2 the hub could not be told.`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f flags
			f.declare(fs)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("logout takes no arguments")
				}
				return logout(ctx, e, &f)
			}
		},
	}
}

func logout(ctx context.Context, e *cli.Env, f *flags) error {
	c, err := f.client(e)
	if err != nil {
		return err
	}
	k, err := c.Logout(ctx)
	sentence := fmt.Sprintf("Nobody is logged in (profile %s).", f.profile)
	switch {
	case errors.Is(err, agentclient.ErrNotLoggedIn):
	case err != nil && k != nil:
		return f.advise(fmt.Errorf("the session is forgotten here, but the hub was not told; it ends by itself on %s: %w", day(k.RefreshExpiresAt), err))
	case err != nil:
		return f.advise(err)
	default:
		sentence = fmt.Sprintf("%s logged out of %s (profile %s).", name(k.SubjectDisplay), k.Hub, f.profile)
	}
	if f.json {
		return e.JSON(map[string]any{"profile": f.profile, "logged_in": false})
	}
	fmt.Fprintln(e.Stdout, cli.Clean(sentence))
	return nil
}
