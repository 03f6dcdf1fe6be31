package agentauth_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checklist is the part "Auth" of agent, Appendix D: each line with the tests that keep it.
var checklist = []struct {
	line  string
	tests []string
}{
	{"every row of the check orders in 2.2, 2.4, 2.7, 2.8, including 410-before-409 for an old approved request", []string{
		"TestCreateRefusesWhatBreaksARule", "TestCreateForAClientThatLetsNobodyIn", "TestCreateIsLimitedByTheAddressThatTheGatewaySaw",
		"TestCreateWithAPageThatBreaksItsRule", "TestCreateAnswersWithThePageOfTheClient",
		"TestApproveRefusesWhatBreaksARule", "TestApproveChecksInOrder", "TestDecisionsRedirectTheBrowser",
		"TestTokenChecksInOrder", "TestCodesThatAreWorthNothing", "TestTokensOfACode",
		"TestRefreshChecksInOrder", "TestReuseOfARefreshTokenKillsTheSession", "TestRefreshReplacesBothTokens",
	}},
	{"`localhost`, `http://127.0.0.1` without port, port 0, port 65536, `https://127.0.0.1:1`, user info, fragment → refused", []string{"TestLoopbackAddresses"}},
	{"redirect keeps foreign query parameters, drops stale `code`/`error`", []string{"TestDecisionsRedirectTheBrowser"}},
	{"reuse detection revokes; refresh never extends `refresh_expires_at`; old access token dies at once", []string{
		"TestReuseOfARefreshTokenKillsTheSession", "TestTokensExpire", "TestRefreshReplacesBothTokens",
	}},
	{"disabling the client or clearing its authorize URL turns every agent call into 401", []string{"TestTheClientDecidesAboutEverySession"}},
	{"no secret in any stored record or log; only hashes", []string{"TestNothingSecretIsStoredOrTold"}},
	{"cursor bound to client and filters, not to limit; `principal_id` without `tenant` → 400", []string{"TestCursorIsBound", "TestListSessionsRefusesOtherQueries"}},
}

func TestEveryLineOfTheChecklistHasItsTests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				tests[fn.Name.Name] = true
			}
		}
	}
	for _, c := range checklist {
		for _, name := range c.tests {
			if !tests[name] {
				t.Errorf("%s: there is no %s", c.line, name)
			}
		}
	}
}

// The table holds every line of the specification, as it is written there.
func TestTheChecklistIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "spec", "agent-apis.md"))
	if os.IsNotExist(err) {
		t.Skip("the specification is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	appendix, auth := false, false
	for s := bufio.NewScanner(f); s.Scan(); {
		text := s.Text()
		appendix = appendix || strings.HasPrefix(text, "## Appendix D.")
		if item, ok := strings.CutPrefix(text, "- [ ] "); ok && auth {
			lines = append(lines, item)
		} else if appendix && text != "" {
			auth = text == "Auth"
		}
	}
	var ours []string
	for _, c := range checklist {
		ours = append(ours, c.line)
	}
	if !slices.Equal(lines, ours) {
		t.Errorf("the specification has %q", lines)
	}
}
