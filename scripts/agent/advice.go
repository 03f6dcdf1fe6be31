package main

import (
	"errors"

	"bailing/scripts/bailing/cli"
	"bailing/shared/agentclient"
)

// advise adds to an error what the person at the terminal can do.
func (f *flags) advise(err error) error {
	var unsent *agentclient.NetError
	var broken *agentclient.RuleError
	var refused *agentclient.RefusedError
	hint := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agentclient.ErrExposed):
		hint = "Take the permissions of others away with 'chmod go= FILE', and log in again if somebody may have read it."
	case errors.Is(err, agentclient.ErrDamaged):
		hint = "A login writes it anew: " + f.again() + "."
	case errors.Is(err, errors.ErrUnsupported):
		hint = "Sessions are kept where files can be locked: on Linux, macOS and other Unix systems, on a file system that keeps flock."
	case errors.Is(err, agentclient.ErrIdentityConflict):
		hint = "Nothing was stored. The hub mixes sessions up, or something stands between you and the hub: tell who runs it."
	case errors.As(err, &refused):
		hint = refusals[refused.Code]
	case errors.As(err, &broken):
		hint = "That is not a hub, or one that speaks another version: check the address."
	case errors.As(err, &unsent) && unsent.Sent:
		hint = "The hub may have done what was asked, and the answer was lost. Look with 'agent status'."
	case errors.As(err, &unsent):
		hint = "Is the hub running, and is this its address?"
	}
	if hint == "" {
		return err
	}
	return &cli.HintError{Err: err, Hint: hint}
}

// refusals are what codes of agent §2 mean for the person.
var refusals = map[string]string{
	"invalid_client": "The hub has no enabled client of this name with an agent_authorize_url, or the client may not use one of the routes. " +
		"Whoever runs the hub sees it with 'bailing client show'.",
	"rate_limited":                "Too many logins within a minute: wait one.",
	"agent_authorize_url_invalid": "The client's agent_authorize_url is wrong; whoever runs the hub has to repair it.",
	"agent_auth_unavailable":      "The hub cannot reach its sessions; try again.",
	"invalid_grant":               "The code was used already or is older than two minutes, or the client was switched off: log in again.",
	"not_found":                   "This address answers, but has no Agent Auth.",
}
