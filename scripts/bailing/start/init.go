package start

import (
	"context"
	"flag"
	"fmt"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// InitCommand is `bailing init`.
func InitCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Args: "",
		Short: "Walks from nothing to a first answered job, and says what each step does.",
		Long: `
Asks for what no flag says and what the hub does not have: the address of the hub, a login or the server token, a model, optionally
the specification of an API whose operations become tools, a route and a client. Then it submits a job as that client, waits for
the answer, and shows the client's token. Answers are read from a terminal, or line by line from standard input. Passwords and
keys are not shown, and never on the command line.

With --yes nothing is asked: flags, defaults and the environment say everything. Running it again changes nothing that is there.

Exit status: 0 the job is answered; 1 the job failed, or the specification has errors; 2 something lacks or was refused.

Examples:
  bailing init                                     with 'make dev' in another terminal
  MODEL_KEY=... bailing init --yes --model-url https://models.example/v1 --model MODEL --model-key-env MODEL_KEY
  bailing init --spec openapi.yaml --provider shop --provider-url https://shop.example

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var w wizard
			w.flags.Declare(fs, 60*time.Second)
			w.declare(fs)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("init takes no arguments")
				}
				if err := w.check(); err != nil {
					return err
				}
				w.e = e
				return w.run(ctx)
			}
		},
	}
}

// wizard is one walk.
type wizard struct {
	e     *cli.Env
	flags hub.Flags
	yes   bool

	address, username                           string
	credential, modelURL, model, modelKeyEnv    string
	spec, provider, providerURL, secretEnv      string
	subjectField, subject, route, client, input string
	wait                                        time.Duration

	hub    *hub.Hub
	step   int
	tools  *attached // nil: none
	token  string    // of the client
	made   string    // the provider's secret, when it was made here
	answer answered
}

func (w *wizard) declare(fs *flag.FlagSet) {
	fs.BoolVar(&w.yes, "yes", false, "ask nothing: take flags, defaults and the environment")
	fs.StringVar(&w.address, "url", "", "`URL` of the hub")
	fs.StringVar(&w.username, "username", "", "log in with the account `NAME`")
	fs.StringVar(&w.credential, "credential", "", "use or save the model credential `NAME`")
	fs.StringVar(&w.modelURL, "model-url", "", "base `URL` of an OpenAI-compatible model endpoint, such as https://models.example/v1")
	fs.StringVar(&w.model, "model", "", "`NAME` of the model at that endpoint")
	fs.StringVar(&w.modelKeyEnv, "model-key-env", "", "take the endpoint's key from the environment variable `NAME`")
	fs.StringVar(&w.spec, "spec", "", "make tools of the specification in this `FILE|URL`")
	fs.StringVar(&w.provider, "provider", "", "save the tools as the tool provider `NAME`")
	fs.StringVar(&w.providerURL, "provider-url", "", "base `URL` of the API")
	fs.StringVar(&w.secretEnv, "provider-secret-env", "", "take the signing secret from the environment variable `NAME`")
	fs.StringVar(&w.subjectField, "subject-field", "operator_uid",
		"the member `NAME` of a job's metadata that says in whose name tools are called")
	fs.StringVar(&w.subject, "subject", "", "submit the first job in the name of `ID`")
	fs.StringVar(&w.route, "route", "", "use or save the route `NAME`; hello unless an answer says otherwise")
	fs.StringVar(&w.client, "client", "", "use or save the client `NAME`; first-client unless an answer says otherwise")
	fs.StringVar(&w.input, "input", "", "`TEXT` of the first job; a greeting unless an answer says otherwise")
	fs.DurationVar(&w.wait, "wait", 2*time.Minute, "how long to wait for the answer, a `DURATION` such as 5m")
}

// check refuses what can be seen to be wrong before anything is done.
func (w *wizard) check() error {
	for _, name := range []struct{ flag, value string }{
		{"credential", w.credential}, {"provider", w.provider}, {"client", w.client}, {"route", w.route},
	} {
		if name.value != "" && !textlimit.ResourceName(name.value) {
			return cli.Usagef("--%s: %q is no name: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit", name.flag, name.value)
		}
	}
	if w.wait <= 0 {
		return cli.Usagef("--wait is more than 0")
	}
	return nil
}

func (w *wizard) run(ctx context.Context) error {
	steps := []func(context.Context) error{w.findHub, w.enter, w.useModel, w.useTools, w.useRoute, w.useClient, w.firstJob}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return w.finish()
}

// say is one step's result.
func (w *wizard) say(what, format string, args ...any) {
	w.step++
	if w.flags.JSON {
		return
	}
	first := fmt.Sprintf("%d. %-10s ", w.step, what)
	fmt.Fprintln(w.e.Stdout, cli.Hang(w.e.Style().Bold(first), fmt.Sprintf(format, args...), w.e.TextWidth()))
}

// ask is a flag's value, or the answer to a question. With --yes an empty fallback is an error that names the flag.
func (w *wizard) ask(ctx context.Context, flag, value, question, fallback string) (string, error) {
	if value != "" {
		return value, nil
	}
	if w.yes {
		if fallback == "" {
			return "", cli.Usagef("--%s is needed with --yes", flag)
		}
		return fallback, nil
	}
	answer, err := w.e.Ask(ctx, question, fallback)
	if err == nil && answer == "" {
		err = cli.Usagef("an answer to %q is needed", question)
	}
	return answer, err
}

// secret is the value of the environment variable that a flag names, or the answer to a question; it may be empty.
func (w *wizard) secret(ctx context.Context, flag, variable, question string) (string, error) {
	if variable != "" {
		value := w.e.Getenv(variable)
		if value == "" {
			return "", cli.Usagef("the environment variable of --%s is empty or not set", flag)
		}
		return value, nil
	}
	if w.yes {
		return "", nil
	}
	return w.e.AskSecret(ctx, question)
}
