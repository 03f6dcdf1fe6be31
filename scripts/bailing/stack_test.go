package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/bailing/clitest"
	"bailing/scripts/demo/business"
	"bailing/scripts/demo/scripted"
	"bailing/scripts/local/stack"
)

const (
	modelKey  = "key-of-the-scripted-model"
	modelName = "scripted"
)

// hub starts a whole product, and a session that asks it with the server token.
func hub(t *testing.T, demo bool) (*stack.Stack, *clitest.Session) {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{Addr: "127.0.0.1:0", Demo: demo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	session := clitest.New(t, root().Sub...)
	session.Vars["BAILING_URL"], session.Vars["BAILING_SERVER_TOKEN"] = s.URL, s.ServerToken
	return s, session
}

// model starts a scripted model whose key is known, and returns its base URL.
func model(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(scripted.New(scripted.Options{Key: modelKey, Model: modelName}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// jobOf is the id that `init --json` printed.
func jobOf(t *testing.T, out *bytes.Buffer) (id, token, answer string) {
	t.Helper()
	var o struct {
		JobID  string `json:"job_id"`
		Token  string `json:"token"`
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return o.JobID, o.Token, o.Answer
}

// A newcomer with an empty hub, a model endpoint and an API gets an answered job, and can do it again.
func TestInitWalksFromNothingToAnAnswer(t *testing.T) {
	t.Parallel()
	h, s := hub(t, false)
	endpoint := model(t)
	s.Vars["MODEL_KEY"], s.Vars["API_SECRET"] = modelKey, "secret-of-the-business-0123456789"
	spec := filepath.Join("..", "..", "docs", "examples", "orders.openapi.yaml")
	args := []string{
		"init", "--yes", "--model-url", endpoint, "--model", modelName, "--model-key-env", "MODEL_KEY", "--input", "[[say Hello from the model.]]",
	}
	if code := s.Run(args...); code != 0 || !strings.Contains(s.Stdout.String(), "Hello from the model.") || strings.Contains(s.Stdout.String(), modelKey) {
		t.Fatalf("%d\n%s%s", code, &s.Stdout, &s.Stderr)
	}
	s.Want(0, "hello", "route list")
	if code := s.Run(append(args, "--json")...); code != 0 {
		t.Fatalf("again: %d %s%s", code, &s.Stdout, &s.Stderr)
	}
	id, token, answer := jobOf(t, &s.Stdout)
	if answer != "Hello from the model." || len(token) != 32 {
		t.Errorf("%q %q", answer, token)
	}
	s.Want(0, "config_change", "audit --limit 200")
	changes := strings.Count(s.Stdout.String(), "config_change")
	if changes != 3 {
		t.Errorf("the second walk changed something: %d changes\n%s", changes, &s.Stdout)
	}

	// Tools come later, from a specification that is checked first.
	broken := filepath.Join("..", "..", "docs", "examples", "broken.openapi.yaml")
	withTools := append(args, "--provider", "shop", "--provider-url", h.URL, "--provider-secret-env", "API_SECRET", "--spec")
	if code := s.Run(append(withTools, broken)...); code != 1 {
		t.Errorf("a broken specification: %d %s", code, &s.Stderr)
	}
	s.Want(0, "no tool providers", "provider list")
	if code := s.Run(append(withTools, spec)...); code != 0 || !strings.Contains(s.Stdout.String(), "may use the tools of shop now") {
		t.Errorf("%d %s%s", code, &s.Stdout, &s.Stderr)
	}
	s.Want(0, "orders.read", "route show hello")
	s.Want(0, "30 days: 3 jobs, ", "cost")

	s.Want(0, id, "job list")
	s.Want(0, "Hello from the model.", "job show "+id)
	s.Want(2, "say --yes", "job rerun "+id)
	s.Want(0, "is queued again", "job rerun --yes "+id)
	s.Want(2, "the hub has no job", "job show 00000000-0000-4000-8000-000000000000")
	s.Want(0, "is paused", "pause")
	s.Want(1, "paused at", "status")
	s.Want(2, "the hub is paused", "init --yes")
	s.Want(0, "accepts and runs", "resume")
	s.Want(0, "running at", "status")
	s.Run("diagnose")
	if !strings.Contains(s.Stdout.String(), "errors") && !strings.Contains(s.Stdout.String(), "error,") {
		t.Errorf("%s%s", &s.Stdout, &s.Stderr)
	}
}

// Accounts work as on a console: created with the server token, used from a profile.
func TestAnAdministratorWorksWithAProfile(t *testing.T) {
	t.Parallel()
	h, s := hub(t, true)
	s.Want(0, "shown this once", "admin create ada --display-name Ada")
	lines := strings.Split(strings.TrimSpace(s.Stdout.String()), "\n")
	password := strings.TrimSpace(lines[len(lines)-1])
	delete(s.Vars, "BAILING_URL")
	delete(s.Vars, "BAILING_SERVER_TOKEN")
	s.Answer("ada", password)
	s.Want(0, "logged in as ada", "login --url "+h.URL)
	s.Want(0, "order_assistant", "route list")
	s.Answer(password, "another long password", "another long password")
	s.Want(0, "The password is changed", "password")
	file := filepath.Join(t.TempDir(), "hub.yaml")
	s.Want(0, "", "export -o "+file)
	write(t, file, strings.Replace(read(t, file), "max_calls: 5", "max_calls: 7", 1))
	s.Want(0, "tools.max_calls: 5 -> 7", "apply -f "+file)
	s.Want(0, "is logged out", "logout")
	s.Answer("ada", password)
	s.Want(2, "(status 401)", "login")
	s.Answer("ada", "another long password")
	s.Want(0, "logged in", "login")
	s.Want(0, "ada", "audit --limit 3")

	// A role that may do less says so.
	s.Want(0, "shown this once", "admin create bob --role viewer")
	lines = strings.Split(strings.TrimSpace(s.Stdout.String()), "\n")
	s.Answer("bob", strings.TrimSpace(lines[len(lines)-1]))
	s.Want(0, "runs:read", "login --profile bob --url "+h.URL)
	s.Want(0, "No jobs.", "job list --profile bob")
	s.Want(0, "1 day: 0 jobs, 0 tokens, 0 USD", "cost --days 1 --profile bob")
	s.Want(2, "this needs one that may do more", "apply --profile bob -f "+file)
	s.Want(0, "is deleted", "admin delete bob --yes")
	s.Want(2, "Log in again: bailing login --profile bob", "job list --profile bob")
}

// An API whose specification only the hub may read becomes tools, and the first job calls one in somebody's name.
func TestInitMakesToolsOfAnAPI(t *testing.T) {
	t.Parallel()
	h, s := hub(t, true)
	s.Want(0, "", "provider secret "+stack.DemoProvider)
	s.Vars["API_SECRET"] = strings.TrimSpace(s.Stdout.String())
	args := []string{
		"init", "--yes", "--spec", h.Demo.BusinessURL + business.SpecPath, "--provider", "shop", "--provider-secret-env", "API_SECRET",
		"--subject", "u_42", "--input", "Where is order SO-1001?", "--json",
	}
	var first string
	for range 2 {
		if code := s.Run(args...); code != 0 {
			t.Fatalf("%d %s%s", code, &s.Stdout, &s.Stderr)
		}
		id, _, answer := jobOf(t, &s.Stdout)
		if !strings.Contains(answer, "SO-1001") || strings.Contains(s.Stderr.String(), s.Vars["API_SECRET"]) {
			t.Errorf("%s %s", answer, &s.Stderr)
		}
		s.Want(0, "order_get", "job show "+id)
		s.Want(0, "", "route show hello --json")
		if first == "" {
			first = s.Stdout.String()
		} else if first != s.Stdout.String() {
			t.Errorf("the second walk changed the route:\n%s\n%s", first, &s.Stdout)
		}
	}
	calls := h.Demo.Business.Verified()
	if len(calls) != 2 || calls[0].Subject != "u_42" {
		t.Errorf("%+v", calls)
	}
}
