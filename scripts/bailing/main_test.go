package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/bailing/cli"
)

// The guide names every command and every flag.
func TestTheGuideIsComplete(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	var walk func(c *cli.Command, path string)
	walk = func(c *cli.Command, path string) {
		if c.Short == "" || len(c.Sub) == 0 && c.New == nil {
			t.Errorf("%s: no description, or nothing to run", path)
		}
		for _, sub := range c.Sub {
			walk(sub, path+" "+sub.Name)
		}
		if c.New == nil {
			return
		}
		usage := strings.TrimSpace(path + " " + c.Args)
		if !strings.Contains(page, "\n## "+usage+"\n") && !strings.Contains(page, "`"+usage+"`") {
			t.Errorf("docs/cli.md has neither a heading nor a table row for %q", usage)
		}
		fs := flag.NewFlagSet(path, flag.ContinueOnError)
		c.New(fs)
		fs.VisitAll(func(f *flag.Flag) {
			dashed := "--" + f.Name
			if len(f.Name) == 1 {
				dashed = "-" + f.Name
			}
			if !strings.Contains(page, "`"+dashed) {
				t.Errorf("docs/cli.md does not name %s", dashed)
			}
			if f.Usage == "" {
				t.Errorf("%s --%s says nothing", path, f.Name)
			}
		})
	}
	walk(root(), "bailing")
}
