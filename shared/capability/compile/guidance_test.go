package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bailing/shared/capability"
)

// described is an operation with the given members of the operation and of its guidance section.
func described(members, guidance string) []byte {
	return spec("3.0.3", "/x", `{"get":{"operationId":"a",`+members+`"x-agent-capability":{"version":1,"enabled":true,"scope":"a.b",`+
		`"guidance":{`+guidance+`}}}}`, "")
}

func TestUsageGuidance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 501)
	cases := []struct {
		rule, members, guidance, want string
	}{
		{"a summary alone says it all", `"summary":"s",`, ``, ""},
		{"a description alone does, too", `"description":"d",`, ``, ""},
		{"nothing but the scope is no guidance", ``, ``, ""},
		{"summary and description both stay", `"summary":"s","description":"d",`, ``, "s\nd"},
		{"the same text twice is one", `"summary":"s","description":" s ",`, ``, ""},
		{"a heading that was cut", `"summary":"` + long + `",`, ``, long},
		{"a description that was cut", `"description":"` + long + `",`, ``, long},
		{"when to use", `"summary":"s",`, `"when_to_use":"w"`, "s\nWhen to use: w"},
		{"without a heading", ``, `"returns":"r"`, "Returns: r"},
		{"the parts in order, the first example only", `"summary":"s","description":"d",`,
			`"examples":[{"p":1},{"p":2}],"returns":"r","when_to_use":"w"`, "s\nd\nWhen to use: w\nReturns: r\nExample: {\"p\":1}"},
		{"an example in words", `"summary":"s",`, `"examples":["call it once"]`, "s\nExample: call it once"},
		{"an example that is neither", `"summary":"s",`, `"examples":[7,{"p":1}]`, ""},
		{"control characters become spaces; tabs and line breaks stay", `"summary":"s","description":"a\u0000b\u001bc\u007fd\te\r\nf\u0001",`, ``,
			"s\na b c d\te\r\nf"},
		{"nothing else of the operation", `"summary":"s","description":"d","x-business-note":"secret","externalDocs":{"description":"e"},`,
			`"context":["c"]`, "s\nd"},
		{"half a character becomes a whole one", `"summary":"s","description":"\ud800",`, ``, "s\n\uFFFD"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			tool := only(t, described(c.members, c.guidance))
			if tool.Guidance == nil {
				if c.want != "" {
					t.Error("no guidance")
				}
				return
			}
			g := *tool.Guidance
			if g != (capability.Guidance{Text: c.want, SourceChars: utf8.RuneCountInString(c.want), SourceBytes: len(c.want)}) {
				t.Errorf("got %+v, want %q", g, c.want)
			}
		})
	}
}

// The counts are of the cleaned text: white space at the ends is gone, a control character is one space.
func TestUsageGuidanceAtItsLimits(t *testing.T) {
	t.Parallel()
	const head = "s\n"
	cases := []struct {
		rule, description    string
		sourceChars, sources int
		truncated            bool
	}{
		{"code points at the limit", strings.Repeat("d", capability.MaxGuidanceChars-len(head)), capability.MaxGuidanceChars, capability.MaxGuidanceChars, false},
		{"one code point more", strings.Repeat("d", capability.MaxGuidanceChars-len(head)+1), capability.MaxGuidanceChars + 1, capability.MaxGuidanceChars + 1, true},
		{"bytes at the limit", strings.Repeat("😀", (capability.MaxGuidanceBytes-4)/4) + "dd", 16387, capability.MaxGuidanceBytes, false},
		{"one byte more", strings.Repeat("😀", (capability.MaxGuidanceBytes-4)/4) + "ddd", 16388, capability.MaxGuidanceBytes + 1, true},
		{"what is cleaned away does not count", " " + strings.Repeat("d", capability.MaxGuidanceChars-len(head)) + `\u0007`,
			capability.MaxGuidanceChars, capability.MaxGuidanceChars, false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			catalog := Compile(described(`"summary":"s","description":"`+c.description+`",`, ``))
			g := catalog.Tools[0].Guidance
			if g.Truncated != c.truncated || g.SourceChars != c.sourceChars || g.SourceBytes != c.sources {
				t.Errorf("truncated %v, %d characters, %d bytes", g.Truncated, g.SourceChars, g.SourceBytes)
			}
			if c.truncated != slices.Contains(warningsOf(catalog), codeUsageGuidanceTruncated) {
				t.Errorf("warnings %v", warningsOf(catalog))
			}
			if utf8.RuneCountInString(g.Text) > capability.MaxGuidanceChars || len(g.Text) > capability.MaxGuidanceBytes || !utf8.ValidString(g.Text) {
				t.Error("the text is out of its bounds")
			}
			if catalog.Tools[0].DescriptionTruncated {
				t.Error("guidance beside a short summary cuts no description")
			}
		})
	}
}

