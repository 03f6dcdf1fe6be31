package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/agentclient"
	"bailing/shared/textlimit"
)

// maxDevice is the length of a device's label, in UTF-16 units (agent §2.2).
const maxDevice = 128

func loginCommand(open func(string) error) *cli.Command {
	return &cli.Command{
		Name: "login", Args: "",
		Short: "Opens a session: a person consents on the business's page in a browser.",
		Long: `
Prints the address of the business's page and waits for the browser, for at most ten minutes. The browser comes back to a listener on
127.0.0.1, so that it must run on this machine. A session that the profile had is revoked once the new one is there.

A profile is a file below $XDG_CONFIG_HOME/bailing/agent (~/.config without that variable) that only you can read. It holds the tokens
of the session in clear text.

Exit status: 0 logged in; 1 access was denied, or nobody answered in time; 2 the hub refused, or cannot be reached.

Examples:
  agent login --hub http://127.0.0.1:8787 --client depot-agent --route depot-desk
  agent login --hub https://hub.example --client depot-agent --route depot-desk --route yard-ops --device "Yard laptop 3" --open`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f flags
			f.declare(fs)
			var o agentclient.LoginOptions
			fs.StringVar(&o.Hub, "hub", "", "address of the hub, a `URL`; https, or http on 127.0.0.1")
			fs.StringVar(&o.ClientAppID, "client", "", "the client `APP_ID` of the business at the hub")
			fs.Func("route", "a `ROUTE` that the session is to use; once for each, 1 to 64", func(s string) error {
				o.Routes = append(o.Routes, s)
				return nil
			})
			fs.StringVar(&o.DeviceLabel, "device", "", "what the person knows this machine by, a `LABEL`; its host name when absent")
			fs.DurationVar(&o.Timeout, "wait", 10*time.Minute, "how long to wait for the browser, a `DURATION` such as 2m")
			browser := fs.Bool("open", false, "start a browser with the page")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				switch {
				case len(args) > 0:
					return cli.Usagef("login takes no arguments: name each route with --route")
				case o.Hub == "":
					return cli.Usagef("which hub? --hub URL")
				case o.ClientAppID == "":
					return cli.Usagef("which client of the hub? --client APP_ID")
				case len(o.Routes) == 0:
					return cli.Usagef("for which routes? --route ROUTE, once for each")
				case o.Timeout <= 0:
					return cli.Usagef("--wait is more than 0")
				}
				if o.DeviceLabel == "" {
					o.DeviceLabel = hostName()
				}
				o.Show = func(a agentclient.Authorization) error {
					show(e, a, min(o.Timeout, a.ExpiresIn))
					if *browser {
						if err := open(a.URL); err != nil {
							fmt.Fprintln(e.Stderr, "warning: no browser could be started: "+cli.Clean(err.Error()))
						}
					}
					return nil
				}
				return login(ctx, e, &f, o)
			}
		},
	}
}

// show tells where to consent. It goes to standard error: standard output is for the result.
func show(e *cli.Env, a agentclient.Authorization, wait time.Duration) {
	fmt.Fprintf(e.Stderr, "Open this page in a browser on this machine, within %s:\n\n  %s\n\nWaiting for the browser ...\n", wait, cli.Clean(a.URL))
}

func login(ctx context.Context, e *cli.Env, f *flags, o agentclient.LoginOptions) error {
	c, err := f.client(e)
	if err != nil {
		return err
	}
	k, stale, err := c.Login(ctx, o)
	switch {
	case errors.Is(err, agentclient.ErrDenied), errors.Is(err, agentclient.ErrLoginExpired):
		fmt.Fprintln(e.Stderr, "agent: "+cli.Clean(err.Error()))
		return cli.ErrNotFine
	case err != nil:
		return f.advise(err)
	}
	if stale != nil {
		fmt.Fprintln(e.Stderr, "warning: the session before is forgotten here, but the hub was not told: "+cli.Clean(stale.Error()))
	}
	if f.json {
		return e.JSON(map[string]any{
			"profile": f.profile, "logged_in": true, "hub": k.Hub, "client_app_id": k.ClientAppID, "session_id": k.SessionID,
			"device_label": k.DeviceLabel, "subject_display": k.SubjectDisplay, "session_expires_at": k.RefreshExpiresAt.Truncate(time.Second),
		})
	}
	fmt.Fprintln(e.Stdout, cli.Clean(fmt.Sprintf("%s logged in to %s until %s (profile %s).", name(k.SubjectDisplay), k.Hub, day(k.RefreshExpiresAt), f.profile)))
	return nil
}

// name is how a sentence about the person begins.
func name(display string) string {
	if display == "" {
		return "You are"
	}
	return display + " is"
}

// day is when a session ends, as precisely as a person wants to know it.
func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// hostName is the label of a device that has none.
func hostName() string {
	host, err := os.Hostname()
	if host = textlimit.Trim(textlimit.Safe(host, maxDevice)); err != nil || host == "" {
		return "this machine"
	}
	return host
}
