package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"bailing/shared/apierr"
	"bailing/shared/lambdahttp"
	"bailing/shared/plainjson"
)

// Bounds of a list of configuration objects.
const (
	pageMax       = 500
	pageOffsetMax = 1_000_000
	listMaxBytes  = 4 << 20 // of one answer: a Lambda's ends at 6 MB
)

// list answers with what a list command returns. The contract's lists are whole (core §10.3), so that is what comes without a
// query; `limit` and `offset` ask for a part, and a list too large for one answer ends early. Where it goes on is in the Link
// header, as in a list of runs.
func list[T any](w http.ResponseWriter, r *http.Request, command func(context.Context) ([]T, error)) {
	q := r.URL.Query()
	limit, offset, err := listPage(q)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	items, err := command(r.Context())
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	page, err := encodePage(items[min(offset, len(items)):], limit)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	if next := offset + len(page); next < len(items) {
		w.Header().Set("Link", nextPage(q, next))
	}
	apierr.WriteJSON(w, http.StatusOK, page)
}

// nextPage is the Link header that leads to the entries from offset on.
func nextPage(q url.Values, offset int) string {
	q.Set("offset", strconv.Itoa(offset))
	return `<?` + q.Encode() + `>; rel="next"`
}

// listPage reads limit, 0 for none, and offset.
func listPage(q url.Values) (limit, offset int, err error) {
	if q.Get("limit") == "" {
		_, offset, err = parsePage(q, pageMax, pageOffsetMax)
		return 0, offset, err
	}
	return parsePage(q, pageMax, pageOffsetMax)
}

// encodePage is the first items that fit into one answer, at most limit of them unless that is 0; the first one in any case.
func encodePage[T any](items []T, limit int) ([]json.RawMessage, error) {
	if limit > 0 && limit < len(items) {
		items = items[:limit]
	}
	page, room := make([]json.RawMessage, 0, len(items)), listMaxBytes
	for i := range items {
		e, err := element(items[i])
		if err != nil {
			return nil, err
		}
		if room -= len(e) + 1; room < 0 && i > 0 {
			break
		}
		page = append(page, e)
	}
	return page, nil
}

// element is v as it stands in a list of an answer. Texts stay as they are: escaping for HTML would write some six times as long.
func element(v any) (json.RawMessage, error) {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("admin: element of a list: %w", err)
	}
	return b, nil
}
