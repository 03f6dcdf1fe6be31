package job

import (
	"errors"
	"strings"

	"bailing/shared/textlimit"
)

// Bounds of a list of jobs.
const (
	// ListMax is the most jobs of one page.
	ListMax = 200
	// ListOffsetMax is how far an offset reaches: what it skips is read. A cursor reaches everything at no cost.
	ListOffsetMax = 10_000
	// ListLookMax is how many jobs one page with a filter looks at; a page may be short, or empty, with more to come.
	ListLookMax = 500
)

// ListQuery asks for jobs, latest launch first.
type ListQuery struct {
	Limit  int    // 1 to ListMax
	Offset int    // 0 to ListOffsetMax; jobs that arrive between two pages move what it means
	After  Cursor // "" = from the latest; else jobs before it, whatever arrived meanwhile
	Status Status // filters; "" = any
	Route  string
	Owner  string
}

// Filtered reports whether the query leaves jobs out.
func (q ListQuery) Filtered() bool { return q.Status != "" || q.Route != "" || q.Owner != "" }

// Match reports whether the filters let b pass.
func (q ListQuery) Match(b Brief) bool {
	return (q.Status == "" || b.Status == q.Status) && (q.Route == "" || b.Route == q.Route) && (q.Owner == "" || b.Owner == q.Owner)
}

// Page is one page of a list.
type Page struct {
	Jobs []Brief
	Next Cursor // where the next page begins; "" = this was the last
}

// Cursor is a place in the list of jobs, between one job and the one before it: 15 digits of milliseconds, a full stop, and the
// job's id.
type Cursor string

// ErrCursor says that a text is no cursor.
var ErrCursor = errors.New("job: not a cursor")

const cursorDigits = 15

// ParseCursor reads a cursor that a caller sent back.
func ParseCursor(text string) (Cursor, error) {
	ms, id, _ := strings.Cut(text, ".")
	lower, ok := textlimit.NormalizeUUID(id)
	if !ok || lower != id || len(ms) != cursorDigits || strings.Trim(ms, "0123456789") != "" {
		return "", ErrCursor
	}
	return Cursor(text), nil
}
