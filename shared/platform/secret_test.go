package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailing/shared/clock"
)

const secretARN = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:server-token-AbCdEf"

// secrets is Secrets Manager: it gives one answer after the other, and keeps the requests.
type secrets struct {
	answers  []func() (*http.Response, error)
	requests []*http.Request
	bodies   []string
}

func (s *secrets) Do(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(b))
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer()
}

func says(status int, body string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func breaks() (*http.Response, error) { return nil, errors.New("connection reset") }

// immediate is a clock whose waits are over at once.
type immediate struct{ clock.Clock }

func (immediate) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

func withSecrets(s *secrets, c Config) *Platform {
	c.Region, c.AccessKey, c.SecretKey, c.SessionToken = "eu-central-1", "AKID", "key", "session"
	return New("f", c, Options{HTTP: s, Clock: immediate{clock.System()}, Output: io.Discard})
}

func TestServerTokenComesFromItsSecret(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("t", minServerToken)
	s := &secrets{answers: []func() (*http.Response, error){says(200, `{"ARN":"x","SecretString":"`+token+`\n"}`)}}
	p := withSecrets(s, Config{ServerTokenSecret: secretARN})
	if err := p.loadServerToken(t.Context()); err != nil || p.Config.ServerToken != token {
		t.Fatalf("%q, %v", p.Config.ServerToken, err)
	}
	r := s.requests[0]
	if r.Method != http.MethodPost || r.URL.String() != "https://secretsmanager.eu-central-1.amazonaws.com/" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
	if s.bodies[0] != `{"SecretId":"`+secretARN+`"}` || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" ||
		r.Header.Get("Content-Type") != "application/x-amz-json-1.1" {
		t.Errorf("%s %v", s.bodies[0], r.Header)
	}
	signed := r.Header.Get("Authorization")
	if !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=AKID/") || !strings.Contains(signed, "/eu-central-1/secretsmanager/aws4_request") ||
		!strings.Contains(signed, "x-amz-target") || r.Header.Get("X-Amz-Security-Token") != "session" {
		t.Errorf("signed as %s", signed)
	}
}

func TestWithoutASecretNothingIsAsked(t *testing.T) {
	t.Parallel()
	p := withSecrets(&secrets{}, Config{ServerToken: strings.Repeat("g", minServerToken)})
	if err := p.loadServerToken(t.Context()); err != nil || p.Config.ServerToken != strings.Repeat("g", minServerToken) {
		t.Errorf("%q, %v", p.Config.ServerToken, err)
	}
}

func TestWhereSecretsAre(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct{ endpoint, secret, want string }{
		"the region's":                {"", secretARN, "https://secretsmanager.eu-central-1.amazonaws.com/"},
		"China has a domain":          {"", "arn:aws-cn:secretsmanager:cn-north-1:1:secret:x", "https://secretsmanager.eu-central-1.amazonaws.com.cn/"},
		"an endpoint stands for all":  {"http://localhost:4566", secretARN, "http://localhost:4566/"},
		"its slash is not repeated":   {"http://localhost:4566/", secretARN, "http://localhost:4566/"},
		"a name alone is in our part": {"", "server-token", "https://secretsmanager.eu-central-1.amazonaws.com/"},
	} {
		p := withSecrets(&secrets{}, Config{Endpoint: tc.endpoint})
		if got := p.secretsEndpoint(tc.secret); got != tc.want {
			t.Errorf("%s: %s, want %s", rule, got, tc.want)
		}
	}
}

func TestFailuresOfSecrets(t *testing.T) {
	t.Parallel()
	type answers = []func() (*http.Response, error)
	good := says(200, `{"SecretString":"`+strings.Repeat("t", minServerToken)+`"}`)
	for rule, tc := range map[string]struct {
		answers answers
		tries   int
		err     string // "" = the token is there
	}{
		"a reset connection is tried again":   {answers{breaks, good}, 2, ""},
		"a 500 is tried again":                {answers{says(500, ""), says(503, "{}"), good}, 3, ""},
		"throttling is tried again":           {answers{says(400, `{"__type":"ThrottlingException"}`), good}, 2, ""},
		"three tries are all":                 {answers{breaks, breaks, breaks, good}, 3, "connection reset"},
		"a refusal is final, and named":       {answers{says(400, `{"__type":"AccessDeniedException","Message":"m"}`)}, 1, "400 AccessDeniedException"},
		"a redirect is no answer":             {answers{says(302, "")}, 1, "answered 302"},
		"a binary secret is no token":         {answers{says(200, `{"SecretBinary":"AAAA"}`)}, 1, "holds no text"},
		"what is not JSON is no token":        {answers{says(200, `hidden`)}, 1, "holds no text"},
		"a token one short is refused":        {answers{says(200, `{"SecretString":"`+strings.Repeat("t", minServerToken-1)+`"}`)}, 1, "shorter than 24"},
		"blanks around a token do not count":  {answers{says(200, `{"SecretString":" `+strings.Repeat("t", minServerToken-1)+` "}`)}, 1, "shorter than 24"},
		"an endless answer is read in part":   {answers{says(200, `{"SecretString":"`+strings.Repeat("t", secretMax))}, 1, "holds no text"},
		"a token of exactly 24 is acceptable": {answers{good}, 1, ""},
	} {
		s := &secrets{answers: tc.answers}
		p := withSecrets(s, Config{ServerTokenSecret: secretARN})
		err := p.loadServerToken(t.Context())
		if len(s.requests) != tc.tries {
			t.Errorf("%s: %d tries, want %d", rule, len(s.requests), tc.tries)
		}
		switch {
		case tc.err == "" && (err != nil || len(p.Config.ServerToken) < minServerToken):
			t.Errorf("%s: %v", rule, err)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "BAILING_SERVER_TOKEN_SECRET")):
			t.Errorf("%s: %v, want one that says %q", rule, err, tc.err)
		case err != nil && (strings.Contains(err.Error(), "tttt") || strings.Contains(err.Error(), "hidden")):
			t.Errorf("%s: %v repeats the secret", rule, err)
		case err != nil && p.Config.ServerToken != "":
			t.Errorf("%s: a token in spite of %v", rule, err)
		}
	}
}

func TestStartingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &secrets{answers: []func() (*http.Response, error){func() (*http.Response, error) {
		cancel()
		return breaks()
	}}}
	p := withSecrets(s, Config{ServerTokenSecret: secretARN})
	p.Clock = clock.NewManual(time.Unix(0, 0)) // its waits never end
	if err := p.loadServerToken(ctx); err == nil || len(s.requests) != 1 {
		t.Errorf("%v after %d tries", err, len(s.requests))
	}
}

func TestOneSourceOfTheServerToken(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AWS_REGION": "r", "BAILING_SERVER_TOKEN_SECRET": secretARN}
	c, err := FromEnv(func(name string) string { return env[name] })
	if err != nil || c.ServerTokenSecret != secretARN {
		t.Errorf("%+v, %v", c, err)
	}
	env["BAILING_SERVER_TOKEN"] = strings.Repeat("t", minServerToken)
	if _, err := FromEnv(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "both set") {
		t.Errorf("two sources: %v", err)
	}
}
