package account

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

func whoamiCommand() *cli.Command {
	return &cli.Command{
		Name: "whoami", Args: "",
		Short: "Shows which hub is asked, and as whom.",
		Long:  "Exit status: 0 shown; 2 nobody, or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("whoami takes no arguments")
				}
				return show(ctx, e, &f, "You are")
			}
		},
	}
}

// me is the answer of GET /admin/api/me (core §10.1).
type me struct {
	Username string   `json:"username"`
	Via      string   `json:"via"` // "session" or "token"
	Role     string   `json:"role"`
	Perms    []string `json:"perms"`
}

// show asks the hub who it takes the caller for; verb goes before the name.
func show(ctx context.Context, e *cli.Env, f *hub.Flags, verb string) error {
	h, err := f.Connect(e)
	if err != nil {
		return err
	}
	var m me
	if _, err := h.Get(ctx, e, "/admin/api/me", "asking "+h.URL, &m); err != nil {
		return err
	}
	if f.JSON {
		return e.JSON(struct {
			URL     string `json:"url"`
			Profile string `json:"profile,omitempty"`
			me
		}{h.URL, h.Profile, m})
	}
	who := m.Username
	if m.Via == "token" {
		verb, who = "You use", "the server token"
	}
	fmt.Fprintln(e.Stdout, cli.Clean(fmt.Sprintf("%s %s at %s", verb, who, h.URL)))
	fmt.Fprintf(e.Stdout, "  role:         %s\n  permissions:  %s\n", cli.Clean(m.Role), cli.Clean(strings.Join(m.Perms, ", ")))
	if h.Profile != "" {
		fmt.Fprintf(e.Stdout, "  profile:      %s\n", h.Profile)
	}
	return nil
}

func passwordCommand() *cli.Command {
	return &cli.Command{
		Name: "password", Args: "",
		Short: "Changes your own password.",
		Long: `
Asks for the old password and twice for the new one; without a terminal they are three lines of standard input. Your other
sessions end with it.

Exit status: 0 changed; 2 the hub refused, or cannot be reached.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("password takes no arguments: passwords are asked for")
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				if h.Profile == "" {
					return &cli.HintError{Err: errors.New("the server token has no password"), Hint: "Log in with an account first."}
				}
				return changePassword(ctx, e, h, f.JSON)
			}
		},
	}
}

func changePassword(ctx context.Context, e *cli.Env, h *hub.Hub, asJSON bool) error {
	before, err := e.AskSecret(ctx, "Old password")
	if err != nil {
		return err
	}
	after, err := e.AskSecret(ctx, "New password")
	if err != nil {
		return err
	}
	again, err := e.AskSecret(ctx, "New password again")
	if err != nil {
		return err
	}
	if after != again {
		return cli.Usagef("the two new passwords are not the same")
	}
	body := map[string]string{"old_password": before, "new_password": after}
	a, err := h.Ask(ctx, e, http.MethodPost, "/admin/api/password", body, "changing the password")
	switch {
	case a.Status == http.StatusUnauthorized && a.Reason() != "unauthorized": // which is said of a session that has ended
		return errors.New(a.Reason())
	case a.Status == http.StatusTooManyRequests:
		return tooMany(a)
	}
	if err != nil {
		return err
	}
	if !a.OK() {
		return errors.New(a.Reason())
	}
	if asJSON {
		return e.JSON(a.Body)
	}
	fmt.Fprintln(e.Stdout, "The password is changed; other sessions have ended.")
	return nil
}
