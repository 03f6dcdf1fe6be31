package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"bailing/scripts/demo/business"
	"bailing/scripts/local/stack"
	"bailing/shared/awslocal"
)

const usage = `Usage: local [-aws-only ADDR] [-dir DIR]

Runs the hub with its AWS stand-ins on this machine. Configuration is read from the environment:

  BAILING_ADDR          address to serve (default 127.0.0.1:8787)
  BAILING_DATA          data directory (default .bailing)
  BAILING_SERVER_TOKEN  server token, which may do everything, at least 24 characters (default: generated, kept in the data directory)
  BAILING_BOOTSTRAP_ADMIN_USERNAME, BAILING_BOOTSTRAP_ADMIN_PASSWORD
                        first administrator (default: admin, and a generated password, kept in the data directory)
  BAILING_DEMO          0 for an empty hub, without the demo business and model
  BAILING_EGRESS_ALLOW  where outbound requests may go beside public addresses (default: loopback)
  BAILING_JSON_BODY_MAX_BYTES  largest request body (default 1048576)
  BAILING_AUDIT_RETENTION_DAYS  how many days audit records are kept (default 0: for ever)
  BAILING_LOG           file for logs and metrics, - for standard error (default: hub.log in the data directory)
  BAILING_LOG_LEVEL     debug, info, warn or error (default info)

Flags:
`

func main() {
	if err := run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func run(args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	awsOnly := flags.String("aws-only", "", "serve only the AWS stand-ins on this address")
	dir := flags.String("dir", "", "with -aws-only: keep the data in this directory (default: in memory)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *awsOnly != "" {
		return serveAWS(ctx, *awsOnly, *dir, stdout)
	}
	return serveHub(ctx, getenv, stdout, stderr)
}

func serveAWS(ctx context.Context, addr, dir string, stdout io.Writer) error {
	server, err := awslocal.Open(awslocal.Options{Dir: dir})
	if err != nil {
		return err
	}
	endpoint, err := server.Start(addr)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	fmt.Fprintf(stdout, "ready %s\n", endpoint)
	<-ctx.Done()
	return server.Close()
}

func serveHub(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer) error {
	data := orDefault(getenv("BAILING_DATA"), ".bailing")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(orDefault(getenv("BAILING_LOG_LEVEL"), "info"))); err != nil {
		return errors.New("BAILING_LOG_LEVEL is none of debug, info, warn and error")
	}
	logs, logName, err := openLog(getenv("BAILING_LOG"), data, stderr)
	if err != nil {
		return err
	}
	defer logs.Close()
	s, err := stack.Start(ctx, stack.Options{
		Addr: orDefault(getenv("BAILING_ADDR"), "127.0.0.1:8787"), Dir: data, ServerToken: getenv("BAILING_SERVER_TOKEN"),
		AdminUsername: getenv("BAILING_BOOTSTRAP_ADMIN_USERNAME"), AdminPassword: getenv("BAILING_BOOTSTRAP_ADMIN_PASSWORD"),
		EgressAllow: getenv("BAILING_EGRESS_ALLOW"), Demo: getenv("BAILING_DEMO") != "0", Output: logs, Level: level,
	})
	if err != nil {
		return err
	}
	greet(stdout, s, data, logName)
	<-ctx.Done()
	fmt.Fprintln(stdout, "\nstopping")
	return s.Close()
}

// maxLog is the size at which a log file is set aside when the hub starts.
const maxLog = 16 << 20

func openLog(name, data string, stderr io.Writer) (io.WriteCloser, string, error) {
	if name == "-" {
		return nopCloser{stderr}, "standard error", nil
	}
	if name == "" {
		name = filepath.Join(data, "hub.log")
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, "", err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return f, name, err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// greet prints the line that scripts wait for, and for a person what to try next.
func greet(w io.Writer, s *stack.Stack, data, logName string) {
	fmt.Fprintf(w, "ready %s\n\n", s.URL)
	adminToken := "$(cat " + filepath.Join(data, "server-token") + ")"
	if s.GivenToken {
		adminToken = "$BAILING_SERVER_TOKEN"
	}
	switch {
	case s.GivenToken:
		fmt.Fprint(w, "Server token: the one in BAILING_SERVER_TOKEN\n\n")
	case s.NewToken:
		fmt.Fprintf(w, "Server token, shown once (kept in %s):\n  %s\n\n", filepath.Join(data, "server-token"), s.ServerToken)
	default:
		fmt.Fprintf(w, "Server token: kept in %s\n\n", filepath.Join(data, "server-token"))
	}
	if s.NewAdmin {
		fmt.Fprintf(w, "First administrator, shown once (kept in %s): log in as %s with the password\n  %s\n\n",
			filepath.Join(data, "admin-password"), s.AdminUsername, s.AdminPassword)
	}
	fmt.Fprintf(w, "Logs and metrics: %s\nAWS stand-ins:    %s\n", logName, s.AWSEndpoint)
	if s.Demo == nil {
		fmt.Fprintf(w, "\nAn empty hub. Configure it with the server token, for example:\n\n"+
			"  curl -s %s/admin/api/targets -H \"Authorization: Bearer %s\"\n\n", s.URL, adminToken)
		return
	}
	fmt.Fprintf(w, `Demo business:    %s   Demo model: %s

Ask about an order, as the demo business's backend would. The model calls the order system through the hub:

  curl -s %[3]s/run -H 'Authorization: Bearer %[4]s' -H 'Content-Type: application/json' \
    -d '{"request_id":"try-1","route":"%[5]s","input":"Where is order SO-1001?","metadata":{"operator_uid":"u_42"}}'

Read the job (put in the job_id of the answer):

  curl -s %[3]s/jobs/JOB_ID -H 'Authorization: Bearer %[4]s'

And its timeline, as the administrator:

  curl -s %[3]s/admin/api/runs/JOB_ID/audit -H "Authorization: Bearer %[6]s"

A refund needs a person: ask for one in the same way ("input":"Refund SO-1001 25.00"), then build the command line and decide:

  make bailing; export BAILING_URL=%[3]s BAILING_SERVER_TOKEN="%[6]s"
  bin/bailing approvals list
  bin/bailing approvals approve ID

The command line sets up your own, too: bin/bailing init

Let an agent on this machine in, as %[8]s with the password %[9]s on the demo business's own page:

  go run ./scripts/agent login --hub %[3]s --client %[10]s --route %[5]s

Stop with Ctrl-C. Everything acknowledged is kept in %[7]s.
`, s.Demo.BusinessURL, s.Demo.ModelURL, s.URL, s.Demo.ClientToken, stack.DemoRoute, adminToken, data,
		business.DemoUser, business.DemoPassword, stack.DemoClient)
}
