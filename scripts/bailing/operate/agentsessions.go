package operate

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// agentSession is a local agent that was let in.
type agentSession struct {
	ID       string `json:"session_id"`
	Client   string `json:"client_app_id"`
	Device   string `json:"device_label"`
	For      string `json:"on_behalf_of"`
	State    string `json:"state"`
	Created  string `json:"created_at"`
	LastSeen string `json:"last_seen_at"`
	Ends     string `json:"refresh_expires_at"`
}

const (
	agentSessionsPath = "/admin/api/agent-clients/sessions"
	oneAgentSession   = "give the id of one session, as 'bailing agent sessions list' shows it"
)

func agentCommand() *cli.Command {
	return &cli.Command{
		Name: "agent", Short: "Lists and revokes the sessions of local agents.",
		Sub: []*cli.Command{{
			Name: "sessions", Short: "Lists and revokes the sessions of local agents.",
			Sub: []*cli.Command{agentSessionsListCommand(), agentSessionsRevokeCommand()},
		}},
	}
}

func agentSessionsListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the sessions of local agents, newest first.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "list takes no arguments", func(fs *flag.FlagSet) run {
			var p page
			p.declare(fs)
			client := fs.String("client", "", "those of the client with this `APP_ID` alone")
			state := fs.String("state", "active", "`STATE`: active, expired, revoked or all")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				query, err := p.query()
				if err != nil {
					return err
				}
				switch *state {
				case "active", "expired", "revoked", "all":
				default:
					return cli.Usagef("--state is active, expired, revoked or all")
				}
				query += "&state=" + *state
				if *client != "" {
					query += "&client_app_id=" + url.QueryEscape(*client)
				}
				var found struct {
					List      []agentSession `json:"list"`
					Total     int            `json:"total"`
					Truncated bool           `json:"truncated"`
				}
				a, err := h.Get(ctx, e, agentSessionsPath+query, "reading the sessions", &found)
				if err != nil || asJSON {
					return orJSON(e, a, err)
				}
				printAgentSessions(e, found.List)
				if more := found.Total - p.offset - len(found.List); more > 0 && len(found.List) > 0 {
					fmt.Fprintf(e.Stdout, "There are %d more; --limit and --offset show them.\n", more)
				}
				if found.Truncated {
					fmt.Fprintln(e.Stdout, "Older sessions were not looked at; --client looks at more of one client.")
				}
				return nil
			}
		}),
	}
}

func printAgentSessions(e *cli.Env, all []agentSession) {
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "No sessions.")
		return
	}
	t := cli.Table{Head: []string{"SESSION", "STATE", "CLIENT", "FOR", "DEVICE", "SINCE", "SEEN", "ENDS"}}
	for _, s := range all {
		t.Rows = append(t.Rows, []string{s.ID, s.State, s.Client, s.For, s.Device, at(s.Created), at(s.LastSeen), at(s.Ends)})
	}
	t.PrintOrStack(e)
}

func agentSessionsRevokeCommand() *cli.Command {
	return &cli.Command{
		Name: "revoke", Args: "SESSION",
		Short: "Ends the session of a local agent; the person must let it in again.",
		Long:  "Exit status: 0 revoked, now or before; 2 wrong usage, no such session, or no answer.\n\n" + hub.Help,
		New: asking(1, oneAgentSession, func(fs *flag.FlagSet) run {
			yes := fs.Bool("yes", false, "do not ask")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				id, ok := textlimit.NormalizeUUID(args[0])
				if !ok {
					return cli.Usagef("%q is no id of a session", args[0])
				}
				if !*yes {
					if err := e.Confirm(ctx, fmt.Sprintf("Revoke the session %s at %s? This is final.", id, h.URL)); err != nil {
						return err
					}
				}
				a, err := h.Ask(ctx, e, http.MethodPost, agentSessionsPath+"/"+id+"/revoke", nil, "revoking")
				switch {
				case a.Status == http.StatusNotFound:
					return &cli.HintError{Err: fmt.Errorf("the hub has no session %s", id), Hint: "'bailing agent sessions list --state all' shows them."}
				case err != nil:
					return err
				case !a.OK():
					return refused(a)
				case asJSON:
					return e.JSON(a.Body)
				}
				var done struct {
					Already bool `json:"already_revoked"`
				}
				if err := a.Into(&done); err != nil {
					return err
				}
				if done.Already {
					fmt.Fprintln(e.Stdout, "It was revoked before.")
				} else {
					fmt.Fprintln(e.Stdout, "Revoked. Its next call fails.")
				}
				return nil
			}
		}),
	}
}
