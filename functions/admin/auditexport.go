package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/auditexport"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// AuditExport writes audit records out; see [auditexport.Exporter].
type AuditExport interface {
	Begin(ctx context.Context, q auditexport.Query, c registry.Change) (auditexport.Page, error)
	Continue(ctx context.Context, c auditexport.Cursor) (auditexport.Page, error)
}

// exportMembers are what the query of an export may hold; a slip of the pen must not export something else.
var exportMembers = []string{"job_id", "since", "until", "cursor"}

// ExportAudit serves GET /admin/api/audit-export: a page of lines that are chained by hash, and in the Link header where the next one
// is. The lines of all pages, one behind the other, are the export.
func (h *Handler) ExportAudit(w http.ResponseWriter, r *http.Request) {
	q, cursor, err := parseExport(r.URL.Query())
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	var page auditexport.Page
	if cursor != "" {
		page, err = h.d.AuditExport.Continue(r.Context(), cursor)
	} else {
		c := change(r)
		q.By, c.Path = c.By, exportPath(q)
		page, err = h.d.AuditExport.Begin(r.Context(), q, c)
	}
	if err != nil {
		lambdahttp.WriteError(w, r, exportError(err, cursor != ""))
		return
	}
	header := w.Header()
	if page.Next != "" {
		header.Set("Link", `<?cursor=`+string(page.Next)+`>; rel="next"`)
	}
	header.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	// The connection is the caller's: a failed write has nobody to tell.
	_, _ = w.Write(page.Lines)
}

// exportPath is what is on record of an export: what was asked for.
func exportPath(q auditexport.Query) string {
	members := url.Values{}
	if q.JobID != "" {
		members.Set("job_id", q.JobID)
	}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			members.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if len(members) == 0 {
		return "audit-export"
	}
	return "audit-export?" + members.Encode()
}

func parseExport(q url.Values) (query auditexport.Query, cursor auditexport.Cursor, err error) {
	refuse := func(message string) (auditexport.Query, auditexport.Cursor, error) {
		return auditexport.Query{}, "", apierr.New(apierr.Invalid, message)
	}
	for name, values := range q {
		if !slices.Contains(exportMembers, name) || len(values) != 1 || values[0] == "" {
			return refuse("the query takes job_id, or since and until, or cursor, once each")
		}
	}
	if q.Has("cursor") {
		if len(q) > 1 {
			return refuse("cursor stands alone: it knows what is exported")
		}
		return query, auditexport.Cursor(q.Get("cursor")), nil
	}
	if q.Has("job_id") {
		if len(q) > 1 {
			return refuse("job_id stands alone: a job is exported whole")
		}
		id, ok := textlimit.NormalizeUUID(q.Get("job_id"))
		if !ok {
			return refuse("job_id must be a UUID")
		}
		query.JobID = id
	}
	for _, member := range []struct {
		name string
		to   *time.Time
	}{{"since", &query.Since}, {"until", &query.Until}} {
		if text := q.Get(member.name); text != "" {
			if *member.to, err = time.Parse(time.RFC3339, text); err != nil || member.to.IsZero() {
				return refuse(member.name + " must be a time such as 2026-01-31T00:00:00Z")
			}
		}
	}
	return query, "", nil
}

func exportError(err error, continued bool) error {
	switch {
	case errors.Is(err, auditexport.ErrNoJob):
		return apierr.New(apierr.NotFound, "not found")
	case errors.Is(err, auditexport.ErrQuery) && continued:
		return apierr.New(apierr.Invalid, "cursor must be one that the Link header gave")
	case errors.Is(err, auditexport.ErrQuery):
		return apierr.New(apierr.Invalid, "since must be before until, and before the last minute, which is not exported yet")
	}
	return err
}
