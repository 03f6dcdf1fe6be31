package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/shared/topology"
)

func TestTableShowsEveryFunctionAndNamesMissingHandlers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "functions", "web"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := "package web\n\nimport \"net/http\"\n\ntype H struct{}\n\nfunc (H) Found(w http.ResponseWriter, r *http.Request) {}\n"
	if err := os.WriteFile(filepath.Join(root, "functions", "web", "web.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := printRoutes(&out, topology.Topology{Functions: []topology.Function{
		{Name: "web", Routes: []topology.Route{
			{Method: "GET", Path: "/a", Handler: "Found", Auth: topology.Public},
			{Method: "POST", Path: "/a/{id}", Handler: "Missing", Auth: topology.Admin},
		}},
		{Name: "worker", Queue: "jobs"},
		{Name: "sweeper", Every: time.Minute},
	}}, root)
	want := [][]string{
		{"ROUTE", "AUTH", "FUNCTION", "HANDLER", "FILE"},
		{"GET", "/a", "public", "web", "Found", "functions/web/web.go:7"},
		{"POST", "/a/{id}", "admin", "web", "Missing", "?"},
		{"queue", "jobs", "-", "worker", "-", "functions/worker"},
		{"every", "1m0s", "-", "sweeper", "-", "functions/sweeper"},
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, w := range want {
		if i >= len(lines) || strings.Join(strings.Fields(lines[i]), " ") != strings.Join(w, " ") {
			t.Errorf("line %d of\n%s\nwant %v", i, out.String(), w)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "POST /a/{id}: functions/web has no handler Missing") {
		t.Errorf("err = %v", err)
	}
}
