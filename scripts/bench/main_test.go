package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/capability/compile"
)

// The whole program once, with hardly any time for each measurement: every number is there, and every job was answered.
func TestEveryNumberIsPrintedBesideItsBaseline(t *testing.T) {
	t.Parallel()
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-calls", "3", "-callbacks", "5", "-jobs", "4", "-clients", "2", "-duration", "10ms"}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if got := strings.Fields(lines[0]); strings.Join(got, " ") != "NAME VALUE BASELINE RATIO REFERENCE" {
		t.Errorf("head %q", lines[0])
	}
	want := []string{
		"canonicalise and hash 1 MiB ", "memory of", "canonicalise and hash 1 MiB, one flat object", "memory of",
		"canonicalise 2 KiB", "sign", "validate", "governed call without I/O", "compile 500 operations", "memory of",
		"search 2,000 tools ", "search 2,000 tools, 2,000 characters", "load, index and show 2,000 tools",
		"governed calls, 1 at a time", "governed calls, 64 at a time", "callbacks, 2 at a time", "POST /run", "GET /jobs/", "jobs", "30 jobs at once",
	}
	if len(lines) != 1+len(want) {
		t.Fatalf("%d rows, want %d:\n%s", len(lines)-1, len(want), out.String())
	}
	for i, name := range want {
		if !strings.HasPrefix(lines[i+1], name) {
			t.Errorf("row %q, want %s", lines[i+1], name)
		}
	}
	for _, step := range []string{"3 governed calls, 1 at a time", "3 governed calls, 64 at a time", "5 callbacks, 2 at a time", "running 4 jobs"} {
		if !strings.Contains(progress.String(), step) {
			t.Errorf("progress %q lacks %q", progress.String(), step)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		ok   bool
	}{
		"help is no error":            {[]string{"--help"}, true},
		"a flag that does not exist":  {[]string{"-speed"}, false},
		"an argument":                 {[]string{"fast"}, false},
		"fewer jobs than none":        {[]string{"-jobs", "-1"}, false},
		"fewer calls than none":       {[]string{"-calls", "-1"}, false},
		"fewer callbacks than none":   {[]string{"-callbacks", "-1"}, false},
		"nobody to send":              {[]string{"-clients", "0"}, false},
		"no time":                     {[]string{"-duration", "0s"}, false},
		"a duration that is a number": {[]string{"-duration", "5"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			if err := run(t.Context(), tc.args, &out, &progress); (err == nil) != tc.ok {
				t.Fatalf("err = %v", err)
			}
			if out.Len() > 0 {
				t.Errorf("printed %q", out.String())
			}
		})
	}
}

func TestArgumentsHaveTheSizeThatTheTableNames(t *testing.T) {
	t.Parallel()
	for _, size := range []int{small, large} {
		for _, args := range [][]byte{order(size), flat(size)} {
			if !json.Valid(args) || len(args) > size || len(args) < size*9/10 {
				t.Errorf("%d bytes for %d, valid: %v", len(args), size, json.Valid(args))
			}
		}
	}
	if c := compile.Compile(specification(operations)); len(c.Tools) != operations {
		t.Errorf("%d tools of %d operations: %v", len(c.Tools), operations, c.Diagnostics)
	}
	v, err := canonical.Parse(order(small), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if r := orderTool().ValidateArgs(v); r != nil {
		t.Errorf("the tool refuses them: %s", r.Reason)
	}
}

func TestAMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	if got := median([]time.Duration{9, 1, 5, 2, 7}); got != 5 {
		t.Errorf("median %d, want 5", got)
	}
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1234: "1.23 µs", 12345 * time.Microsecond: "12.3 ms", 1500 * time.Millisecond: "1.5 s",
	} {
		if got := short(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
