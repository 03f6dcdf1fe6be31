package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/agentclient"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Args: "",
		Short: "Shows who is logged in, as the hub sees it.",
		Long: `
Asks the hub, and refreshes the tokens first if it is time. A session that the hub does not know any more is forgotten.

Exit status: 0 somebody is logged in; 1 nobody is, or the session has ended; 2 the hub cannot be asked.`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f flags
			f.declare(fs)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("status takes no arguments")
				}
				return status(ctx, e, &f)
			}
		},
	}
}

// ends are the errors after which nobody is logged in, by the word for programs.
var ends = map[string]error{
	"not_logged_in": agentclient.ErrNotLoggedIn,
	"ended":         agentclient.ErrSessionEnded,
	"lost":          agentclient.ErrSessionLost,
}

func status(ctx context.Context, e *cli.Env, f *flags) error {
	c, err := f.client(e)
	if err != nil {
		return err
	}
	k, err := c.Store.Load(ctx)
	var v agentclient.SessionView
	if err == nil {
		done := e.Progress("asking %s", k.Hub)
		v, err = c.Session(ctx)
		done()
	}
	for reason, end := range ends {
		if errors.Is(err, end) {
			return nobody(e, f, reason, err)
		}
	}
	switch {
	case err != nil:
		return f.advise(err)
	case f.json:
		return e.JSON(struct {
			Profile  string `json:"profile"`
			LoggedIn bool   `json:"logged_in"`
			Hub      string `json:"hub"`
			agentclient.SessionView
		}{f.profile, true, k.Hub, v})
	}
	fmt.Fprintln(e.Stdout, cli.Clean(fmt.Sprintf("%s logged in to %s (profile %s).", name(v.SubjectDisplay), k.Hub, f.profile)))
	for _, line := range [][2]string{
		{"client", v.ClientAppID}, {"acts for", v.OnBehalfOf}, {"routes", strings.Join(v.AllowedRoutes, ", ")}, {"device", v.DeviceLabel},
		{"session", v.SessionID}, {"since", instant(v.CreatedAt)}, {"until", instant(v.RefreshExpiresAt)},
	} {
		fmt.Fprintf(e.Stdout, "  %-8s  %s\n", line[0], cli.Clean(line[1]))
	}
	return nil
}

// nobody says that nobody is logged in.
func nobody(e *cli.Env, f *flags, reason string, err error) error {
	if f.json {
		if err := e.JSON(map[string]any{"profile": f.profile, "logged_in": false, "reason": reason}); err != nil {
			return err
		}
		return cli.ErrNotFine
	}
	fmt.Fprintf(e.Stderr, "agent: %s (profile %s)\n  Log in: %s.\n", cli.Clean(err.Error()), f.profile, f.again())
	return cli.ErrNotFine
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