// The short description counts code points: an astral character is one.
func TestShortDescriptionAtItsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		summary   string
		truncated bool
	}{
		{strings.Repeat("a", 500), false}, {strings.Repeat("a", 501), true},
		{strings.Repeat("😀", 500), false}, {strings.Repeat("😀", 501), true},
		{strings.Repeat("a", 499) + "😀", false}, {strings.Repeat("a", 500) + "😀", true},
	} {
		catalog := Compile(described(`"summary":"`+c.summary+`",`, ``))
		tool := catalog.Tools[0]
		if tool.DescriptionTruncated != c.truncated || utf8.RuneCountInString(tool.Description) != 500 || !strings.HasPrefix(c.summary, tool.Description) {
			t.Errorf("%d bytes became %d, truncated %v", len(c.summary), len(tool.Description), tool.DescriptionTruncated)
		}
		if c.truncated != slices.Contains(warningsOf(catalog), codeDescriptionTruncated) || c.truncated != (tool.Guidance != nil) {
			t.Errorf("warnings %v, guidance %v", warningsOf(catalog), tool.Guidance != nil)
		}
	}
}

// Guidance that many operations share is stored with each of them: it counts, and what does not fit is refused.
func TestGuidanceOfManyToolsIsBounded(t *testing.T) {
	t.Parallel()
	item := `{"get":{"summary":"s","description":"` + strings.Repeat("d", capability.MaxGuidanceBytes/2) + `",` + enabled + `}}`
	var paths []string
	for i := range 700 {
		paths = append(paths, fmt.Sprintf(`"/p%d":{"$ref":"#/components/pathItems/P"}`, i))
	}
	catalog := Compile([]byte(`{"openapi":"3.1.0","paths":{` + strings.Join(paths, ",") + `},"components":{"pathItems":{"P":` + item + `}}}`))
	stored, err := json.Marshal(catalog.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(catalog.Tools) == 0 || len(stored) > MaxCatalogSize+1000*len(catalog.Tools) {
		t.Errorf("%d tools take %d bytes", len(catalog.Tools), len(stored))
	}
	if n := len(catalog.Tools) + len(errorsOf(catalog)); n != 700 || !slices.Contains(errorsOf(catalog), codeDocumentLimits) {
		t.Errorf("%d tools and errors", n)
	}
}

// The hub's own tools keep their names to themselves: jobs would leave such a tool out.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	for _, name := range capability.BuiltinNames() {
		catalog := Compile(spec("3.0.3", "/x", `{"get":{"operationId":"`+name+`","summary":"s",`+enabled+`}}`, ""))
		if len(catalog.Tools) != 1 || !slices.Equal(warningsOf(catalog), []string{codeReservedName}) {
			t.Errorf("%s: %d tools, %v", name, len(catalog.Tools), catalog.Diagnostics)
		}
	}
	if tool := only(t, spec("3.0.3", "/x", `{"get":{"operationId":"Send_message","summary":"s",`+enabled+`}}`, "")); tool.Name != "Send_message" {
		t.Error("names have a case")
	}
}
