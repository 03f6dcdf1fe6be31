package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/catalog"
)

// depot are the tools of agent-apis, Appendix C.
func depot(t *testing.T) *catalog.Surface {
	return surfaceOf(t,
		read("gate_log_list", described("depot.gate.read", "List truck arrivals at the gate.")),
		read("bay_stock_get", described("depot.stock.read", "Read the pallet count of one bay.")),
		write("bay_stock_update", described("depot.stock.write", "Adjust the pallet count of one bay.")),
	)
}

func TestRankingVectors(t *testing.T) {
	t.Parallel()
	s := depot(t)
	for query, want := range map[string]string{
		"pallet count":  "bay_stock_get 1138, bay_stock_update 1138, gate_log_list 2",
		"bay_stock_get": "bay_stock_get 11264, bay_stock_update 20, gate_log_list 4",
		"stock":         "bay_stock_get 3368, bay_stock_update 3368, gate_log_list 4",
		"truck 查询":      "gate_log_list 68, bay_stock_get 2, bay_stock_update 2",
		"zzz_9":         "bay_stock_get 0, bay_stock_update 0, gate_log_list 0",
	} {
		scores := s.Scores(query)
		var got []string
		for _, shown := range s.Search(query, 12).Tools {
			i := slices.Index(surfaceNames(s), shown.Name)
			got = append(got, fmt.Sprint(shown.Name, " ", scores[i]))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// Values worked out from agent §5.3 by hand.
func TestScores(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		tool  capability.Tool
		query string
		want  int
	}{
		"no words":                                 {read("a"), " ?!- ", 0},
		"one letter has no gram":                   {read("a", described("b", "c")), "c", 1000 + 60},
		"the name, whatever the case":              {read("Get_A", described("b", "c")), "GET_a", 10000 + 1000 + 240 + 4*2},
		"signs become spaces":                      {read("get_a", described("b", "c")), "--get_a!", 10000 + 1000 + 240 + 4*2},
		"part of the name":                         {read("get_a", described("b", "c")), "et_", 2000 + 1000 + 240 + 2*2},
		"the scope as it is written":               {read("a", described("b.cc", "d")), "b.cc", 120 + 120 + 2},
		"words apart are no phrase":                {read("a", described("b", "cc x dd")), "cc dd", 60 + 60 + 2*2},
		"a phrase":                                 {read("a", described("b", "cc dd")), "cc, dd", 1000 + 60 + 60 + 2*2},
		"a phrase across fields":                   {read("aa", described("bb", "cc")), "aa bb", 1000 + 240 + 120 + 2*2},
		"a space is one space":                     {read("a", described("b", "cc  dd")), "cc dd", 60 + 60 + 2*2},
		"a word counts once":                       {read("a", described("b", "xyz")), "xyz xyz", 60 + 2*2},
		"a word in all fields":                     {read("xy", described("xy", "xy")), "q xy", 240 + 120 + 60 + 2},
		"a word within a word":                     {read("a", described("b", "warehouses")), "house q", 60 + 4*2},
		"a gram across words of the query":         {read("a", described("b", "pq")), "xp qx", 2},
		"no gram across words of a tool":           {read("a", described("b", "p q")), "xpq", 0},
		"a gram counts once":                       {read("a", described("b", "zaaaa")), "aaaaab", 2},
		"units, not characters":                    {read("a", described("b", "\U00020000")), "\U00020000", 1000 + 60 + 2},
		"half of a character":                      {read("a", described("b", "x\U00020001")), "x\U00020000", 2},
		"half of a character that is no letter":    {read("a", described("b", "x\U0001F916")), "x\U0001FBF0", 2},
		"a character that is no letter parts":      {read("a", described("b", "x\U0001F916")), "x\U0001F916", 1000 + 60},
		"letters that become two":                  {read("a", described("b", "İx")), "İx", 60 + 60},
		"a final sigma is another letter":          {read("a", described("b", "ΟΔΟΣ")), "ΟΔΟΣΑ", 2 * 2},
		"numbers of any script":                    {read("a", described("b", "٣٤ ½")), "٣٤ ½", 1000 + 60 + 60 + 2},
		"marks are no letters":                     {read("a", described("b", "e\u0301x")), "e\u0301x", 60 + 60},
		"a name of one letter is equal":            {read("a", described("b", "c")), "a", 10000 + 1000 + 240},
		"a lone surrogate parts":                   {read("a", described("b", "xy")), "x\xed\xa0\x80y", 60 + 60 + 2},
		"a capital letter in a description":        {read("a", described("b", "XY")), "xy", 1000 + 60 + 2},
		"a query of more than one line":            {read("a", described("b", "xx yy")), "xx\nyy", 1000 + 60 + 60 + 2*2},
		"control characters of a run's message":    {read("a", described("b", "xx yy")), "xx\x00yy", 1000 + 60 + 60 + 2*2},
		"words longer than any token find nothing": {read("a", described("b", "xyz")), "wxyzw", 2 * 2},
	} {
		if got := surfaceOf(t, tc.tool).Scores(tc.query); got[0] != tc.want {
			t.Errorf("%s: %d, want %d", rule, got[0], tc.want)
		}
	}
}

func TestSearchAnswerHasTheMembersOfTheContract(t *testing.T) {
	t.Parallel()
	s := depot(t)
	answer := s.Search("  truck\x01", 1)
	want := fmt.Sprintf(`{"schema_version":"bailing.agent-capability-search.v1","route":"depot-desk","capability_revision":"%s","query":"truck",`+
		`"tools":[%s],"discovery":{"mode":"ranked_candidates","scope":"current_authorization","returned_count":1,"authorized_total":3,`+
		`"matched_total":null,"matched_total_exact":false,"limit":1,"truncated":true,"has_more":true,"truncation_scope":"authorized_catalog",`+
		`"pagination":"unsupported"}}`, s.Revision, text(t, s.Find("gate_log_list").Projection()))
	if got := text(t, answer); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSearchInvariants(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tools, limit      int
		returned, limited int
	}{
		{0, 8, 0, 8}, {1, 1, 1, 1}, {7, 8, 7, 8}, {8, 8, 8, 8}, {9, 8, 8, 8}, {14, 12, 12, 12}, {12, 12, 12, 12},
		{14, 13, 12, 12}, {14, 1 << 40, 12, 12}, {2, 0, 1, 1}, {2, -5, 1, 1},
	} {
		var tools []capability.Tool
		for i := range tc.tools {
			tools = append(tools, read(fmt.Sprint("tool_", i)))
		}
		answer := surfaceOf(t, tools...).Search("nothing", tc.limit)
		d := answer.Discovery
		more := tc.tools > tc.returned
		if len(answer.Tools) != tc.returned || d.ReturnedCount != tc.returned || d.AuthorizedTotal != tc.tools || d.Limit != tc.limited ||
			d.Truncated != more || d.HasMore != more || d.MatchedTotal != nil || d.MatchedTotalExact {
			t.Errorf("%d tools, limit %d: %d shown, %+v", tc.tools, tc.limit, len(answer.Tools), d)
		}
		if got := text(t, answer.Tools); tc.tools == 0 && got != "[]" {
			t.Errorf("no tools: %s", got)
		}
	}
}

func TestALongQueryIsCut(t *testing.T) {
	t.Parallel()
	s := surfaceOf(t, read("zz", described("b", "needle")), read("aa", described("b", "needl")))
	for before, want := range map[int]string{1993: "zz", 1994: "zz", 1995: "aa"} { // the word ends at unit 1999, 2000, 2001
		query := strings.Repeat("?", before) + "needle"
		answer := s.Search(query, 1)
		if answer.Tools[0].Name != want || answer.Query != query[:min(len(query), catalog.MaxQuery)] {
			t.Errorf("%d: %s for …%s", before, answer.Tools[0].Name, answer.Query[1990:])
		}
	}
}

// Tools of several providers are ranked together, and only those of the surface.
func TestSearchStaysWithinTheSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer("erp", read("stock_a", described("erp.read", "pallet")), read("hidden", described("secret.read", "pallet count")), write("stock_w"))
	w.offer("wms", read("stock_b", described("wms.read", "pallet count")), read("mine", needsSubject))
	w.sources[0].Allow = []string{"erp.*", "depot.*"}
	answer := w.surface(access()).Search("pallet count", 12)
	if got := shownNames(answer.Tools); !slices.Equal(got, []string{"stock_b", "stock_a"}) || answer.Discovery.AuthorizedTotal != 2 {
		t.Errorf("%v of %d", got, answer.Discovery.AuthorizedTotal)
	}
}

func TestEqualScoresAreInTheOrderOfNames(t *testing.T) {
	t.Parallel()
	s := surfaceOf(t, read("B"), read("b"), read("_b"), read("b1"), read("a_b", described("x", "stock")))
	if got := shownNames(s.Search("stock", 12).Tools); !slices.Equal(got, []string{"a_b", "_b", "b", "B", "b1"}) {
		t.Errorf("%v", got)
	}
}
