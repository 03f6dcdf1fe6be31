package stack

import (
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/shared/topology"
)

// A person's way: the password of the first start, a browser with its cookie, another password, and the next start.
func TestTheFirstAdministratorLogsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *Stack {
		t.Helper()
		s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Dir: dir, Manual: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	stop := func(s *Stack) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	call := func(s *Stack, method, path, body string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", s.URL)
		res, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	login := func(password string) string { return `{"username":"admin","password":"` + password + `"}` }

	s := start()
	first := s.AdminPassword
	if s.AdminUsername != "admin" || !s.NewAdmin || len(first) != 32 {
		t.Errorf("%q, %q, new %v", s.AdminUsername, first, s.NewAdmin)
	}
	if info, err := os.Stat(filepath.Join(dir, adminFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may read it", info, err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/admin/api/me", "", 401},
		{"POST", "/admin/login", login(first), 200},
		{"GET", "/admin/api/me", "", 200},
		{"POST", "/admin/pause", "", 200},
		{"POST", "/admin/resume", "", 200},
		{"POST", "/admin/api/password", `{"old_password":"` + first + `","new_password":"another password"}`, 200},
	} {
		if got := call(s, c.method, c.path, c.body); got != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got, c.status)
		}
	}
	browser.CloseIdleConnections()
	stop(s)

	s = start()
	if s.NewAdmin || s.AdminPassword != first {
		t.Errorf("a second start: %q, new %v", s.AdminPassword, s.NewAdmin)
	}
	if got := call(s, "GET", "/admin/api/me", ""); got != 200 {
		t.Errorf("the session after a restart: %d", got)
	}
	if got := call(s, "POST", "/admin/login", login(first)); got != 401 {
		t.Errorf("the password of the first start: %d", got)
	}
	browser.CloseIdleConnections()
	stop(s)
}

func TestAGivenAdministratorIsNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Dir: dir, Manual: true, AdminUsername: "root", AdminPassword: "given password"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if s.AdminUsername != "root" || s.AdminPassword != "given password" || s.NewAdmin {
		t.Errorf("%q, %q, new %v", s.AdminUsername, s.AdminPassword, s.NewAdmin)
	}
	if _, err := os.Stat(filepath.Join(dir, adminFile)); !os.IsNotExist(err) {
		t.Errorf("%v: it was kept", err)
	}
	for _, f := range topology.System().Functions {
		if got := s.environment(f)["BAILING_BOOTSTRAP_ADMIN_PASSWORD"] != ""; got != f.Logins {
			t.Errorf("%s knows the password: %v", f.Name, got)
		}
	}
}

func TestHalfAnAdministratorIsRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{AdminUsername: "root"}, {AdminPassword: "given password"}, {AdminUsername: "root", AdminPassword: "canary"}} {
		o.Addr, o.Manual = "127.0.0.1:0", true
		_, err := Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "BAILING_BOOTSTRAP_ADMIN_") {
			t.Errorf("%+v: %v", o, err)
		}
		if err != nil && o.AdminPassword != "" && strings.Contains(err.Error(), o.AdminPassword) {
			t.Errorf("%v repeats the password", err)
		}
	}
}
