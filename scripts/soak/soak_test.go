package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// The program starts itself for the stand-ins; in a test that is this binary.
func TestMain(m *testing.M) {
	if os.Getenv(beStandIns) != "" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAFewJobsAllEndOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out, progress bytes.Buffer
	if err := run(ctx, []string{"-jobs=30", "-clients=4", "-faults=0.005", "-stalled=10s", "-keep=10"}, nil, &out, &progress); err != nil {
		t.Fatalf("%v\n%s%s", err, &progress, &out)
	}
	if !strings.Contains(out.String(), " lost=0 twice=0 ") {
		t.Errorf("%s", &out)
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-jobs=0", "-clients=0", "-window=0", "-faults=1", "-faults=-0.1", "-stalled=0s", "-keep=-1", "more", "-unknown"} {
		if err := run(t.Context(), []string{args}, nil, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}
