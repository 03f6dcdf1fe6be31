package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// found is the bare function and one API function, both as they should be.
func found() []row {
	ms := func(n ...time.Duration) []time.Duration {
		for i := range n {
			n[i] *= time.Millisecond
		}
		return n
	}
	return []row{
		{name: bare, zip: 2_000_000, starts: ms(12, 10, 15)},
		{name: "runs", api: true, zip: zipMax, starts: ms(90, 30, 40)},
	}
}

func TestGatesAtTheLimitAndPastIt(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(r *row)
		fails int // the gate, -1 = none
	}{
		{"everything at its limit", func(*row) {}, -1},
		{"a program for another machine", func(r *row) { r.elf = errors.New("no") }, 0},
		{"an API function's archive of one byte more", func(r *row) { r.zip++ }, 1},
		{"a worker's archive may be larger", func(r *row) { r.zip, r.api = 2*zipMax, false }, -1},
		{"a start past three times the bare one's", func(r *row) { r.starts[1]++ }, 2},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rows := found()
			tc.spoil(&rows[1])
			for i, g := range judge(rows) {
				if (g.err != nil) != (i == tc.fails) {
					t.Errorf("%s: %v", g.what, g.err)
				}
				if g.err != nil && !strings.Contains(g.err.Error(), "runs") {
					t.Errorf("%v does not name the function", g.err)
				}
			}
		})
	}
}

func TestTheLastLineCountsTheGates(t *testing.T) {
	t.Parallel()
	good, bad := gate{what: "good"}, gate{"bad", errors.New("why")}
	cases := []struct {
		gates []gate
		last  string
		ok    bool
	}{
		{[]gate{good, good}, "bootstrap: 2/2 passed\n", true},
		{[]gate{good, bad}, "bootstrap: 1/2 passed\n", false},
	}
	for _, tc := range cases {
		var out bytes.Buffer
		if err := conclude(&out, tc.gates); (err == nil) != tc.ok || !strings.HasSuffix(out.String(), tc.last) {
			t.Errorf("%v\n%s", err, &out)
		}
	}
}

func TestTheTableComparesWithTheBareFunction(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printTable(&out, found()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"FUNCTION ZIP / BARE START TO FIRST POLL / BARE",
		"bare 2.00 MB 1.00 10.0 ms 1.00",
		"runs 6.00 MB 3.00 30.0 ms 3.00",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-rounds", "0"}, {"more"}, {"-unknown"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
