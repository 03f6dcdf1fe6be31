package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/clitest"
	"bailing/shared/agentclient/agentclienttest"
)

// person is a session of the command line whose browser answers as decide says.
func person(t *testing.T, decide func(page string) (target string, err error)) *clitest.Session {
	t.Helper()
	return clitest.New(t, root(func(page string) error {
		target, err := decide(page)
		if err != nil {
			return err
		}
		go func() {
			res, err := http.Get(target)
			if err != nil {
				t.Errorf("the browser: %v", err)
				return
			}
			res.Body.Close()
		}()
		return nil
	}).Sub...)
}

func loginAt(hub string) string {
	return "login --open --hub " + hub + " --client depot-agent --route depot-desk --device laptop"
}

func profileFile(s *clitest.Session, name string) string {
	return filepath.Join(s.Vars["XDG_CONFIG_HOME"], "bailing", "agent", name+".json")
}

func TestLoginStatusLogout(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	s := person(t, h.Approve)
	s.Want(1, "nobody is logged in (profile default) Log in: agent login --hub URL", "status")
	s.Want(0, "Nobody is logged in", "logout")
	s.Want(0, "Yard 2 is logged in to "+h.URL+" until ", loginAt(h.URL))
	if page := "https://erp.example.net/agent/authorize?authorization_id="; !strings.Contains(s.Stderr.String(), page) || strings.Contains(s.Stdout.String(), page) {
		t.Errorf("the address to open is not on standard error: %s", &s.Stderr)
	}
	if info, err := os.Stat(profileFile(s, "default")); err != nil || info.Mode() != 0o600 {
		t.Error(err)
	}
	s.Want(0, "acts for yard-2:op-15", "status")
	s.Want(0, "until 2026-12-30 08:00:00Z", "status")
	s.Want(0, "Yard 2 is logged out of "+h.URL, "logout")
	if h.Alive() != 0 {
		t.Error("the session lives")
	}
	s.Want(1, "nobody is logged in", "status")
}

func TestProgramsGetJSON(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	s := person(t, h.Approve)
	read := func(code int, args string) (v map[string]any) {
		t.Helper()
		if got := s.Run(strings.Fields(args)...); got != code {
			t.Fatalf("%s: %d, want %d: %s", args, got, code, &s.Stderr)
		}
		if err := json.Unmarshal(s.Stdout.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v in %q", args, err, &s.Stdout)
		}
		if strings.Contains(s.Stdout.String()+s.Stderr.String(), "bha_") || strings.Contains(s.Stdout.String()+s.Stderr.String(), "bhr_") {
			t.Errorf("%s shows a token", args)
		}
		return v
	}
	if v := read(1, "status --json --profile yard"); v["logged_in"] != false || v["reason"] != "not_logged_in" || v["profile"] != "yard" {
		t.Error(v)
	}
	v := read(0, loginAt(h.URL)+" --json --profile yard")
	if v["logged_in"] != true || v["hub"] != h.URL || v["client_app_id"] != "depot-agent" || v["device_label"] != "laptop" || v["subject_display"] != "Yard 2" {
		t.Error(v)
	}
	if end, err := time.Parse(time.RFC3339, v["session_expires_at"].(string)); err != nil || time.Until(end) < 24*time.Hour {
		t.Error(v)
	}
	if s := read(0, "status --json --profile yard"); s["session_id"] != v["session_id"] || s["on_behalf_of"] != "yard-2:op-15" || s["logged_in"] != true {
		t.Error(s)
	}
	h.RevokeAll()
	if v := read(1, "status --json --profile yard"); v["reason"] != "ended" {
		t.Error(v)
	}
	read(0, "logout --json")
}

func TestALoginThatFailsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	denied := person(t, h.Deny)
	denied.Want(1, "access was denied", loginAt(h.URL))
	if denied.Stdout.Len() != 0 {
		t.Errorf("standard output: %q", &denied.Stdout)
	}
	s := person(t, func(string) (string, error) { return "", errors.New("there is no desktop") })
	s.Want(1, "nobody answered", loginAt(h.URL)+" --wait 1ms")
	s.Want(1, "no browser could be started: there is no desktop", loginAt(h.URL)+" --wait 1ms")
	s.Want(2, "'bailing client show'", strings.Replace(loginAt(h.URL), "depot-desk", "other-route", 1))
	s.Want(2, "Is the hub running", loginAt("http://127.0.0.1:9"))
	s.Want(2, "https is needed", loginAt("http://hub.example"))
	s.Want(2, "write 127.0.0.1", loginAt("http://localhost:8787"))
	s.Want(2, "not auto", strings.Replace(loginAt(h.URL), "depot-desk", "auto", 1))
	s.Want(2, "which hub? --hub URL", "login --client depot-agent --route depot-desk")
	s.Want(2, "which client", "login --hub "+h.URL+" --route depot-desk")
	s.Want(2, "for which routes?", "login --hub "+h.URL+" --client depot-agent")
	s.Want(2, "name each route with --route", loginAt(h.URL)+" yard-ops")
	s.Want(2, "--wait is more than 0", loginAt(h.URL)+" --wait 0s")
	s.Want(2, "--timeout is more than 0", loginAt(h.URL)+" --timeout 0s")
	s.Want(2, "no name of a profile", "status --profile ../x")
	s.Want(2, "takes no arguments", "status now")
	s.Want(2, "takes no arguments", "logout now")
	for code, says := range map[string]string{
		"rate_limited": "wait one", "agent_authorize_url_invalid": "has to repair it", "agent_auth_unavailable": "try again", "not_found": "no Agent Auth",
	} {
		h.Answer(agentclienttest.Create, agentclienttest.Body(429, `{"error":"`+code+`"}`))
		s.Want(2, says, loginAt(h.URL))
	}
	h.Answer(agentclienttest.Create, agentclienttest.Body(200, `<html>`))
	s.Want(2, "check the address", loginAt(h.URL))
	delete(s.Vars, "XDG_CONFIG_HOME")
	s.Want(2, "no place for profiles", loginAt(h.URL))
}

func TestAProfileThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	s := person(t, h.Approve)
	s.Want(0, "", loginAt(h.URL))
	if err := os.Chmod(profileFile(s, "default"), 0o640); err != nil {
		t.Fatal(err)
	}
	s.Want(2, "chmod go=", "status")
	s.Want(2, "chmod go=", "logout")
	if err := os.Chmod(profileFile(s, "default"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profileFile(s, "default"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Want(2, "A login writes it anew: agent login", "status")
	s.Want(0, "is logged in", loginAt(h.URL))
}

func TestALogoutOfAHubThatDoesNotAnswerSaysSo(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	s := person(t, h.Approve)
	s.Want(0, "", loginAt(h.URL))
	h.Answer(agentclienttest.Revoke, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s.Want(2, "forgotten here, but the hub was not told; it ends by itself on ", "logout")
	s.Want(0, "Nobody is logged in", "logout")
}

func TestALoginCanBeInterrupted(t *testing.T) {
	t.Parallel()
	h := agentclienttest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := person(t, func(string) (string, error) { cancel(); return "", errors.New("there is no desktop") })
	if code := s.RunContext(ctx, strings.Fields(loginAt(h.URL))...); code != cli.Interrupted || s.Stdout.Len() != 0 {
		t.Errorf("%d %s%s", code, &s.Stdout, &s.Stderr)
	}
}

// The guide names every command and every flag.
func TestTheGuideIsComplete(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, c := range root(nil).Sub {
		if !strings.Contains(page, "\n## agent "+c.Name+"\n") {
			t.Errorf("docs/agent.md has no heading for %s", c.Name)
		}
		fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
		c.New(fs)
		fs.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(page, "`--"+f.Name) {
				t.Errorf("docs/agent.md does not name --%s", f.Name)
			}
		})
	}
	s := clitest.New(t, root(nil).Sub...)
	for _, args := range []string{"--help", "login --help", "status --help", "logout --help", "help login"} {
		s.Want(cli.OK, "Usage:", args)
	}
}
