package operate

import (
	"context"
	"flag"
	"fmt"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

const timeout = 30 * time.Second

// Commands are job, approvals, agent, reconcile, status, pause, resume, diagnose, audit and cost.
func Commands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "job", Short: "Lists jobs, shows what happened to one, and runs one again.",
			Sub: []*cli.Command{jobListCommand(), jobShowCommand(), jobRerunCommand()},
		},
		approvalsCommand(),
		agentCommand(),
		{
			Name: "reconcile", Short: "Lists, shows and closes the calls with side effects whose outcome nobody knows.",
			Sub: []*cli.Command{reconcileListCommand(), reconcileShowCommand(), reconcileCloseCommand()},
		},
		statusCommand(), pauseCommand(), resumeCommand(), diagnoseCommand(), auditCommand(), costCommand(),
	}
}

// run is the work of a command once the hub is known.
type run func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error

// asking makes the New of a command that asks a hub; args is how many arguments it takes, and what they are.
func asking(count int, what string, declare func(*flag.FlagSet) run) func(*flag.FlagSet) cli.Run {
	return func(fs *flag.FlagSet) cli.Run {
		var f hub.Flags
		f.Declare(fs, timeout)
		work := declare(fs)
		return func(ctx context.Context, e *cli.Env, args []string) error {
			if len(args) != count {
				return cli.Usagef("%s", what)
			}
			h, err := f.Connect(e)
			if err != nil {
				return err
			}
			return work(ctx, e, h, args, f.JSON)
		}
	}
}

// page are the flags of a list.
type page struct{ limit, offset int }

func (p *page) declare(fs *flag.FlagSet) {
	fs.IntVar(&p.limit, "limit", 20, "show at most `N`")
	fs.IntVar(&p.offset, "offset", 0, "leave the latest `N` out")
}

func (p *page) query() (string, error) {
	if p.limit < 1 || p.offset < 0 {
		return "", cli.Usagef("--limit is at least 1, and --offset at least 0")
	}
	query := fmt.Sprintf("?limit=%d", p.limit)
	if p.offset > 0 {
		query += fmt.Sprintf("&offset=%d", p.offset)
	}
	return query, nil
}

// at is a time of the hub as people read it.
func at(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
