package account

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

// Commands are login, logout, whoami and password.
func Commands() []*cli.Command {
	return []*cli.Command{loginCommand(), logoutCommand(), whoamiCommand(), passwordCommand()}
}

const timeout = 30 * time.Second

func loginCommand() *cli.Command {
	return &cli.Command{
		Name: "login", Args: "",
		Short: "Logs in to a hub as an administrator, and keeps the session in a profile.",
		Long: `
Asks for what is not given. The password is read from a terminal without showing it, else it is one line of standard input; it is
never on the command line. Without a terminal --username is needed, unless the profile knows the name.

A profile is a file below $XDG_CONFIG_HOME/bailing/profiles that only you can read. It holds the address of the hub and the
session, not the password. Without --url the address is BAILING_URL, or the one that the profile has.

Exit status: 0 logged in; 2 the hub refused, or cannot be reached.

Examples:
  bailing login --url http://127.0.0.1:8787
  bailing login --profile production --url https://hub.example --username ada < password-file`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			address := fs.String("url", "", "`URL` of the hub")
			username := fs.String("username", "", "`NAME` of the account; it is asked for when absent")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("login takes no arguments: --username names the account, and the password is asked for")
				}
				name, p, err := Target(ctx, e, &f, *address)
				if err != nil {
					return err
				}
				h, err := f.At(e, p.URL, "the address")
				if err != nil {
					return err
				}
				if err := Login(ctx, e, h, name, p, *username); err != nil {
					return err
				}
				return show(ctx, e, &f, "You are logged in as")
			}
		},
	}
}

// Target is the profile to log in with, and the address in it: the given one, else that of the environment, else its own.
func Target(ctx context.Context, e *cli.Env, f *hub.Flags, address string) (name string, p hub.Profile, err error) {
	if name, err = f.Name(e); err != nil {
		return name, p, err
	}
	if e.Getenv("BAILING_SERVER_TOKEN") != "" {
		return name, p, &cli.HintError{Err: errors.New("BAILING_SERVER_TOKEN is set and wins over every profile"),
			Hint: "Unset it to work as an administrator with an account."}
	}
	stored, _, _ := hub.LoadProfile(e, name) // one that cannot be read is written anew
	p = hub.Profile{URL: strings.TrimRight(address, "/")}
	if set := strings.TrimRight(e.Getenv("BAILING_URL"), "/"); p.URL == "" {
		p.URL = set
	} else if set != "" && set != p.URL {
		return name, p, cli.Usagef("--url is given and BAILING_URL is set to another hub, which would win; leave one out")
	}
	if p.URL == "" {
		p.URL = stored.URL
	}
	if p.URL == "" {
		if p.URL, err = e.Ask(ctx, "Address of the hub", "http://127.0.0.1:8787"); err != nil {
			return name, p, err
		}
	}
	if stored.URL == p.URL {
		p.Username = stored.Username
	}
	return name, p, nil
}

// Login asks for a username, unless it is given, and a password, opens a session and keeps it in the profile called name.
func Login(ctx context.Context, e *cli.Env, h *hub.Hub, name string, p hub.Profile, username string) (err error) {
	h.WarnExposed(e)
	switch {
	case username != "":
	case e.Interactive:
		if username, err = e.Ask(ctx, "Username", p.Username); err != nil {
			return err
		}
	default: // a line that was meant as the password must not be taken for a name, which is shown
		username = p.Username
	}
	if username == "" {
		return cli.Usagef("a username is needed: --username NAME")
	}
	password, err := e.AskSecret(ctx, "Password of "+username)
	if err != nil {
		return err
	}
	body := map[string]string{"username": username, "password": password}
	a, err := h.Ask(ctx, e, http.MethodPost, "/admin/login", body, "logging in to "+h.URL)
	switch {
	case a.Status == http.StatusTooManyRequests:
		return tooMany(a)
	case err != nil:
		return err
	case !a.OK():
		return errors.New(a.Reason())
	case a.Session() == "":
		return errors.New("the hub answered without a session")
	}
	return hub.SaveProfile(e, name, hub.Profile{URL: h.URL, Username: username, Session: a.Session()})
}

// tooMany says how long to wait after too many failed logins.
func tooMany(a hub.Answer) error {
	var r struct {
		AfterMS int64 `json:"retry_after_ms"`
	}
	hint := "Wait a few minutes; more attempts make it longer."
	if a.Into(&r) == nil && r.AfterMS > 0 {
		hint = fmt.Sprintf("Try again in %s.", (time.Duration(r.AfterMS) * time.Millisecond).Round(time.Second))
	}
	return &cli.HintError{Err: errors.New(a.Reason()), Hint: hint}
}

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name: "logout", Args: "",
		Short: "Ends the session of a profile, on the hub and here.",
		Long: `
The session is forgotten here even when the hub cannot be told; it then ends by itself after seven days without use.

Exit status: 0 logged out, or nobody was logged in; 2 the hub could not be told.`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("logout takes no arguments")
				}
				return logout(ctx, e, &f)
			}
		},
	}
}

func logout(ctx context.Context, e *cli.Env, f *hub.Flags) error {
	name, err := f.Name(e)
	if err != nil {
		return err
	}
	p, ok, err := hub.LoadProfile(e, name)
	if err != nil {
		return err
	}
	result := map[string]any{"ok": true, "profile": name}
	if !ok || p.Session == "" {
		return say(e, f.JSON, result, fmt.Sprintf("Nobody is logged in (profile %s).", name))
	}
	session := p.Session
	p.Session = ""
	if err := hub.SaveProfile(e, name, p); err != nil {
		return err
	}
	h, err := f.At(e, p.URL, "the profile's url")
	if err != nil {
		return err
	}
	h = h.WithSession(name, session)
	a, err := h.Ask(ctx, e, http.MethodPost, "/admin/logout", nil, "logging out of "+h.URL)
	if err != nil && a.Status != http.StatusUnauthorized {
		return fmt.Errorf("the session is forgotten here, but the hub was not told: %w", err)
	}
	return say(e, f.JSON, result, fmt.Sprintf("%s is logged out of %s (profile %s).", p.Username, p.URL, name))
}

// say prints one sentence for a person, or v.
func say(e *cli.Env, asJSON bool, v any, sentence string) error {
	if asJSON {
		return e.JSON(v)
	}
	fmt.Fprintln(e.Stdout, cli.Clean(sentence))
	return nil
}
