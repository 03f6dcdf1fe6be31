package operate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bailing/scripts/bailing/clitest"
	"bailing/shared/auditchain"
	"bailing/shared/canonical"
)

// exportHub is a hub with an export of some pages.
type exportHub struct {
	mu    sync.Mutex
	pages []string
	asked []string // queries
	fail  int      // the page that fails next, 0 = none
}

func TestAnAnswerWithoutLinesIsNoExport(t *testing.T) {
	t.Parallel()
	h, s := clitest.Start(t, map[string]string{"GET " + auditPath: `{"lines":[]}`}), clitest.New(t, Commands()...)
	h.Use(s)
	s.Want(2, "answered with application/json, not with lines of JSON", "audit export")
	h.Set("GET "+auditPath, 403, `{"error":"runs:read is needed"}`)
	s.Want(2, "runs:read is needed", "audit export")
	h.Set("GET "+auditPath, 400, `{"error":"since must be before until"}`)
	s.Want(2, "the hub refused: since must be before until", "audit export")
}

// exportPages is an export of records, one page for each.
func exportPages(t *testing.T, records ...string) (pages []string) {
	t.Helper()
	c := auditchain.New()
	value := func(text string) canonical.Value {
		v, err := canonical.Parse([]byte(text), canonical.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	line, err := c.AppendHeader(nil, value(`{"kind":"bailing-audit-export"}`))
	for _, r := range records {
		if err == nil {
			pages = append(pages, string(line))
			line, err = c.AppendRecord(nil, value(r))
		}
	}
	pages = append(pages, string(line))
	line, err2 := c.AppendTrailer(nil)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	pages[len(pages)-1] += string(line)
	return pages
}

func (h *exportHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.URL.RawQuery)
	n := 0
	if c := r.URL.Query().Get("cursor"); c != "" {
		_, _ = fmt.Sscanf(c, "page%d", &n)
	}
	switch {
	case r.URL.Path != auditPath || r.Header.Get("Authorization") != "Bearer "+clitest.ServerToken:
		w.WriteHeader(404)
	case r.URL.Query().Get("job_id") == "00000000-0000-4000-8000-000000000009":
		w.WriteHeader(404)
		fmt.Fprint(w, `{"error":"not found"}`)
	case h.fail > 0 && h.fail == n:
		w.WriteHeader(500)
		fmt.Fprint(w, `{"error":"internal_error"}`)
	default:
		if n < len(h.pages)-1 {
			w.Header().Set("Link", fmt.Sprintf(`<?cursor=page%d>; rel="next"`, n+1))
		}
		w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
		fmt.Fprint(w, h.pages[n])
	}
}

func exporting(t *testing.T) (*exportHub, *clitest.Session, string) {
	t.Helper()
	h := &exportHub{pages: exportPages(t, `{"summary":"a"}`, `{"summary":"b"}`, `{"summary":"c"}`)}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s := clitest.New(t, Commands()...)
	s.Vars["BAILING_URL"], s.Vars["BAILING_SERVER_TOKEN"] = srv.URL, clitest.ServerToken
	return h, s, filepath.Join(t.TempDir(), "audit.jsonl")
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnExportIsWrittenAndVerified(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	s.Want(0, "3 records exported. Hash of the last line: ", "audit export")
	if whole := strings.Join(h.pages, ""); s.Stdout.String() != whole {
		t.Errorf("got %s", &s.Stdout)
	}
	hash := strings.TrimSpace(s.Stderr.String()[strings.LastIndex(s.Stderr.String(), ": ")+2:])
	s.Want(0, "3 records exported", "audit export -o "+file)
	if read(t, file) != strings.Join(h.pages, "") || s.Stdout.Len() > 0 {
		t.Errorf("got %s", read(t, file))
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	s.Want(2, "exists; it is not overwritten", "audit export -o "+file)
	s.Vars = map[string]string{} // no hub
	s.Want(0, "3 records as exported. Hash of the last line: "+hash, "audit verify "+file)
	s.Want(0, "as exported", "audit verify --hash "+hash+" "+file)
	s.Want(1, "another export", "audit verify --hash "+strings.Repeat("0", 64)+" "+file)
	s.Want(0, `"records": 3`, "audit verify --json "+file)
	s.Pipe(read(t, file))
	s.Want(0, "3 records", "audit verify -")
}

func TestVerifyNamesTheFirstBadLine(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	whole := strings.Join(h.pages, "")
	for _, tc := range []struct {
		text string
		line int
	}{
		{strings.Replace(whole, `"b"`, `"x"`, 1), 3}, {strings.Replace(whole, h.pages[1], "", 1), 2}, {h.pages[0], 2},
		{whole[:len(whole)-5], 5}, {"", 1}, {whole + whole, 6},
	} {
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Want(1, fmt.Sprintf("line %d: ", tc.line), "audit verify "+file)
		if got := s.Run("audit", "verify", "--json", file); got != 1 {
			t.Errorf("status %d", got)
		}
		var v verdict
		if err := json.Unmarshal(s.Stdout.Bytes(), &v); err != nil || v.OK || v.Line != int64(tc.line) || v.Reason == "" {
			t.Errorf("%s, %v", &s.Stdout, err)
		}
	}
	s.Want(2, "no such file", "audit verify "+file+".none")
}

func TestAnInterruptedExportGoesOn(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	h.fail = 2
	s.Want(2, "status 500", "audit export -o "+file)
	if _, err := os.Stat(file); err == nil {
		t.Error("half an export has the name of a whole one")
	}
	s.Want(2, "was interrupted", "audit export -o "+file)
	s.Want(2, "is another one", "audit export --resume --since 2026-01-31 -o "+file)
	// What was written of a page that was not finished is cut off.
	f, err := os.OpenFile(file+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"hash":`)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	h.fail, h.asked = 0, nil
	s.Want(0, "3 records exported", "audit export --resume -o "+file)
	if len(h.asked) != 2 || h.asked[0] != "cursor=page2" {
		t.Errorf("asked %q", h.asked)
	}
	s.Want(0, "3 records as exported", "audit verify "+file)
}

func TestAnInterruptedExportThatWasChangedDoesNotGoOn(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	h.fail = 2
	s.Want(2, "status 500", "audit export -o "+file)
	if err := os.WriteFile(file+".part", []byte(strings.Replace(read(t, file+".part"), `"a"`, `"x"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.fail = 0
	s.Want(2, "was changed", "audit export --resume -o "+file)
}

// An export that lacks its name only, because the process died behind the last page, gets it.
func TestAWholeExportOnlyGetsItsName(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	whole := strings.Join(h.pages, "")
	state, err := json.Marshal(standing{URL: s.Vars["BAILING_URL"], Bytes: int64(len(whole))})
	if err == nil {
		err = os.WriteFile(file+".part", []byte(whole), 0o600)
	}
	if err == nil {
		err = os.WriteFile(file+".part.json", state, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Want(0, "3 records exported", "audit export --resume -o "+file)
	if len(h.asked) > 0 || read(t, file) != whole {
		t.Errorf("asked %q", h.asked)
	}
}

func TestTheFlagsOfAnExport(t *testing.T) {
	t.Parallel()
	h, s, _ := exporting(t)
	s.Want(0, "exported", "audit export --job "+strings.ToUpper(id))
	s.Want(0, "exported", "audit export --since 2026-01-31 --until 2026-02-01T01:00:00+01:00")
	first := func(n int) string { return h.asked[n*len(h.pages)] }
	if first(0) != "job_id="+id || first(1) != "since=2026-01-31T00%3A00%3A00Z&until=2026-02-01T00%3A00%3A00Z" {
		t.Errorf("asked %q", h.asked)
	}
	s.Want(2, "no such job", "audit export --job 00000000-0000-4000-8000-000000000009")
	asked := len(h.asked)
	for args, want := range map[string]string{
		"audit export x": "takes no arguments", "audit export --job x": "is no id of a job", "audit export --job " + id + " --since 2026-01-31": "exports a job whole",
		"audit export --since yesterday": "--since is a time", "audit export --resume": "say which with -o", "audit verify": "give one file",
		"audit verify --hash x f": "--hash is 64", "audit now": "unknown command",
	} {
		s.Want(2, want, args)
	}
	if len(h.asked) != asked {
		t.Errorf("asked %q", h.asked[asked:])
	}
}

func TestAHubThatAnswersWithAnotherChainIsNotBelieved(t *testing.T) {
	t.Parallel()
	h, s, file := exporting(t)
	h.pages[1] = h.pages[2]
	s.Want(2, "does not follow", "audit export -o "+file)
	h.pages = h.pages[:1]
	s.Want(2, "the export is not whole", "audit export")
}
