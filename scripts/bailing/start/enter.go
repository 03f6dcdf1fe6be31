package start

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bailing/scripts/bailing/account"
	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

const localHub = "http://127.0.0.1:8787"

// findHub decides on the address and sees whether a hub is there.
func (w *wizard) findHub(ctx context.Context) error {
	address, from := strings.TrimRight(w.address, "/"), "--url"
	if set := strings.TrimRight(w.e.Getenv("BAILING_URL"), "/"); set != "" {
		if address != "" && address != set {
			return cli.Usagef("--url is given and BAILING_URL is set to another hub; leave one out")
		}
		address, from = set, "BAILING_URL"
	}
	if address == "" {
		if known, err := w.flags.Address(w.e); err == nil {
			address = known.URL
		}
	}
	address, err := w.ask(ctx, "url", address, "Address of the hub", localHub)
	if err != nil {
		return err
	}
	if w.hub, err = w.flags.At(w.e, address, from); err != nil {
		return err
	}
	var health struct {
		Paused bool `json:"paused"`
	}
	if _, err := w.hub.Get(ctx, w.e, "/health", "looking for the hub", &health); err != nil {
		return err
	}
	if health.Paused {
		return &cli.HintError{Err: errors.New("the hub is paused: it runs no jobs"), Hint: "'bailing resume' lets it go on."}
	}
	w.hub.WarnExposed(w.e)
	w.say("Hub", "%s answers.", w.hub.URL)
	return nil
}

// enter decides as whom to ask: the server token of the environment, a session that still lives, or a login.
func (w *wizard) enter(ctx context.Context) error {
	name, err := w.flags.Name(w.e)
	if err != nil {
		return err
	}
	if token := w.e.Getenv("BAILING_SERVER_TOKEN"); token != "" {
		return w.as(ctx, w.hub.WithToken(token))
	}
	p, _, err := hub.LoadProfile(w.e, name)
	if err != nil {
		return err
	}
	if p.Session != "" && p.URL == w.hub.URL && (w.username == "" || w.username == p.Username) {
		if err := w.as(ctx, w.hub.WithSession(name, p.Session)); err == nil || w.yes {
			return err
		}
		fmt.Fprintln(w.e.Stderr, "note: the earlier session has ended; log in again")
	}
	if w.yes {
		return &cli.HintError{Err: errors.New("nobody is logged in, and BAILING_SERVER_TOKEN is not set"),
			Hint: "With --yes nothing is asked: set the variable, or use 'bailing login' first."}
	}
	return w.login(ctx, name, p)
}

func (w *wizard) login(ctx context.Context, name string, p hub.Profile) error {
	username := w.username
	if username == "" {
		var err error
		if username, err = w.e.Ask(ctx, "Username (empty: you have the server token)", ""); err != nil {
			return err
		}
	}
	if username == "" {
		token, err := w.e.AskSecret(ctx, "Server token")
		if err != nil {
			return err
		}
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return cli.Usagef("that is no server token")
		}
		return w.as(ctx, w.hub.WithToken(token))
	}
	if err := account.Login(ctx, w.e, w.hub, name, p, username); err != nil {
		return err
	}
	p, _, err := hub.LoadProfile(w.e, name)
	if err != nil {
		return err
	}
	return w.as(ctx, w.hub.WithSession(name, p.Session))
}

// as goes on with h, once the hub says that it knows who asks.
func (w *wizard) as(ctx context.Context, h *hub.Hub) error {
	var me struct {
		Username string `json:"username"`
		Via      string `json:"via"`
		Role     string `json:"role"`
	}
	if _, err := h.Get(ctx, w.e, "/admin/api/me", "asking who you are", &me); err != nil {
		return err
	}
	w.hub = h
	if me.Via == "token" {
		w.say("Access", "The server token is accepted.")
		return nil
	}
	w.say("Access", "You are %s, with the role %s (profile %s).", me.Username, me.Role, h.Profile)
	return nil
}
