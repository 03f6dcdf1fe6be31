package provider

import (
	"context"
	"flag"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/scripts/bailing/specfile"
)

// Commands is the group `bailing provider`.
func Commands() *cli.Command {
	return &cli.Command{
		Name: "provider", Short: "Checks specifications of business APIs and operates on tool providers.",
		Sub: []*cli.Command{lintCommand(), diffCommand(), listCommand(), toolsCommand(), refreshCommand(), probeCommand()},
	}
}

// asking is a command about the provider that its one argument names: it connects to the hub and runs the rest.
func asking(timeout time.Duration, then func(ctx context.Context, e *cli.Env, h *hub.Hub, name string, asJSON bool) error) func(*flag.FlagSet) cli.Run {
	return func(fs *flag.FlagSet) cli.Run {
		var f hub.Flags
		f.Declare(fs, timeout)
		return func(ctx context.Context, e *cli.Env, args []string) error {
			name, err := providerName(args)
			if err != nil {
				return err
			}
			h, err := f.Connect(e)
			if err != nil {
				return err
			}
			return then(ctx, e, h, name, f.JSON)
		}
	}
}

// sourceFlags are those of commands that read specifications.
type sourceFlags struct {
	secretEnv string
	timeout   time.Duration
}

// declare adds the flags; also says what else the secret is good for.
func (f *sourceFlags) declare(fs *flag.FlagSet, also string) {
	fs.StringVar(&f.secretEnv, "secret-env", "",
		"sign reads of a URL with the secret in the environment variable `NAME`, as a hub does"+also)
	fs.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long one request may take, a `DURATION` such as 30s")
}

// options looks the secret up. It is never on the command line, where other users of the machine could read it.
func (f *sourceFlags) options(e *cli.Env, sources ...string) (specfile.Options, error) {
	o := specfile.Options{Timeout: f.timeout}
	if f.timeout <= 0 {
		return o, cli.Usagef("--timeout is more than 0")
	}
	if f.secretEnv == "" {
		return o, nil
	}
	if o.Secret = e.Getenv(f.secretEnv); o.Secret == "" {
		return o, cli.Usagef("the environment variable of --secret-env is empty or not set")
	}
	for _, s := range sources {
		if specfile.IsURL(s) {
			return o, nil
		}
	}
	return o, cli.Usagef("--secret-env signs reads of URLs, and there is none")
}

func jsonFlag(fs *flag.FlagSet) *bool { return fs.Bool("json", false, "print JSON for programs") }
