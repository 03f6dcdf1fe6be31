package agentclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentclient/agentclienttest"
)

func at(t *testing.T, address string, o HubOptions) *Hub {
	t.Helper()
	h, err := NewHub(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serve starts a hub with one answer.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	asked := 0
	h := at(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/other", http.StatusFound)
	}), HubOptions{})
	_, err := h.Session(t.Context(), token("bha_", 47))
	var broken *RuleError
	if !errors.As(err, &broken) || broken.Status != http.StatusFound || asked != 1 {
		t.Errorf("%v, %d requests", err, asked)
	}
}

func TestAnAnswerHasAMebibyteAtMost(t *testing.T) {
	t.Parallel()
	for _, length := range []bool{true, false} {
		for _, n := range []int{maxAnswer, maxAnswer + 1} {
			h := at(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if length {
					w.Header().Set("Content-Length", fmt.Sprint(n))
				} else {
					w.(http.Flusher).Flush()
				}
				const body = `{"revoked":true}`
				fmt.Fprint(w, body, strings.Repeat(" ", n-len(body)))
			}), HubOptions{})
			err := h.Revoke(t.Context(), "depot-agent", token("bha_", 47), token("bhr_", 47))
			var broken *RuleError
			if n <= maxAnswer && err != nil || n > maxAnswer && (!errors.As(err, &broken) || !strings.Contains(broken.Rule, "1 MiB")) {
				t.Errorf("%d bytes, announced: %v: %v", n, length, err)
			}
		}
	}
}

func TestAHubThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	h := at(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), HubOptions{Timeout: 50 * time.Millisecond})
	_, err := h.Session(t.Context(), token("bha_", 47))
	var lost *NetError
	var late net.Error
	if !errors.As(err, &lost) || !errors.As(err, &late) || !late.Timeout() {
		t.Error(err)
	}
	wantNoSecret(t, err)
}

func TestAnAnswerThatEndsTooEarlyIsNone(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "no answer", 400: "body is whole"} {
		h := at(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			fmt.Fprint(w, `{"revoked":true}`)
		}), HubOptions{})
		if err := h.Revoke(t.Context(), "depot-agent", "", token("bhr_", 47)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", status, err, want)
		}
	}
}

func TestAHubIsTrustedByItsCertificate(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(agentclienttest.Body(200, `{"revoked":true}`))
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	if err := at(t, srv.URL, HubOptions{TLS: &tls.Config{RootCAs: pool}}).Revoke(t.Context(), "depot-agent", "", token("bhr_", 47)); err != nil {
		t.Error(err)
	}
	err := at(t, srv.URL, HubOptions{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}).Revoke(t.Context(), "depot-agent", "", token("bhr_", 47))
	var unsent *NetError
	if !errors.As(err, &unsent) || unsent.Sent {
		t.Errorf("a stranger got the token: %v", err)
	}
}

func TestAHubBelowAPath(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prod"+pathRevoke || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %q", r.URL, r.Header.Get("Authorization"))
		}
		fmt.Fprint(w, `{"revoked":true}`)
	})
	if err := at(t, address+"/prod/", HubOptions{}).Revoke(t.Context(), "depot-agent", "", token("bhr_", 47)); err != nil {
		t.Error(err)
	}
}
