package handlers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/routes/handlers"
)

func write(t *testing.T, name, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFindNamesTheLineOfEachHandler(t *testing.T) {
	t.Parallel()
	dir := write(t, "h.go", `package h

import "net/http"

type H struct{}

func (h *H) Serve(w http.ResponseWriter, r *http.Request) {}
func (H) Unnamed(http.ResponseWriter, *http.Request)      {}
func (h *H) private(w http.ResponseWriter, r *http.Request) {}
func (h *H) Answers(w http.ResponseWriter, r *http.Request) error { return nil }
func (h *H) Other(n int, r *http.Request)                         {}
func (h *H) Short(w http.ResponseWriter)                          {}
func Function(w http.ResponseWriter, r *http.Request)             {}
`)
	found, err := handlers.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found["Serve"].Line != 7 || found["Unnamed"].Line != 8 {
		t.Errorf("found %v, want Serve at line 7 and Unnamed at line 8", found)
	}
}

func TestFindLeavesTestsOut(t *testing.T) {
	t.Parallel()
	dir := write(t, "h_test.go", "package h\n\nimport \"net/http\"\n\ntype H struct{}\n\nfunc (H) Serve(w http.ResponseWriter, r *http.Request) {}\n")
	if found, err := handlers.Find(dir); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v; want nothing", found, err)
	}
}

func TestFindRefusesTwoHandlersOfOneName(t *testing.T) {
	t.Parallel()
	dir := write(t, "h.go", `package h

import "net/http"

type A struct{}
type B struct{}

func (A) Serve(w http.ResponseWriter, r *http.Request) {}
func (B) Serve(w http.ResponseWriter, r *http.Request) {}
`)
	if _, err := handlers.Find(dir); err == nil || !strings.Contains(err.Error(), "h.go:8") || !strings.Contains(err.Error(), "h.go:9") {
		t.Errorf("err = %v, want one that names both lines", err)
	}
}

func TestFindReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	if _, err := handlers.Find(filepath.Join(t.TempDir(), "absent")); !os.IsNotExist(err) {
		t.Errorf("absent folder: %v", err)
	}
	if _, err := handlers.Find(write(t, "h.go", "package")); err == nil {
		t.Error("broken source: no error")
	}
}
