package hub_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/clitest"
	"bailing/scripts/bailing/hub"
	"bailing/shared/outbound"
)

// get is a command that reads /admin/api/x.
func get() *cli.Command {
	return &cli.Command{Name: "get", New: func(fs *flag.FlagSet) cli.Run {
		var f hub.Flags
		f.Declare(fs, time.Second)
		return func(ctx context.Context, e *cli.Env, _ []string) error {
			h, err := f.Connect(e)
			if err != nil {
				return err
			}
			var v any
			a, err := h.Get(ctx, e, "/admin/api/x", "reading x", &v)
			if err != nil {
				return err
			}
			return e.JSON(a.Body)
		}
	}}
}

func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	h := clitest.Start(t, map[string]string{"GET /admin/api/x": `{"x":1}`})
	const other = "http://127.0.0.1:9"
	profile := hub.Profile{URL: h.URL, Username: "ada", Session: clitest.Cookie}
	for _, tc := range []struct {
		rule string
		vars map[string]string
		p    *hub.Profile
		args string
		code int
		want string
		by   string
	}{
		{"nothing", nil, nil, "", 2, "BAILING_URL is not set, and there is no profile", ""},
		{"an address alone", map[string]string{"BAILING_URL": h.URL}, nil, "", 2, "nobody is logged in", ""},
		{"the environment", map[string]string{"BAILING_URL": h.URL, "BAILING_SERVER_TOKEN": clitest.ServerToken}, nil, "", 0, `"x": 1`, "token"},
		{"a slash at the end", map[string]string{"BAILING_URL": h.URL + "/", "BAILING_SERVER_TOKEN": clitest.ServerToken}, nil, "", 0, `"x": 1`, "token"},
		{"a profile", nil, &profile, "", 0, `"x": 1`, "session"},
		{"a profile by name", nil, &profile, "--profile default", 0, `"x": 1`, "session"},
		{"a token wins over the profile's session", map[string]string{"BAILING_SERVER_TOKEN": clitest.ServerToken}, &profile, "", 0, `"x": 1`, "token"},
		{"the address wins, and the session stays at home", map[string]string{"BAILING_URL": other}, &profile, "", 2, "nobody is logged in to " + other, ""},
		{"two that contradict", map[string]string{"BAILING_SERVER_TOKEN": clitest.ServerToken}, &profile, "--profile default", 2, "leave one out", ""},
		{"logged out", nil, &hub.Profile{URL: h.URL, Username: "ada"}, "", 2, "Log in: bailing login", ""},
		{"a profile that is none", nil, nil, "--profile work", 2, "bailing login --profile work --url URL", ""},
		{"a wrong token", map[string]string{"BAILING_URL": h.URL, "BAILING_SERVER_TOKEN": "wrong"}, nil, "", 2, "does not accept the token", ""},
	} {
		s := clitest.New(t, get())
		for name, value := range tc.vars {
			s.Vars[name] = value
		}
		if tc.p != nil {
			if err := hub.SaveProfile(s.Env, "default", *tc.p); err != nil {
				t.Fatal(err)
			}
		}
		before := len(h.Asked())
		s.Want(tc.code, tc.want, "get "+tc.args)
		asked := h.Asked()[before:]
		if tc.by != "" && (len(asked) != 1 || asked[0].By != tc.by) {
			t.Errorf("%s: asked %v, want %s", tc.rule, asked, tc.by)
		}
	}
}

func TestProfilesAreKeptBelowTheConfigurationDirectory(t *testing.T) {
	t.Parallel()
	s := clitest.New(t)
	for _, tc := range []struct {
		vars []string
		ok   bool
	}{{[]string{"XDG_CONFIG_HOME"}, true}, {[]string{"HOME"}, true}, {nil, false}} {
		dir := t.TempDir()
		s.Vars = map[string]string{}
		for _, name := range tc.vars {
			s.Vars[name] = dir
		}
		p := hub.Profile{URL: "http://127.0.0.1:1", Session: "s"}
		if err := hub.SaveProfile(s.Env, "work", p); (err == nil) != tc.ok {
			t.Errorf("%v: %v", tc.vars, err)
		}
		if got, ok, err := hub.LoadProfile(s.Env, "work"); ok != tc.ok || err != nil || ok && got != p {
			t.Errorf("%v: %v %v %v", tc.vars, got, ok, err)
		}
	}
}

// recorded keeps the headers of what is sent.
type recorded struct{ requests []outbound.Request }

func (r *recorded) Do(_ context.Context, q outbound.Request) (*outbound.Response, error) {
	r.requests = append(r.requests, q)
	return &outbound.Response{Status: 200, Body: []byte("{}")}, nil
}

// A token says who asks by itself; a session only together with where the request comes from (core §0.2).
func TestWhatARequestCarries(t *testing.T) {
	t.Parallel()
	net := &recorded{}
	s := clitest.New(t)
	s.Env.Net = net
	f := hub.Flags{Timeout: time.Second}
	at, err := f.At(s.Env, "https://hub.example:8443/", "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*hub.Hub{at, at.WithToken("t"), at.WithSession("default", "s")} {
		for _, method := range []string{"GET", "POST"} {
			if _, err := h.Call(t.Context(), method, "/x", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, q := range net.requests {
		got = append(got, q.Method+"|"+q.Header.Get("Authorization")+"|"+q.Header.Get("Cookie")+"|"+q.Header.Get("Origin"))
		if q.OneSend != (q.Method == "POST") {
			t.Errorf("%s: sent again after a failure: %v", q.Method, !q.OneSend)
		}
	}
	want := []string{
		"GET|||", "POST|||https://hub.example:8443", "GET|Bearer t||", "POST|Bearer t||", "GET||bz_sess=s|", "POST||bz_sess=s|https://hub.example:8443",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A list that does not fit into one answer goes on behind its Link header.
func TestAListIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch r.URL.Query().Get("offset") {
		case "":
			w.Header().Set("Link", `<?offset=2>; rel="next"`)
			_, _ = w.Write([]byte(`[{"n":1},{"n":2}]`))
		case "2":
			_, _ = w.Write([]byte(`[{"n":3}]`))
		}
	}))
	defer srv.Close()
	list := &cli.Command{Name: "get", New: func(fs *flag.FlagSet) cli.Run {
		var f hub.Flags
		f.Declare(fs, time.Second)
		return func(ctx context.Context, e *cli.Env, _ []string) error {
			h, err := f.Connect(e)
			if err != nil {
				return err
			}
			a, err := h.AskList(ctx, e, "/admin/api/x", "reading x")
			if err != nil {
				return err
			}
			return e.JSON(a.Body)
		}
	}}
	s := clitest.New(t, list)
	s.Vars["BAILING_URL"], s.Vars["BAILING_SERVER_TOKEN"] = srv.URL, clitest.ServerToken
	s.Want(0, `"n": 3`, "get")
	if !slices.Equal(asked, []string{"/admin/api/x", "/admin/api/x?offset=2"}) {
		t.Errorf("asked %q", asked)
	}
}
