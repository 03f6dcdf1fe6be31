package provider

import (
	"fmt"
	"net/url"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// providerPath is a path of the admin API below a provider.
func providerPath(name, action string) string {
	return "/admin/api/tool-providers/" + url.PathEscape(name) + action
}

// providerName checks the name of a provider (core §4.1).
func providerName(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("give the name of one tool provider")
	}
	if !textlimit.ResourceName(args[0]) {
		return "", cli.Usagef("%q is no name of a tool provider: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit", args[0])
	}
	return args[0], nil
}

// about says of which provider the hub knows nothing.
func about(name string, a hub.Answer, err error) error {
	if a.Status == 404 {
		return &cli.HintError{Err: fmt.Errorf("%s: %s (status 404)", name, a.Reason()),
			Hint: "'bailing provider list' shows the tool providers that the hub has."}
	}
	return err
}
