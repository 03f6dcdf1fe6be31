package bailing_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailing/shared/topology"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var variable = regexp.MustCompile(`\bBAILING_[A-Z_]*[A-Z]\b`)

// variables are the environment variables that text names.
func variables(into map[string]bool, text string) {
	for _, name := range variable.FindAllString(text, -1) {
		into[name] = true
	}
}

// The operations page names the environment variables that the code reads, all of them and no others.
func TestOperationsNamesEveryVariable(t *testing.T) {
	t.Parallel()
	read, documented := map[string]bool{}, map[string]bool{}
	for _, root := range []string{"functions", "shared", filepath.Join("scripts", "local"), filepath.Join("scripts", "bailing")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			variables(read, string(b))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	variables(documented, readDoc(t, "operations.md"))
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !documented[name] {
			t.Errorf("%s is read and not in docs/operations.md", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !read[name] {
			t.Errorf("%s is in docs/operations.md and read nowhere", name)
		}
	}
}

func TestHTTPPageNamesEveryRoute(t *testing.T) {
	t.Parallel()
	page := strings.ReplaceAll(readDoc(t, "http-api.md"), "{path}", "{proxy+}")
	for _, f := range topology.System().Functions {
		for _, r := range f.Routes {
			if r.Method == topology.Any {
				continue // it only refuses
			}
			if !strings.Contains(page, "`"+r.Method+" "+r.Path+"`") {
				t.Errorf("%s %s is not in docs/http-api.md", r.Method, r.Path)
			}
		}
	}
}

var command = regexp.MustCompile("`make ([a-z]+)`")

func TestDocsNameOnlyTargetsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range append(pages, "README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(b), -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+": ") {
				t.Errorf("%s says `make %s`, which does not exist", page, m[1])
			}
		}
	}
}

var namedTest = regexp.MustCompile("`([a-z]+)\\.(Test[A-Za-z0-9]+)`")

// Every difference names a test that exists.
func TestDifferencesNameTheirTests(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, root := range []string{"functions", "shared", "scripts"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(b, -1) {
				have[filepath.Base(filepath.Dir(path))+"."+string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range namedTest.FindAllStringSubmatch(readDoc(t, "DIFFERENCES.md"), -1) {
		if name := m[1] + "." + m[2]; !have[name] {
			t.Errorf("%s is no test", name)
		}
	}
}
