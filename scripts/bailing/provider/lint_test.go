package provider

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"bailing/shared/capability/compile"
	"bailing/shared/signature"
)

const (
	ordersFile = "docs/examples/orders.openapi.yaml"
	brokenFile = "docs/examples/broken.openapi.yaml"
)

func TestLintAsAPersonSeesIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		golden string
		width  int
		code   int
		args   []string
	}{
		{"orders.80.txt", 80, 0, []string{ordersFile}},
		{"orders.120.txt", 120, 0, []string{ordersFile}},
		{"broken.80.txt", 80, 1, []string{brokenFile}},
		{"broken.120.txt", 120, 1, []string{brokenFile}},
		{"orders.preview.120.txt", 120, 0, []string{"--enable-all", ordersFile}},
		{"orders.json", 0, 0, []string{"--json", ordersFile}},
		{"broken.json", 0, 1, []string{"--json", brokenFile}},
	} {
		s := newSession()
		s.env.Width = tc.width
		if code := s.run(t.Context(), append([]string{"lint"}, tc.args...)...); code != tc.code || s.stderr.Len() > 0 {
			t.Errorf("%s: status %d, stderr %q", tc.golden, code, &s.stderr)
		}
		golden(t, tc.golden, s.stdout.String())
	}
}

// Every mistake of the example is reported with a place and what to change.
func TestEveryFindingOfTheBrokenExampleCanBeFixed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(fromRoot(brokenFile))
	if err != nil {
		t.Fatal(err)
	}
	s := newSession()
	s.run(t.Context(), "lint", "--json", brokenFile)
	var r report
	if err := json.Unmarshal(s.stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	found := map[string]bool{}
	for _, f := range r.Diagnostics {
		found[f.Path] = true
		if f.Suggestion == "" || f.Message == "" || f.Line < 9 || f.Line > len(lines) {
			t.Errorf("%+v", f)
		}
	}
	for _, op := range []string{
		"GET /orders", "GET /orders/{order_no}", "GET /customers", "DELETE /customers/{id}", "POST /refunds", "POST /payments",
		"POST /invoices/{id}/documents", "POST /sync", "GET /reports",
	} {
		if !found[op] {
			t.Errorf("%s has a mistake that is not reported", op)
		}
	}
}

func TestTheStatusOfLint(t *testing.T) {
	t.Parallel()
	const (
		good = `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":"A","x-agent-capability":{"version":1,"enabled":true,"scope":"a"}}}}}`
		warn = `{"openapi":"3.1.0","paths":{"/a":{"get":{"summary":"A","x-agent-capability":{"version":1,"enabled":true,"scope":"a"}}}}}`
		none = `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":"A"}}}}`
		bad  = `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","x-agent-capability":{"version":1,"enabled":true}}}}}`
	)
	for _, tc := range []struct {
		rule, src, flags string
		code             int
		want             string
	}{
		{"no findings", good, "", 0, "1 of 1 operation becomes a tool; 0 errors, 0 warnings"},
		{"no findings, strict", good, "--strict", 0, ""},
		{"warnings pass", warn, "", 0, "missing_operation_id"},
		{"warnings fail when strict", warn, "--strict", 1, "0 errors, 1 warning"},
		{"nothing enabled is a warning", none, "", 0, "no_tools"},
		{"nothing enabled, strict", none, "--strict", 1, "Not enabled for agents: GET /a"},
		{"nothing enabled, previewed", none, "--enable-all --strict", 0, "1 of 1 operation would become a tool"},
		{"errors fail", bad, "", 1, "missing_scope"},
		{"no document", "{", "", 1, "invalid_spec"},
		{"not an object, previewed", "[]", "--enable-all", 1, "invalid_spec"},
	} {
		s := newSession()
		s.env.Stdin = strings.NewReader(tc.src)
		args := append([]string{"lint", "-"}, strings.Fields(tc.flags)...)
		if code := s.run(t.Context(), args...); code != tc.code || !strings.Contains(s.stdout.String(), tc.want) || s.stderr.Len() > 0 {
			t.Errorf("%s: status %d\n%s%s", tc.rule, code, &s.stdout, &s.stderr)
		}
	}
}

