package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/auditexport"
	"bailing/shared/registry"
)

// exporter answers as told and remembers what it was asked.
type exporter struct {
	page   auditexport.Page
	err    error
	query  *auditexport.Query
	change registry.Change
	cursor auditexport.Cursor
}

func (e *exporter) Begin(_ context.Context, q auditexport.Query, c registry.Change) (auditexport.Page, error) {
	e.query, e.change = &q, c
	return e.page, e.err
}

func (e *exporter) Continue(_ context.Context, c auditexport.Cursor) (auditexport.Page, error) {
	e.cursor = c
	return e.page, e.err
}

func setupExport(t *testing.T) (*hub, *exporter) {
	t.Helper()
	e := &exporter{page: auditexport.Page{Lines: []byte("{\"seq\":0}\n{\"seq\":1}\n")}}
	return setup(t, func(d *admin.Deps) { d.AuditExport = e }), e
}

func TestAnExportIsAPageOfLinesWithALinkToTheNext(t *testing.T) {
	t.Parallel()
	h, e := setupExport(t)
	w := h.admin("GET", "/admin/api/audit-export", "")
	if w.Code != 200 || w.Body.String() != string(e.page.Lines) || w.Header().Get("Content-Type") != "application/x-ndjson; charset=utf-8" ||
		w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Link") != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if *e.query != (auditexport.Query{By: "token"}) || e.change != (registry.Change{By: "token", Method: "GET", Path: "audit-export"}) {
		t.Errorf("asked %v, on record %v", *e.query, e.change)
	}
	e.page = auditexport.Page{Next: "abc_-"}
	w = h.admin("GET", "/admin/api/audit-export?cursor=xyz", "")
	if w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Link") != `<?cursor=abc_->; rel="next"` || e.cursor != "xyz" {
		t.Errorf("%d %v, asked for %q", w.Code, w.Header(), e.cursor)
	}
}

func TestTheQueryOfAnExport(t *testing.T) {
	t.Parallel()
	h, e := setupExport(t)
	h.admin("GET", "/admin/api/audit-export?job_id="+strings.ToUpper(job), "")
	if e.query.JobID != job || e.change.Path != "audit-export?job_id="+job {
		t.Errorf("asked %v, on record %v", e.query, e.change)
	}
	h.admin("GET", "/admin/api/audit-export?since=2026-01-01T01:00:00%2B01:00&until=2026-02-01T00:00:00.5Z", "")
	if !e.query.Since.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || !e.query.Until.Equal(time.Date(2026, 2, 1, 0, 0, 0, 5e8, time.UTC)) ||
		e.change.Path != "audit-export?since=2026-01-01T00%3A00%3A00Z&until=2026-02-01T00%3A00%3A00.5Z" {
		t.Errorf("asked %v, on record %v", e.query, e.change)
	}
	e.query = nil
	for query, message := range map[string]string{
		"from=2026-01-01T00:00:00Z": "the query takes", "since=": "the query takes", "job_id=a&job_id=b": "the query takes",
		"since=yesterday": "since must be a time", "until=2026-01-01": "until must be a time", "since=0001-01-01T00:00:00Z": "since must be a time",
		"job_id=x": "job_id must be a UUID", "job_id=" + job + "&since=2026-01-01T00:00:00Z": "job_id stands alone", "cursor=x&job_id=" + job: "cursor stands alone",
	} {
		w := h.admin("GET", "/admin/api/audit-export?"+query, "")
		if w.Code != 400 || !strings.Contains(w.Body.String(), message) || e.query != nil {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestRefusalsOfAnExport(t *testing.T) {
	t.Parallel()
	h, e := setupExport(t)
	for _, tc := range []struct {
		err   error
		query string
		code  int
		text  string
	}{
		{auditexport.ErrNoJob, "?job_id=" + job, 404, "not found"},
		{auditexport.ErrQuery, "", 400, "since must be before until"},
		{auditexport.ErrQuery, "?cursor=x", 400, "cursor must be one"},
		{errors.New("down"), "", 500, "error"},
	} {
		e.err = tc.err
		w := h.admin("GET", "/admin/api/audit-export"+tc.query, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.text) {
			t.Errorf("%v: %d %s", tc.err, w.Code, w.Body)
		}
	}
}

func TestAnExportNeedsEveryPermissionOfWhatItHolds(t *testing.T) {
	t.Parallel()
	h, e := setupExport(t)
	if w := h.call("GET", "/admin/api/audit-export", "", ""); w.Code != 401 || e.query != nil {
		t.Errorf("nobody: %d", w.Code)
	}
	h.account(t, "ada", "viewer", "audit:read", "runs:read", "tools:read")
	h.account(t, "bob", "viewer", "audit:read", "runs:read")
	h.account(t, "cleo", "viewer", "audit:read", "tools:read")
	h.account(t, "dan", "viewer", "runs:read", "tools:read")
	for _, name := range []string{"bob", "cleo", "dan"} {
		if w := h.send("GET", "/admin/api/audit-export", "", "Cookie", h.enter(t, name)); w.Code != 403 || e.query != nil {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if w := h.send("GET", "/admin/api/audit-export", "", "Cookie", h.enter(t, "ada")); w.Code != 200 || e.query == nil || e.query.By != "ada" {
		t.Errorf("ada: %d %v", w.Code, e.query)
	}
}
