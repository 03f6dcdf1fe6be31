package hub

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/outbound"
)

// Help is what --help of a command that asks a hub says about it.
const Help = `The hub, and who asks it, come from the profile of 'bailing login', or from the environment, which wins:
  BAILING_URL            address of the hub, such as http://127.0.0.1:8787
  BAILING_SERVER_TOKEN   the server token
  BAILING_PROFILE        name of the profile (default "default")`

// Flags are those of every command that asks a hub.
type Flags struct {
	Profile string
	JSON    bool
	Timeout time.Duration
}

// Declare adds the flags; timeout is how long the hub may take by default.
func (f *Flags) Declare(fs *flag.FlagSet, timeout time.Duration) {
	f.DeclareWithoutJSON(fs, timeout)
	fs.BoolVar(&f.JSON, "json", false, "print JSON for programs")
}

// DeclareWithoutJSON is for commands whose output has one form.
func (f *Flags) DeclareWithoutJSON(fs *flag.FlagSet, timeout time.Duration) {
	f.DeclareProfile(fs)
	fs.DurationVar(&f.Timeout, "timeout", timeout, "how long the hub may take, a `DURATION` such as 30s")
}

// DeclareProfile adds --profile alone.
func (f *Flags) DeclareProfile(fs *flag.FlagSet) {
	fs.StringVar(&f.Profile, "profile", "", "ask the hub of the profile `NAME`")
}

// Hub is a hub as one administrator sees it.
type Hub struct {
	URL     string // without a slash at the end
	Profile string // "" when the token of the environment is used

	net            cli.Sender
	token, session string // one of them
	timeout        time.Duration
}

// Connect decides which hub to ask and as whom, without asking it.
func (f *Flags) Connect(e *cli.Env) (*Hub, error) {
	h, err := f.Address(e)
	if err != nil {
		return nil, err
	}
	name, p, err := f.load(e)
	if err != nil {
		return nil, err
	}
	if h.token = e.Getenv("BAILING_SERVER_TOKEN"); h.token == "" {
		if p.Session == "" || p.URL != h.URL {
			return nil, &cli.HintError{
				Err:  fmt.Errorf("nobody is logged in to %s (profile %s), and BAILING_SERVER_TOKEN is not set", h.URL, name),
				Hint: "Log in: " + LoginCommand(name) + ".",
			}
		}
		h.Profile, h.session = name, p.Session
	}
	if strings.ContainsFunc(h.token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("BAILING_SERVER_TOKEN has characters that no token has")
	}
	h.WarnExposed(e)
	return h, nil
}

// Address decides which hub to ask, as nobody.
func (f *Flags) Address(e *cli.Env) (*Hub, error) {
	if f.Timeout <= 0 {
		return nil, cli.Usagef("--timeout is more than 0")
	}
	_, p, err := f.load(e)
	if err != nil {
		return nil, err
	}
	raw, from := e.Getenv("BAILING_URL"), "BAILING_URL"
	if raw == "" {
		raw, from = p.URL, "the profile's url"
	}
	if raw == "" {
		return nil, &cli.HintError{Err: errors.New("no hub is known: BAILING_URL is not set, and there is no profile"),
			Hint: "This command asks a hub. Log in with 'bailing login --url URL', or set BAILING_URL to its address and " +
				"BAILING_SERVER_TOKEN to the server token; `make dev` prints both."}
	}
	return f.At(e, raw, from)
}

// At is the hub at raw, as nobody; from says where the address was found.
func (f *Flags) At(e *cli.Env, raw, from string) (*Hub, error) {
	if f.Timeout <= 0 {
		return nil, cli.Usagef("--timeout is more than 0")
	}
	raw = strings.TrimRight(raw, "/")
	if err := outbound.CheckURL(raw, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return &Hub{net: e.Net, URL: raw, timeout: f.Timeout}, nil
}

// Name is the name of the profile that counts: the one of --profile, that of BAILING_PROFILE, or [DefaultProfile]. A profile that
// is named beside variables which would win over it is refused: one of the two is not meant.
func (f *Flags) Name(e *cli.Env) (string, error) {
	for _, variable := range []string{"BAILING_URL", "BAILING_SERVER_TOKEN"} {
		if f.Profile != "" && e.Getenv(variable) != "" {
			return "", cli.Usagef("--profile is given and %s is set, which would win over the profile; leave one out", variable)
		}
	}
	return profileName(e, f.Profile)
}

// load reads the profile that counts.
func (f *Flags) load(e *cli.Env) (name string, p Profile, err error) {
	if name, err = f.Name(e); err != nil {
		return "", p, err
	}
	p, ok, err := LoadProfile(e, name)
	if err == nil && !ok && f.Profile != "" {
		err = &cli.HintError{Err: fmt.Errorf("there is no profile %s", name), Hint: "Make it: " + LoginCommand(name) + " --url URL."}
	}
	return name, p, err
}

// LoginCommand is what to type to log in with a profile.
func LoginCommand(profile string) string {
	if profile == "" || profile == DefaultProfile {
		return "bailing login"
	}
	return "bailing login --profile " + profile
}

// WithToken is the same hub, asked with a server token or a client's.
func (h *Hub) WithToken(token string) *Hub {
	c := *h
	c.token, c.session, c.Profile = token, "", ""
	return &c
}

// WithSession is the same hub, asked with the session of a profile.
func (h *Hub) WithSession(profile, session string) *Hub {
	c := *h
	c.token, c.session, c.Profile = "", session, profile
	return &c
}

// WarnExposed warns of secrets that travel in clear text beyond this machine.
func (h *Hub) WarnExposed(e *cli.Env) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err != nil || !addr.IsLoopback() {
		fmt.Fprintln(e.Stderr, "warning: "+cli.Clean(h.URL)+" is not https: others on the way can read tokens and passwords")
	}
}
