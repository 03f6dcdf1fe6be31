package specfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/capability/compile"
	"bailing/shared/clock"
	"bailing/shared/outbound"
	"bailing/shared/signature"
)

const secret = "spec-secret"

func world(t *testing.T, stdin string) *cli.Env {
	t.Helper()
	return &cli.Env{
		Stdin: strings.NewReader(stdin), Stdout: io.Discard, Stderr: io.Discard, Net: cli.Network(),
		Open:  func(name string) (io.ReadCloser, error) { return os.Open(name) },
		Clock: clock.NewManual(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)),
	}
}

func TestAFileOrStandardInputIsReadUpToTheLimit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(" ", compile.MaxDocumentBytes)
	for over, good := range map[string]bool{"": true, " ": false} {
		name := filepath.Join(t.TempDir(), "spec.json")
		if err := os.WriteFile(name, []byte(text+over), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, source := range []string{name, "-"} {
			d, err := Read(t.Context(), world(t, text+over), source, Options{})
			if good != (err == nil) || good && len(d.Bytes) != compile.MaxDocumentBytes {
				t.Errorf("%s, %d over: %v", source, len(over), err)
			}
			if !good && !strings.Contains(err.Error(), "larger than 5 MiB") {
				t.Errorf("%v", err)
			}
		}
	}
	if _, err := Read(t.Context(), world(t, ""), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestAnInterruptDoesNotWaitForStandardInput(t *testing.T) {
	t.Parallel()
	never, w := io.Pipe()
	defer w.Close()
	e := world(t, "")
	e.Stdin = never
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, e, "-", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAURLIsReadUpToTheLimit(t *testing.T) {
	t.Parallel()
	for over, good := range map[int]bool{0: true, 1: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), compile.MaxDocumentBytes+over))
		}))
		defer s.Close()
		if d, err := Read(t.Context(), world(t, ""), s.URL, Options{}); good != (err == nil) || good && len(d.Bytes) != compile.MaxDocumentBytes {
			t.Errorf("%d over: %v", over, err)
		}
	}
}

func TestAnUnsignedReadSendsNoSignatureAndJudgesNothing(t *testing.T) {
	t.Parallel()
	reads := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reads++; r.Header.Get(signatureHeader)+r.Header.Get(timestampHeader) != "" {
			t.Error("signed")
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	d, err := Read(t.Context(), world(t, ""), s.URL+"/spec.json?v=1", Options{})
	if err != nil || d.Access != nil || reads != 1 || string(d.Bytes) != "{}" {
		t.Errorf("%+v, %v, %d reads", d, err, reads)
	}
}

// The server's side of core §4.2: what it answers to a good signature, to none, and to a wrong one.
func protecting(t *testing.T, cache string, unsigned, invalid int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := signature.Headers{Timestamp: r.Header.Get(timestampHeader), Signature: r.Header.Get(signatureHeader)}
		now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
		good := signature.VerifyTool(secret, signature.SpecFetch(r.RequestURI), h, now) == nil
		status := http.StatusOK
		switch {
		case good:
		case h.Signature == "":
			status = unsigned
		case h.Signature == "sha256="+strings.Repeat("0", 64) && h.Timestamp == "1773144000":
			status = invalid
		default:
			t.Errorf("another signature than those of core §4.2: %+v", h)
		}
		if status == 0 { // no answer
			panic(http.ErrAbortHandler)
		}
		if cache != "" {
			w.Header().Set("Cache-Control", cache)
		}
		if status >= 300 && status < 400 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"openapi":"3.1.0"}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestReadAccessIsJudgedAsTheHubDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		unsigned, invalid int
		want              Status
		reason            string
	}{
		{401, 401, Protected, ""},
		{403, 404, Protected, ""},
		{200, 401, Public, "an unsigned read is served as well"},
		{401, 200, Public, "a read with a wrong signature is served as well"},
		{200, 500, Public, "an unsigned read is served as well"},
		{500, 401, Inconclusive, "an unsigned read is answered with status 500"},
		{401, 302, Inconclusive, "a read with a wrong signature is answered with status 302"},
		{400, 401, Inconclusive, "an unsigned read is answered with status 400"},
		{401, 0, Inconclusive, "a read with a wrong signature got no answer: "},
	} {
		s := protecting(t, "", tc.unsigned, tc.invalid)
		d, err := Read(t.Context(), world(t, ""), s.URL+"/.well-known/bailing/tools.json?a=%7Eb", Options{Secret: secret, Judge: true})
		if err != nil {
			t.Errorf("%d, %d: %v", tc.unsigned, tc.invalid, err)
			continue
		}
		a := d.Access
		if a.Status != tc.want || !strings.HasPrefix(a.Reason, tc.reason) || a.SignedHTTP != 200 || a.UnsignedHTTP != tc.unsigned || a.InvalidHTTP != tc.invalid {
			t.Errorf("%d, %d: %+v", tc.unsigned, tc.invalid, a)
		}
	}
}

func TestASignedDocumentIsForNobodysCache(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"private, no-store": true, "No-Store,Private": true, "private, no-store, max-age=0": true,
		"": false, "private": false, "no-store": false, "no-cache": false, "private, no-storeage": false,
	} {
		d, err := Read(t.Context(), world(t, ""), protecting(t, value, 401, 401).URL, Options{Secret: secret, Judge: true})
		if err != nil || d.Access.Uncached != want {
			t.Errorf("%q: %+v, %v", value, d, err)
		}
	}
}

func TestNobodyIsAskedTwiceWithoutNeed(t *testing.T) {
	t.Parallel()
	s := protecting(t, "", 200, 200)
	if d, err := Read(t.Context(), world(t, ""), s.URL, Options{Secret: secret}); err != nil || d.Access != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestWhatIsNoDocumentIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		secret string
		hint   string
	}{
		{302, "", "Redirects are not followed"}, {401, "", "--secret-env"}, {404, "", "--secret-env"}, {401, "s3cret-value", "Compare the secret"},
		{403, "s3cret-value", "Compare the secret"}, {500, "", ""},
	} {
		followed := false
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			followed = followed || r.URL.Path != "/"
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
		}))
		_, err := Read(t.Context(), world(t, ""), s.URL, Options{Secret: tc.secret})
		s.Close()
		var hinted *cli.HintError
		if err == nil || followed || errors.As(err, &hinted) != (tc.hint != "") || hinted != nil && !strings.Contains(hinted.Hint, tc.hint) {
			t.Errorf("%d: %v, followed %v", tc.status, err, followed)
		}
		if tc.secret != "" && strings.Contains(err.Error()+hinted.Hint, tc.secret) {
			t.Errorf("the secret is in %v", err)
		}
	}
}

// stub answers every request with the same error.
type stub struct{ err error }

func (s stub) Do(context.Context, outbound.Request) (*outbound.Response, error) { return nil, s.err }

func TestAReadThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	e := world(t, "")
	e.Net = stub{&outbound.Error{Phase: outbound.PhaseDial, Host: "shop.example:443", Timeout: true}}
	if _, err := Read(t.Context(), e, "https://shop.example/spec", Options{}); err == nil || err.Error() != "https://shop.example/spec: dial shop.example:443: timeout" {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"http://user:pw@shop.example/", "https://", "http://x/#f"} {
		if _, err := Read(t.Context(), world(t, ""), url, Options{}); err == nil || !strings.Contains(err.Error(), "URL ") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := Read(t.Context(), world(t, ""), "http://169.254.169.254/", Options{}); err == nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("credentials of the cloud: %v", err)
	}
}
