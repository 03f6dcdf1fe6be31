package capability_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"bailing/shared/capability"
)

// Guidance is cut at whichever bound is reached first, between characters.
func TestGuidanceBounds(t *testing.T) {
	t.Parallel()
	const chars, bytes = capability.MaxGuidanceChars, capability.MaxGuidanceBytes
	cases := []struct {
		rule, text string
		wantChars  int // of what is kept
		wantBytes  int
		truncated  bool
	}{
		{"code points at the limit", strings.Repeat("a", chars), chars, chars, false},
		{"one code point more", strings.Repeat("a", chars+1), chars, chars, true},
		{"both limits at once", strings.Repeat("é", chars), chars, bytes, false},
		{"code points at the limit, some of two bytes", strings.Repeat("é", 5) + strings.Repeat("a", chars-5), chars, chars + 5, false},
		{"bytes at the limit, three to a character", strings.Repeat("界", bytes/3) + "a", bytes/3 + 1, bytes, false},
		{"one byte more", strings.Repeat("界", bytes/3) + "aa", bytes/3 + 1, bytes, true},
		{"a character across the limit is left out whole", "aa" + strings.Repeat("界", bytes/3), bytes/3 + 1, bytes - 2, true},
		{"bytes at the limit, four to a character", strings.Repeat("😀", bytes/4), bytes / 4, bytes, false},
		{"an astral character across the limit is left out whole", "aa" + strings.Repeat("😀", bytes/4), bytes/4 + 1, bytes - 2, true},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			g := capability.NewGuidance(c.text)
			if utf8.RuneCountInString(g.Text) != c.wantChars || len(g.Text) != c.wantBytes || g.Truncated != c.truncated {
				t.Errorf("%d characters, %d bytes, truncated %v", utf8.RuneCountInString(g.Text), len(g.Text), g.Truncated)
			}
			if g.SourceChars != utf8.RuneCountInString(c.text) || g.SourceBytes != len(c.text) {
				t.Errorf("source of %d characters and %d bytes", g.SourceChars, g.SourceBytes)
			}
			if !strings.HasPrefix(c.text, g.Text) || !utf8.ValidString(g.Text) {
				t.Error("not a beginning of the text")
			}
		})
	}
}

// Catalogues that were stored before guidance and probes existed load as they were.
func TestOlderCataloguesLoad(t *testing.T) {
	t.Parallel()
	const stored = `{"tools":[{"schemaVersion":"bailing.tool-definition.v1","name":"a","source":"openapi","method":"GET","path":"/a",` +
		`"description":"s","scope":"a.b","risk":"low","confirmRequired":false,"rateLimitPerMin":0,"requiresSubject":false,` +
		`"sensitive":false,"readonly":true,"idempotent":true,"timeoutMs":0,"confirmPrompt":"","context":[],"extensions":{},` +
		`"inputSchema":{"type":"object","properties":{}},"paramIn":{}}],"diagnostics":[],"hash":"h"}`
	var c capability.Catalog
	if err := json.Unmarshal([]byte(stored), &c); err != nil {
		t.Fatal(err)
	}
	if c.AuthzProbe != nil || c.Tools[0].Guidance != nil || c.ProbeTool() != &c.Tools[0] {
		t.Errorf("%+v", c)
	}
	again, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != stored {
		t.Errorf("became %s", again)
	}
}

// The short form for administrators has exactly the members that are recorded (D36).
func TestGuidanceStaysOutOfTheAdminView(t *testing.T) {
	t.Parallel()
	if _, ok := reflect.TypeFor[capability.AdminTool]().FieldByName("Guidance"); ok {
		t.Error("AdminTool has guidance")
	}
}