func TestWrongUseOfLint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args, want string
	}{
		{"lint", "lint takes one document"}, {"lint a b", "lint takes one document"}, {"lint no-such-file.yaml", "no-such-file.yaml: no such file"},
		{"lint docs", "docs: is a directory"}, {"lint --timeout 0s -", "--timeout is more than 0"}, {"lint --timeout x -", "invalid value"},
		{"lint --secret-env UNSET http://127.0.0.1/", "empty or not set"}, {"lint --secret-env SECRET x.yaml", "there is none"},
	} {
		s := newSession()
		s.vars["SECRET"] = "s3cret-value"
		if code := s.run(t.Context(), strings.Fields(tc.args)...); code != 2 || s.stdout.Len() > 0 || !strings.Contains(s.stderr.String(), tc.want) {
			t.Errorf("%s: status %d, %q", tc.args, code, &s.stderr)
		}
	}
}

func TestTheLineOfABrokenJSONDocument(t *testing.T) {
	t.Parallel()
	s := newSession()
	s.env.Stdin = strings.NewReader("{\n  \"openapi\": \"3.1.0\",\n  \"paths\": {\"/a\": ]}\n}")
	if code := s.run(t.Context(), "lint", "-"); code != 1 || !strings.Contains(s.stdout.String(), "stdin:3") {
		t.Errorf("%d: %s", code, &s.stdout)
	}
}

func TestLintOfAURLTellsWhetherSignedRequiredWouldHold(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(fromRoot(ordersFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		rule, cache string
		others      int // status of unsigned and wrongly signed reads
		code        int // with --strict
		want        []string
	}{
		{"it would", "private, no-store", 401, 0, []string{"Read access: protected (signed 200, unsigned 401, wrong signature 401)", "0 warnings"}},
		{"everybody can read it", "private, no-store", 200, 1, []string{"Read access: public", "spec_access_public", "public_allowed"}},
		{"nobody can tell", "private, no-store", 500, 1, []string{"Read access: inconclusive", "spec_access_inconclusive", "401, 403 or 404"}},
		{"a cache could give it away", "no-cache", 403, 1, []string{"Read access: protected", "spec_cacheable", "(Cache-Control: no-cache)"}},
		{"a cache could give it away, for want of the header", "", 403, 1, []string{"spec_cacheable", "(Cache-Control: none)"}},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}
			if tc.cache != "" {
				w.Header().Set("Cache-Control", tc.cache)
			}
			if signature.VerifyTool("s3cret-value", signature.SpecFetch(r.RequestURI), h, time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)) != nil {
				w.WriteHeader(tc.others)
			}
			_, _ = w.Write(doc)
		}))
		s := newSession()
		s.vars["SECRET"] = "s3cret-value"
		code := s.run(t.Context(), "lint", "--strict", "--secret-env", "SECRET", srv.URL+"/tools.json")
		srv.Close()
		out := s.stdout.String()
		if code != tc.code || strings.Contains(out+s.stderr.String(), "s3cret-value") {
			t.Errorf("%s: status %d\n%s%s", tc.rule, code, out, &s.stderr)
		}
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", tc.rule, want, out)
			}
		}
	}
}

// The compiler's own limit of a document and the reader's are one number.
func TestADocumentThatIsReadIsNotTooLargeToCompile(t *testing.T) {
	t.Parallel()
	const head = `{"openapi":"3.1.0","paths":{}}`
	for over, code := range map[int]int{0: 0, 1: 2} {
		s := newSession()
		s.env.Stdin = strings.NewReader(head + strings.Repeat(" ", compile.MaxDocumentBytes-len(head)+over))
		if got := s.run(t.Context(), "lint", "-"); got != code {
			t.Errorf("%d over: status %d, %s%s", over, got, &s.stdout, &s.stderr)
		}
	}
}
