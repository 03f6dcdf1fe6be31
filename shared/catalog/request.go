package catalog

import (
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// SearchRequest is a valid request for a search (agent §5.3).
type SearchRequest struct {
	Query string // blank only with a run, whose input is the query then
	Limit int    // 1 to 12; 0 when the route's limit applies
	RunID string // in lower case; "" when there is none
}

// ReadSearch reads the body of a search. Its errors are [apierr.Invalid] with the code `invalid_request` and a message.
func ReadSearch(body canonical.Value) (SearchRequest, error) {
	var r SearchRequest
	if body.Kind() != canonical.Object {
		return r, invalid("the body must be a JSON object")
	}
	for member, v := range body.Members() {
		var problem string
		switch member {
		case "query":
			problem = r.readQuery(v)
		case "limit":
			problem = r.readLimit(v)
		case "run_id":
			problem = r.readRun(v)
		default:
			problem = "only query, limit and run_id are known"
		}
		if problem != "" {
			return SearchRequest{}, invalid(problem)
		}
	}
	if textlimit.Blank(r.Query) && r.RunID == "" {
		return SearchRequest{}, invalid("a query that is not blank, or a run_id, is required")
	}
	return r, nil
}

func (r *SearchRequest) readQuery(v canonical.Value) (problem string) {
	if v.Kind() != canonical.String {
		return "query must be a string"
	}
	r.Query = v.Text()
	switch textlimit.Strict(r.Query, MaxQuery) {
	case nil:
		return ""
	case textlimit.ErrTooLong:
		return "query must have at most 2000 characters"
	}
	return "query must not contain control characters"
}

func (r *SearchRequest) readLimit(v canonical.Value) (problem string) {
	n, ok := v.Int64()
	if !ok || n < 1 || n > MaxResults {
		return "limit must be a whole number from 1 to 12"
	}
	r.Limit = int(n)
	return ""
}

func (r *SearchRequest) readRun(v canonical.Value) (problem string) {
	id, ok := textlimit.NormalizeUUID(v.Text())
	if !ok {
		return "run_id must be a UUID"
	}
	r.RunID = id
	return ""
}

func invalid(message string) error {
	return apierr.New(apierr.Invalid, "invalid_request").With("message", message)
}
