package operate

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

func pauseCommand() *cli.Command {
	return &cli.Command{
		Name: "pause", Args: "",
		Short: "Stops a hub from accepting and running jobs.",
		Long: `
Submissions are answered with 503; what is queued stays queued, and what runs comes to its end. 'bailing resume' goes on.

Exit status: 0 paused; 2 wrong usage, a hub that refused, or no answer.

` + hub.Help,
		New: asking(0, "pause takes no arguments", func(*flag.FlagSet) run {
			return pausing("pause", "The hub is paused: it accepts and runs no jobs.")
		}),
	}
}

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Args: "",
		Short: "Lets a paused hub accept and run jobs again.",
		Long:  "Exit status: 0 resumed; 2 wrong usage, a hub that refused, or no answer.\n\n" + hub.Help,
		New: asking(0, "resume takes no arguments", func(*flag.FlagSet) run {
			return pausing("resume", "The hub accepts and runs jobs.")
		}),
	}
}

func pausing(action, sentence string) run {
	return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
		a, err := h.Ask(ctx, e, http.MethodPost, "/admin/"+action, nil, "asking the hub to "+action)
		if err != nil {
			return err
		}
		if !a.OK() {
			return fmt.Errorf("the hub did not %s: %s", action, a.Reason())
		}
		if asJSON {
			return e.JSON(a.Body)
		}
		fmt.Fprintln(e.Stdout, sentence)
		return nil
	}
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Args: "",
		Short: "Shows whether a hub works, and on how many jobs.",
		Long:  "Exit status: 0 it works; 1 it is paused; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "status takes no arguments", func(*flag.FlagSet) run {
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				var s struct {
					Paused bool `json:"paused"`
					Queue  struct {
						Running   int  `json:"running"`
						Waiting   int  `json:"waiting"`
						Truncated bool `json:"truncated"`
					} `json:"queue"`
				}
				a, err := h.Get(ctx, e, "/admin/api/status", "asking for the status", &s)
				if err != nil {
					return err
				}
				if asJSON {
					err = e.JSON(a.Body)
				} else {
					state, least := e.Style().Green("running"), ""
					if s.Paused {
						state = e.Style().Red("paused")
					}
					if s.Queue.Truncated {
						least = "at least "
					}
					fmt.Fprintf(e.Stdout, "%s at %s: %s%s running, %d waiting\n",
						state, cli.Clean(h.URL), least, cli.Count(s.Queue.Running, "job"), s.Queue.Waiting)
				}
				if err == nil && s.Paused {
					err = cli.ErrNotFine
				}
				return err
			}
		}),
	}
}

// orJSON is the error, or without one the hub's answer as it came.
func orJSON(e *cli.Env, a hub.Answer, err error) error {
	if err != nil {
		return err
	}
	return e.JSON(a.Body)
}
