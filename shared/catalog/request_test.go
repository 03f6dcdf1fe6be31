package catalog_test

import (
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/catalog"
)

const run = "5C1B6A0E-3B7E-4D53-9A86-1F0F5A3F7C21"

func quoted(s string) string { return string(canonical.AppendString(nil, s)) }

func TestReadSearch(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]catalog.SearchRequest{
		`{"query":"pallet count"}`:                      {Query: "pallet count"},
		`{"query":" x\t\n","limit":1}`:                  {Query: " x\t\n", Limit: 1},
		`{"query":"x","limit":12}`:                      {Query: "x", Limit: 12},
		`{"query":"x","limit":8.0}`:                     {Query: "x", Limit: 8},
		`{"run_id":"` + run + `"}`:                      {RunID: strings.ToLower(run)},
		`{"query":" \u3000","run_id":"` + run + `"}`:    {Query: " \u3000", RunID: strings.ToLower(run)},
		`{"query":"x","run_id":"` + run + `"}`:          {Query: "x", RunID: strings.ToLower(run)},
		`{"query":"` + strings.Repeat("a", 2000) + `"}`: {Query: strings.Repeat("a", 2000)},
		`{"query":"` + strings.Repeat("😀", 1000) + `"}`: {Query: strings.Repeat("😀", 1000)},
	} {
		v, err := canonical.Parse([]byte(body), canonical.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := catalog.ReadSearch(v); err != nil || got != want {
			t.Errorf("%.60s: %+v, %v", body, got, err)
		}
	}
}

func TestReadSearchRefuses(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct{ body, message string }{
		"an array":                      {`[]`, "the body must be a JSON object"},
		"null":                          {`null`, "the body must be a JSON object"},
		"nothing":                       {`{}`, "a query that is not blank"},
		"a limit alone":                 {`{"limit":3}`, "a query that is not blank"},
		"a blank query":                 {`{"query":" \n\u00a0\ufeff"}`, "a query that is not blank"},
		"a query that is no string":     {`{"query":7}`, "query must be a string"},
		"a query that is null":          {`{"query":null,"run_id":"` + run + `"}`, "query must be a string"},
		"a query one unit too long":     {`{"query":` + quoted(strings.Repeat("a", 2001)) + `}`, "at most 2000 characters"},
		"half a character too long":     {`{"query":` + quoted("a"+strings.Repeat("😀", 1000)) + `}`, "at most 2000 characters"},
		"too long beside a run":         {`{"query":` + quoted(strings.Repeat(" ", 2001)) + `,"run_id":"` + run + `"}`, "at most 2000 characters"},
		"a control character":           {`{"query":"a\u0000"}`, "control characters"},
		"DEL":                           {`{"query":"a\u007f"}`, "control characters"},
		"limit 0":                       {`{"query":"x","limit":0}`, "from 1 to 12"},
		"limit 13":                      {`{"query":"x","limit":13}`, "from 1 to 12"},
		"limit -1":                      {`{"query":"x","limit":-1}`, "from 1 to 12"},
		"a fraction":                    {`{"query":"x","limit":1.5}`, "from 1 to 12"},
		"a number beyond every integer": {`{"query":"x","limit":1e300}`, "from 1 to 12"},
		"a limit in a string":           {`{"query":"x","limit":"8"}`, "from 1 to 12"},
		"a limit that is null":          {`{"query":"x","limit":null}`, "from 1 to 12"},
		"a run that is no UUID":         {`{"run_id":"5c1b6a0e"}`, "run_id must be a UUID"},
		"a run that is no string":       {`{"run_id":7}`, "run_id must be a UUID"},
		"an empty run":                  {`{"query":"x","run_id":""}`, "run_id must be a UUID"},
		"an unknown member":             {`{"query":"x","top":3}`, "only query, limit and run_id"},
		"another case":                  {`{"Query":"x"}`, "only query, limit and run_id"},
	} {
		v, err := canonical.Parse([]byte(tc.body), canonical.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := catalog.ReadSearch(v)
		e := apierr.Of(err)
		message, _ := e.Body["message"].(string)
		if e.Code != apierr.Invalid || e.Message != "invalid_request" || !strings.Contains(message, tc.message) || got != (catalog.SearchRequest{}) {
			t.Errorf("%s: %+v, %v %v, want %q", rule, got, err, e.Body, tc.message)
		}
	}
}
