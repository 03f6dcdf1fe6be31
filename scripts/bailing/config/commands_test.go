package config

import (
	"strings"
	"testing"
)

func TestWhatListsAndObjectsLookLike(t *testing.T) {
	t.Parallel()
	_, s := stub(t)
	for golden, args := range map[string]string{
		"targets.txt": "target list", "credentials.txt": "credential list", "routes.txt": "route list", "clients.txt": "client list",
		"route.txt": "route show orders", "client.json": "client show crm --json", "clients.json": "client list --json",
	} {
		s.Want(0, "", args)
		s.Golden(golden)
	}
	s.Env.Width = 60
	s.Want(0, "", "route list")
	s.Golden("routes.60.txt")
	h, s := stub(t)
	h.Set("GET /admin/api/routes", 200, "[]")
	s.Want(0, "The hub has no routes.", "route list")
}

func TestDeletingAsksAndSaysWhatKeepsAnObject(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	h.Set("DELETE /admin/api/routes/old", 200, `{"ok":true,"warnings":["the client crm still lists this route"]}`)
	h.Set("DELETE /admin/api/credentials/models", 409, `{"error":"routes refer to it","referred_by":["orders","old"]}`)
	s.Want(2, "say --yes", "route delete old")
	s.Answer("")
	s.Want(2, "nothing was done", "route delete old")
	wantWrites(t, h)
	s.Answer("yes")
	s.Want(0, "The route old is deleted.", "route delete old")
	if !strings.Contains(s.Stderr.String(), "still lists this route") {
		t.Errorf("%s", &s.Stderr)
	}
	s.Want(2, "routes refer to it: orders, old", "credential delete models --yes")
	s.Want(2, "the target llm is built in", "target delete llm --yes")
	s.Want(2, "the hub has no client nobody", "client delete nobody --yes")
}

func TestNamesAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	long := strings.Repeat("a", 64)
	for _, tc := range []struct{ args, want string }{
		{"client show", "the name of one client"}, {"client show a-1 b-1", "the name of one client"}, {"client show A", "is no name of a client"},
		{"target delete ../x", "is no name of a target"}, {"credential show " + long + "a", "is no name"}, {"credential show " + long, "the hub has no credential"},
		{"route show Orders.v2:eu", "the hub has no route"}, {"route show a/b", "is no name of a route"}, {"route list x", "takes no arguments"},
		{"apply", "apply takes one file"}, {"apply x -f y", "apply takes one file"}, {"export x", "takes no arguments"},
		{"client token", "the name of one client"}, {"provider secret A", "is no name"},
	} {
		s.Want(2, tc.want, tc.args)
	}
	wantWrites(t, h)
}

func TestSecretsAreShownOnRequestAlone(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	h.Set("GET /admin/api/clients/crm/token", 200, `{"app_id":"crm","token":"0123456789abcdef0123456789abcdef"}`)
	h.Set("GET /admin/api/tool-providers/shop/secret", 200, `{"name":"shop","secret":"s3cret-of-the-shop"}`)
	for args, want := range map[string]string{
		"client token crm": "0123456789abcdef0123456789abcdef\n", "provider secret shop": "s3cret-of-the-shop\n",
	} {
		if s.Want(0, "", args); s.Stdout.String() != want {
			t.Errorf("%s: %q", args, &s.Stdout)
		}
	}
	s.Want(2, "bailing client list", "client token nobody")
	s.Want(2, "say --yes", "client token crm --rotate")
	if s.Want(0, "", "client token crm --rotate --yes"); s.Stdout.String() != strings.Repeat("1", 32)+"\n" {
		t.Errorf("%q", &s.Stdout)
	}
	// Rotating changes the token and nothing else, of the client that was seen.
	body := h.Last(t, "POST /admin/api/clients")
	if body["rotate_token"] != true || body["expected_revision"] != "k1" || body["rate_limit_per_min"] != 60.0 || body["token"] != nil {
		t.Errorf("%v", body)
	}
}

func TestNamesOfVariablesAreDistinct(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for _, tc := range [][2]string{
		{"provider_demo-business_secret", "PROVIDER_DEMO_BUSINESS_SECRET"}, {"provider_demo_business_secret", "PROVIDER_DEMO_BUSINESS_SECRET_2"},
		{"credential_3.x_api_key", "CREDENTIAL_3_X_API_KEY"},
	} {
		if got := variable(tc[0], taken); got != tc[1] {
			t.Errorf("%s: %s, want %s", tc[0], got, tc[1])
		}
	}
}
