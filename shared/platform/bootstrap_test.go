package platform

import (
	"net/http"
	"strings"
	"testing"

	"bailing/shared/account"
)

const (
	bootstrapName   = "BAILING_BOOTSTRAP_ADMIN_USERNAME"
	bootstrapWord   = "BAILING_BOOTSTRAP_ADMIN_PASSWORD"
	bootstrapSecret = "BAILING_BOOTSTRAP_ADMIN_PASSWORD_SECRET"
)

func TestTheBootstrapAdministratorIsWholeOrAbsent(t *testing.T) {
	t.Parallel()
	type env = map[string]string
	long := strings.Repeat("p", account.MaxPassword)
	for rule, tc := range map[string]struct {
		env  env
		want string // "" = accepted
	}{
		"neither":                     {env{}, ""},
		"a name and a password":       {env{bootstrapName: "Root-1", bootstrapWord: "12345678"}, ""},
		"a name and a secret":         {env{bootstrapName: "root", bootstrapSecret: "arn"}, ""},
		"a name alone":                {env{bootstrapName: "root"}, "go together"},
		"a password alone":            {env{bootstrapWord: "12345678"}, "go together"},
		"a secret alone":              {env{bootstrapSecret: "arn"}, "go together"},
		"two sources of one password": {env{bootstrapName: "root", bootstrapWord: "12345678", bootstrapSecret: "arn"}, "both set"},
		"a password that is short":    {env{bootstrapName: "root", bootstrapWord: "canary7"}, "at least 8"},
		"the longest password":        {env{bootstrapName: "root", bootstrapWord: long}, ""},
		"one longer":                  {env{bootstrapName: "root", bootstrapWord: long + "p"}, "at most 1024"},
		"a name that is none":         {env{bootstrapName: "canary name", bootstrapWord: "12345678"}, bootstrapName + " must be 2 to 64"},
		"a name of audit records":     {env{bootstrapName: "Token", bootstrapWord: "12345678"}, bootstrapName + " is reserved"},
	} {
		tc.env["AWS_REGION"] = "r"
		c, err := FromEnv(func(name string) string { return tc.env[name] })
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", rule, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want one that says %q", rule, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "canary"):
			t.Errorf("%s: %v repeats what was configured", rule, err)
		case err == nil && c.BootstrapUsername != strings.ToLower(tc.env[bootstrapName]):
			t.Errorf("%s: user name %q", rule, c.BootstrapUsername)
		}
	}
}

func TestTheBootstrapPasswordIsReadWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	if b := withSecrets(&secrets{}, Config{}).BootstrapAdmin(); b != nil {
		t.Errorf("%+v of nothing", b)
	}
	b := withSecrets(&secrets{}, Config{BootstrapUsername: "root", BootstrapPassword: "p"}).BootstrapAdmin()
	if p, err := b.Password(t.Context()); p != "p" || err != nil || b.Username != "root" {
		t.Errorf("%q, %v", p, err)
	}
	s := &secrets{answers: []func() (*http.Response, error){breaks, says(200, `{"SecretString":"a password\n"}`), says(400, `{"__type":"AccessDeniedException","Message":"hidden"}`)}}
	b = withSecrets(s, Config{BootstrapUsername: "root", BootstrapPasswordSecret: secretARN}).BootstrapAdmin()
	if len(s.requests) != 0 {
		t.Error("the secret was read too early")
	}
	if p, err := b.Password(t.Context()); p != "a password" || err != nil || len(s.requests) != 2 {
		t.Errorf("%q, %v after %d requests", p, err, len(s.requests))
	}
	if p, err := b.Password(t.Context()); p != "" || err == nil || !strings.Contains(err.Error(), bootstrapSecret) ||
		!strings.Contains(err.Error(), "AccessDenied") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%q, %v", p, err)
	}
}
