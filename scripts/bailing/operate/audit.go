package operate

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/auditchain"
	"bailing/shared/textlimit"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Args: "",
		Short: "Shows who changed the configuration of a hub, looked at a secret or exported records; exports and verifies audit records.",
		Long:  "Exit status: 0 shown; 2 wrong usage or no answer.\n\n" + hub.Help,
		Sub:   []*cli.Command{auditExportCommand(), auditVerifyCommand()},
		New: asking(0, "audit takes no arguments", func(fs *flag.FlagSet) run {
			var p page
			p.declare(fs)
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				query, err := p.query()
				if err != nil {
					return err
				}
				var all []struct {
					TS     string `json:"ts"`
					By     string `json:"by"`
					Method string `json:"method"`
					Path   string `json:"path"`
					Event  string `json:"event"`
				}
				a, err := h.Get(ctx, e, "/admin/api/config-audit"+query, "reading the audit", &all)
				if err != nil || asJSON {
					return orJSON(e, a, err)
				}
				if len(all) == 0 {
					fmt.Fprintln(e.Stdout, "No changes.")
					return nil
				}
				t := cli.Table{Head: []string{"TIME", "BY", "METHOD", "PATH", "EVENT"}}
				for _, c := range all {
					if c.Event == "" {
						c.Event = "config_change"
					}
					t.Rows = append(t.Rows, []string{at(c.TS), c.By, c.Method, c.Path, c.Event})
				}
				t.PrintOrStack(e)
				return nil
			}
		}),
	}
}

const auditPath = "/admin/api/audit-export"

func auditExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Args: "",
		Short: "Writes audit records as lines that are chained by hash: of one job, or of a range of time.",
		Long: `
A range holds the changes of the configuration and what was found out about tool providers within it, and of every job that was launched
within it all records, whenever they were made. The last minute is never exported: its records may still be on their way.

Every change of the lines shows in 'bailing audit verify'. Keep the hash of the last line, which is printed at the end, apart from the
file: who can write the whole file anew can make another chain, but not with this hash.

With -o the file is there once it is whole. An export that was interrupted goes on with --resume and the same flags.

Exit status: 0 exported; 2 wrong usage, no such job, a file that cannot be written, or no answer.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.DeclareWithoutJSON(fs, timeout)
			job := fs.String("job", "", "only the job `ID`")
			since := fs.String("since", "", "from this `TIME`, such as 2026-01-31 or 2026-01-31T12:00:00Z")
			until := fs.String("until", "", "up to this `TIME`, which is not included")
			file := fs.String("o", "", "write to `FILE` instead of standard output")
			resume := fs.Bool("resume", false, "go on with the export to the same FILE that was interrupted")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("export takes no arguments")
				}
				if *resume && *file == "" {
					return cli.Usagef("--resume goes on with a file: say which with -o")
				}
				query, err := exportQuery(*job, *since, *until)
				if err != nil {
					return err
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				x := &auditExport{e: e, hub: h, next: query, from: query, verifier: auditchain.NewVerifier()}
				if *file == "" {
					x.out = e.Stdout
					return x.run(ctx)
				}
				return x.toFile(ctx, *file, *resume)
			}
		},
	}
}

// exportQuery is the query of the first page.
func exportQuery(job, since, until string) (string, error) {
	q := url.Values{}
	if job != "" {
		if since != "" || until != "" {
			return "", cli.Usagef("--job exports a job whole; leave --since and --until out")
		}
		id, err := jobName([]string{job})
		if err != nil {
			return "", err
		}
		q.Set("job_id", id)
	}
	for _, flag := range [][2]string{{"since", since}, {"until", until}} {
		if flag[1] == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, flag[1])
		if err != nil {
			t, err = time.Parse(time.DateOnly, flag[1])
		}
		if err != nil {
			return "", cli.Usagef("--%s is a time such as 2026-01-31 or 2026-01-31T12:00:00Z", flag[0])
		}
		q.Set(flag[0], t.UTC().Format(time.RFC3339Nano))
	}
	if len(q) == 0 {
		return "", nil
	}
	return "?" + q.Encode(), nil
}

// auditExport is an export in the making.
type auditExport struct {
	e        *cli.Env
	hub      *hub.Hub
	from     string // query of the first page
	next     string // and of the next one
	out      io.Writer
	verifier *auditchain.Verifier
	written  func(page int) error // after each page; nil = nothing
}

// run reads pages until the last one, and checks what it reads as 'audit verify' would.
func (x *auditExport) run(ctx context.Context) error {
	for {
		done := x.e.Progress("exporting: %s", cli.Count(int(x.verifier.Records()), "record"))
		a, err := x.hub.Lines(ctx, auditPath+x.next)
		done()
		switch {
		case err != nil && a.Status == http.StatusNotFound:
			return &cli.HintError{Err: errors.New("the hub has no such job, or is older than this command"), Hint: "'bailing job list' shows the latest jobs."}
		case err != nil:
			return err
		case !a.OK():
			return refused(a)
		}
		for line := range bytes.Lines(a.Body) {
			if err := x.verifier.Line(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return fmt.Errorf("the hub's page does not follow the one before it: %w", err)
			}
		}
		if _, err := x.out.Write(a.Body); err != nil {
			return err
		}
		x.next = a.Next()
		if x.written != nil {
			if err := x.written(len(a.Body)); err != nil {
				return err
			}
		}
		if x.next == "" {
			return x.end()
		}
	}
}

// end tells what a whole export holds.
func (x *auditExport) end() error {
	r, err := x.verifier.End()
	if err != nil {
		return fmt.Errorf("the export is not whole: %w", err)
	}
	fmt.Fprintf(x.e.Stderr, "%s exported. Hash of the last line: %s\n", cli.Count(int(r.Count), "record"), r.Final)
	return nil
}

func auditVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Args: "FILE",
		Short: "Checks that an export of audit records is as it was exported. It asks no hub.",
		Long: `
