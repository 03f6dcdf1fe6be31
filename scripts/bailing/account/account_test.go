package account

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/clitest"
)

func session(t *testing.T) *clitest.Session {
	t.Helper()
	return clitest.New(t, slices.Concat(Commands(), []*cli.Command{AdminCommands()})...)
}

func profilePath(s *clitest.Session, name string) string {
	return filepath.Join(s.Vars["XDG_CONFIG_HOME"], "bailing", "profiles", name+".json")
}

func TestALoginIsKeptForTheNextCommandAndForNobodyElse(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, nil), session(t)
	hidden := s.Answer(clitest.Username, clitest.Password)
	s.Want(0, "logged in as ada at "+h.URL, "login --url "+h.URL)
	if *hidden != 1 || strings.Contains(s.Stdout.String()+s.Stderr.String(), clitest.Password) {
		t.Errorf("the password was shown: %d %s", *hidden, &s.Stderr)
	}
	info, err := os.Stat(profilePath(s, "default"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	b, err := os.ReadFile(profilePath(s, "default"))
	if err != nil || !strings.Contains(string(b), clitest.Cookie) || strings.Contains(string(b), clitest.Password) {
		t.Errorf("%s %v", b, err)
	}
	s.Want(0, "You are ada at "+h.URL, "whoami")
	s.Want(0, "ada is logged out", "logout")
	if !slices.Contains(h.Writes(), "POST /admin/logout") {
		t.Error("the hub was not told")
	}
	s.Want(2, "bailing login", "whoami")
	s.Want(0, "Nobody is logged in", "logout")
}

func TestThePasswordComesFromStandardInputWithoutATerminal(t *testing.T) {
	t.Parallel()
	h := clitest.Start(t, nil)
	for _, tc := range []struct{ rule, stdin, args, want string }{
		{"a line that could be a name", "ada\ncorrect horse\n", "", "--username"},
		{"one line and a name", "correct horse", "--username ada", "logged in"},
		{"spaces of a password are its own", "correct horse \n", "--username ada", "wrong user name"},
		{"nothing", "", "--username ada", "standard input ended"},
		{"a wrong one", "wrong\n", "--username ada", "wrong user name or password"},
		{"too many failed", "x\n", "--username locked", "Try again in 8m0s."},
	} {
		s := session(t)
		s.Pipe(tc.stdin)
		code := map[bool]int{true: 0, false: 2}[tc.want == "logged in"]
		s.Want(code, tc.want, "login --url "+h.URL+" "+tc.args)
		if _, err := os.Stat(profilePath(s, "default")); (err == nil) != (code == 0) {
			t.Errorf("%s: a profile is there: %v", tc.rule, err == nil)
		}
	}
}

func TestProfilesStandBesideEachOther(t *testing.T) {
	t.Parallel()
	one, two, s := clitest.Start(t, nil), clitest.Start(t, nil), session(t)
	for profile, h := range map[string]*clitest.Hub{"one": one, "two": two} {
		s.Pipe(clitest.Password)
		s.Want(0, "profile:      "+profile, "login --username ada --profile "+profile+" --url "+h.URL)
	}
	s.Want(0, one.URL, "whoami --profile one")
	s.Vars["BAILING_PROFILE"] = "two"
	s.Want(0, two.URL, "whoami")
	s.Want(0, one.URL, "whoami --profile one")
	s.Want(2, "there is no profile three", "whoami --profile three")
	s.Want(2, "is no name of a profile", "whoami --profile ../one")
}

func TestTheEnvironmentWinsAndContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	one, two, s := clitest.Start(t, nil), clitest.Start(t, nil), session(t)
	s.Pipe(clitest.Password)
	s.Want(0, "", "login --username ada --url "+one.URL)
	s.Vars["BAILING_URL"] = two.URL
	s.Want(2, "nobody is logged in to "+two.URL, "whoami")
	if len(two.Asked()) > 0 {
		t.Error("a session went to a hub that did not give it")
	}
	s.Want(2, "--profile is given and BAILING_URL is set", "whoami --profile default")
	s.Want(2, "--url is given and BAILING_URL is set to another hub", "login --url "+one.URL)
	two.Use(s)
	s.Want(0, "You use the server token at "+two.URL, "whoami")
	s.Want(2, "BAILING_SERVER_TOKEN is set and wins", "login --username ada")
	s.Want(2, "the server token has no password", "password")
}

