package business

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// read is a read of the specification as a hub signs it: without subject and job.
func (b bundle) read(method string) *http.Request {
	r := b.request(method, SpecPath, "", "")
	digest := sha256.Sum256(nil)
	mac := hmac.New(sha256.New, []byte("tool-secret"))
	mac.Write([]byte(r.Header.Get("X-Bailing-Timestamp") + "." + method + "." + SpecPath + "." + hex.EncodeToString(digest[:]) + ".."))
	r.Header.Set("X-Bailing-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Del("X-Bailing-Job-Id")
	return r
}

func TestTheSpecificationIsForSignedReads(t *testing.T) {
	cases := []struct {
		rule   string
		method string
		change func(*http.Request)
		want   int
	}{
		{"a signed read", "GET", func(*http.Request) {}, 200},
		{"no signature", "GET", func(r *http.Request) {
			r.Header.Del("X-Bailing-Timestamp")
			r.Header.Del("X-Bailing-Signature")
		}, 401},
		{"a signature of zeros", "GET", func(r *http.Request) {
			r.Header.Set("X-Bailing-Signature", "sha256="+strings.Repeat("0", 64))
		}, 401},
		{"a signature without its time", "GET", func(r *http.Request) { r.Header.Del("X-Bailing-Timestamp") }, 401},
		{"another method", "POST", func(*http.Request) {}, 405},
		{"not even HEAD", "HEAD", func(*http.Request) {}, 405},
	}
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			b := setup(t)
			r := b.read(tc.method)
			tc.change(r)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			if w.Code != tc.want || w.Header().Get("Cache-Control") != "private, no-store" {
				t.Fatalf("%d, %q", w.Code, w.Header().Get("Cache-Control"))
			}
			if w.Code == 200 {
				if w.Body.String() != string(Spec()) {
					t.Error("another document")
				}
				return
			}
			var body map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body["error"] == nil {
				t.Errorf("%q", w.Body)
			}
			if b.Rejected() != 0 {
				t.Error("a probe of the specification counts as a rejected call")
			}
		})
	}
}

func TestReadsOfTheSpecificationAreRecorded(t *testing.T) {
	b := setup(t)
	unsigned := b.read("GET")
	unsigned.Header.Del("X-Bailing-Signature")
	wrong := b.read("GET")
	wrong.Header.Set("X-Bailing-Signature", "sha256="+strings.Repeat("0", 64))
	for _, r := range []*http.Request{b.read("GET"), unsigned, wrong} {
		b.ServeHTTP(httptest.NewRecorder(), r)
	}
	now := b.clock.Now()
	want := []SpecRead{{true, true, now}, {false, false, now}, {true, false, now}}
	got := b.SpecReads()
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("read %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if len(b.Verified()) != 0 {
		t.Error("a read is not a tool call")
	}
}

func TestTheProbeAnswersByTheRuleOfTheOperations(t *testing.T) {
	const body = `{"subject":"__bailing_authz_probe__:nobody","reason":"bailing-authz-probe","expect":"deny"}`
	for subject, allowed := range map[string]bool{"__bailing_authz_probe__:nobody": false, "": false, "u_8": false, "u_42": true} {
		t.Run(subject, func(t *testing.T) {
			b := setup(t)
			status, answer := b.send(b.request("POST", ProbePath, body, subject))
			if status != 200 || answer["authorized"] != allowed || len(answer) != 1 {
				t.Errorf("%d %v", status, answer)
			}
			if status, _ := b.send(b.request("GET", "/orders", "", subject)); (status == 200) != allowed {
				t.Errorf("the probe says %v, an operation answers %d", allowed, status)
			}
			if p := b.Probes(); len(p) != 1 || p[0] != (Probe{subject, allowed, b.clock.Now()}) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestAnUnsignedProbeLearnsNothing(t *testing.T) {
	b := setup(t)
	r := b.request("POST", ProbePath, "{}", "u_42")
	r.Header.Set("X-Bailing-On-Behalf-Of", "u_7") // not what was signed
	if status, answer := b.send(r); status != 401 || answer["authorized"] != false || answer["error"] != "bad_signature" {
		t.Errorf("%d %v", status, answer)
	}
	if b.Rejected() != 1 || len(b.Probes()) != 0 {
		t.Errorf("%d rejected, %d probes", b.Rejected(), len(b.Probes()))
	}
}

// Every operation that declares a subject asks for one.
func TestOperationsWithASubjectRefuseStrangers(t *testing.T) {
	b := setup(t)
	for _, tc := range []struct{ method, path, body string }{
		{"GET", "/orders/SO-1001", ""}, {"GET", "/orders", ""},
		{"POST", "/tickets", `{"subject":"s","body":"b"}`},
		{"POST", "/refunds", `{"order_no":"SO-1001","amount":1,"reason":"r"}`},
	} {
		for _, subject := range []string{"", "u_8", "__bailing_authz_probe__:nobody"} {
			if status, _ := b.send(b.request(tc.method, tc.path, tc.body, subject)); status != 403 {
				t.Errorf("%s %s for %q: %d", tc.method, tc.path, subject, status)
			}
		}
	}
}