It names the first line that was changed, removed, added or moved, or says that the end is missing. With --hash it also tells this export
from another one that is whole in itself. The file - is standard input.

Exit status: 0 it is; 1 it is not; 2 wrong usage or an unreadable file.`,
		New: func(fs *flag.FlagSet) cli.Run {
			hash := fs.String("hash", "", "the `HASH` of the last line, as 'bailing audit export' printed it")
			asJSON := fs.Bool("json", false, "print JSON for programs")
			return func(_ context.Context, e *cli.Env, args []string) error {
				if len(args) != 1 {
					return cli.Usagef("give one file, or - for standard input")
				}
				if *hash != "" && !textlimit.Hex64(*hash) {
					return cli.Usagef("--hash is 64 lower-case hexadecimal digits")
				}
				return verifyFile(e, args[0], *hash, *asJSON)
			}
		},
	}
}

// verdict is what a program reads of a verification.
type verdict struct {
	OK      bool   `json:"ok"`
	Records int64  `json:"records,omitempty"`
	Hash    string `json:"hash,omitempty"` // of the last line
	Header  any    `json:"header,omitempty"`
	Line    int64  `json:"line,omitempty"` // the first bad one; 0 when each follows from the one before it
	Reason  string `json:"reason,omitempty"`
}

func verifyFile(e *cli.Env, name, hash string, asJSON bool) error {
	in := io.NopCloser(e.Stdin)
	if name != "-" {
		var err error
		if in, err = e.Open(name); err != nil {
			return err
		}
	}
	defer in.Close()
	done := e.Progress("verifying %s", name)
	r, err := auditchain.Verify(in)
	done()
	var broken *auditchain.BrokenError
	switch {
	case errors.As(err, &broken):
		return tell(e, asJSON, verdict{Line: broken.Line, Reason: broken.Reason}, broken.Error())
	case err != nil:
		return err
	case hash != "" && hash != r.Final:
		reason := "it is whole, but another export: the hash of its last line is " + r.Final
		return tell(e, asJSON, verdict{Hash: r.Final, Reason: reason}, reason)
	}
	text := fmt.Sprintf("%s as exported. Hash of the last line: %s\n%s", cli.Count(int(r.Count), "record"), r.Final, r.Header.Canonical())
	return tell(e, asJSON, verdict{OK: true, Records: r.Count, Hash: r.Final, Header: r.Header}, text)
}

// tell prints a verdict; one that is not fine sets the exit status.
func tell(e *cli.Env, asJSON bool, v verdict, text string) error {
	if asJSON {
		if err := e.JSON(v); err != nil {
			return err
		}
	} else {
		for line := range strings.Lines(text) {
			fmt.Fprintln(e.Stdout, cli.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	if !v.OK {
		return cli.ErrNotFine
	}
	return nil
}