func TestAnEndedSessionSaysToLogInAgain(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, nil), session(t)
	s.Pipe(clitest.Password)
	s.Want(0, "", "login --username ada --profile work --url "+h.URL)
	h.EndSession()
	s.Want(2, "Log in again: bailing login --profile work", "whoami --profile work")
	s.Want(0, "is logged out", "logout --profile work")
	s.Pipe(clitest.Password) // the address and the name are remembered
	s.Want(0, "logged in as ada", "login --profile work")
}

func TestAProfileThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, nil), session(t)
	s.Pipe(clitest.Password)
	s.Want(0, "", "login --username ada --url "+h.URL)
	if err := os.Chmod(profilePath(s, "default"), 0o640); err != nil {
		t.Fatal(err)
	}
	s.Want(2, "can be read by others", "whoami")
	if err := os.WriteFile(profilePath(s, "default"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(profilePath(s, "default"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Want(2, "'bailing login' writes it anew", "whoami")
	s.Pipe(clitest.Password)
	s.Want(0, "logged in", "login --username ada --url "+h.URL)
	s.Want(0, "You are ada", "whoami")
}

func TestASessionWritesAsTheHubsOwnPages(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, map[string]string{"POST /admin/api/password": `{"ok":true}`}), session(t)
	s.Pipe(clitest.Password)
	s.Want(0, "", "login --username ada --url "+h.URL)
	hidden := s.Answer("old one", "new one", "new one")
	s.Want(0, "The password is changed", "password")
	if body := h.Last(t, "POST /admin/api/password"); *hidden != 3 || body["old_password"] != "old one" || body["new_password"] != "new one" {
		t.Errorf("%d %v", *hidden, body)
	}
	s.Answer("old one", "new one", "new two")
	s.Want(2, "are not the same", "password")
	h.Set("POST /admin/api/password", 429, `{"error":"too many failed logins"}`)
	s.Answer("x", "new one", "new one")
	s.Want(2, "Wait a few minutes", "password")
	h.Set("POST /admin/api/password", 401, `{"error":"the old password is wrong"}`)
	s.Answer("x", "new one", "new one")
	s.Want(2, "the old password is wrong", "password")
	h.EndSession()
	s.Answer("x", "new one", "new one")
	s.Want(2, "Log in again", "password")
}

const admins = `[{"username":"ada","display_name":"Ada","role":"admin","enabled":true,"created_at":"2026-03-10T12:00:00.000Z"},
{"username":"bob","display_name":"Bob","role":"viewer","perms":["runs:read","audit:read"],"enabled":false}]`

func TestAccountsOfAdministrators(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, map[string]string{
		"GET /admin/api/admins": admins, "POST /admin/api/admins": `{"ok":true,"username":"cy","password":"made-by-the-hub"}`,
		"DELETE /admin/api/admins/bob": `{"ok":true}`,
	}), session(t)
	h.Use(s)
	s.Want(0, "", "admin list")
	s.Golden("admins.txt")
	s.Want(0, "runs:read, audit:read", "admin show bob")
	s.Golden("admin.txt")
	s.Want(2, "no administrator nobody", "admin show nobody")
	s.Want(0, "made-by-the-hub", "admin create cy --role viewer --display-name Cy")
	if body := h.Last(t, "POST /admin/api/admins"); body["username"] != "cy" || body["role"] != "viewer" || body["display_name"] != "Cy" {
		t.Errorf("%v", body)
	}
	s.Want(2, "there is an administrator ada already", "admin create ada")
	s.Want(2, "say --yes", "admin delete bob")
	s.Answer("n")
	s.Want(2, "nothing was done", "admin delete bob")
	s.Answer("y")
	s.Want(0, "bob is deleted", "admin delete bob")
	s.Want(0, "", "admin show bob --json")
	var shown account
	if err := json.Unmarshal(s.Stdout.Bytes(), &shown); err != nil || shown.Username != "bob" {
		t.Errorf("%v %s", err, &s.Stdout)
	}
	if n := len(h.Writes()); n != 2 {
		t.Errorf("%d writes: %q", n, h.Writes())
	}
}
