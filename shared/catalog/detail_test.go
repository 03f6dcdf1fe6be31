package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestDetailShowsToolAndGuidance(t *testing.T) {
	t.Parallel()
	tool := read("page_save", described("pages.read", "Saves."))
	tool.Guidance = &capability.Guidance{Text: "Lock <first>.\nThen save.", Truncated: true, SourceChars: 40000, SourceBytes: 40002}
	s := surfaceOf(t, tool, read("other"))
	d, ok := s.Detail("page_save")
	want := fmt.Sprintf(`{"schema_version":"bailing.agent-tool-detail.v1","route":"depot-desk","capability_revision":"%s","tool":%s,`+
		`"usage_guidance":{"text":"Lock \u003cfirst\u003e.\nThen save.","truncated":true,"source_chars":40000,"max_chars":32768,`+
		`"source_bytes":40002,"max_bytes":65536}}`, s.Revision, text(t, s.Find("page_save").Projection()))
	if got := text(t, d); !ok || got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if d.Tool.Name != "page_save" || !d.Tool.GuidanceAvailable {
		t.Errorf("%+v", d.Tool)
	}
}

func TestDetailWithoutGuidanceIsEmpty(t *testing.T) {
	t.Parallel()
	d, ok := surfaceOf(t, read("a")).Detail("a")
	const want = `{"text":"","truncated":false,"source_chars":0,"max_chars":32768,"source_bytes":0,"max_bytes":65536}`
	if got := text(t, d.UsageGuidance); !ok || got != want {
		t.Errorf("%s", got)
	}
}

// Guidance that the compiler just let through, and guidance that it cut, are shown as they are stored.
func TestGuidanceAtItsBounds(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		source    string
		text      int // bytes
		truncated bool
	}{
		"at the cap of characters": {strings.Repeat("a", 32768), 32768, false},
		"one past":                 {strings.Repeat("a", 32769), 32768, true},
		"at the cap of bytes":      {strings.Repeat("é", 32768), 65536, false},
		"past the cap of bytes":    {"a" + strings.Repeat("é", 32767) + "é", 65535, true},
	} {
		tool := read("a")
		tool.Guidance = capability.NewGuidance(tc.source)
		d, _ := surfaceOf(t, tool).Detail("a")
		if g := d.UsageGuidance; len(g.Text) != tc.text || g.Truncated != tc.truncated || g.SourceBytes != len(tc.source) {
			t.Errorf("%s: %d bytes of %d, truncated %v", rule, len(g.Text), g.SourceBytes, g.Truncated)
		}
	}
}

func TestDetailOfAToolThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := surfaceOf(t, read("a"))
	for _, name := range []string{"", "A", "a ", "b"} {
		if d, ok := s.Detail(name); ok {
			t.Errorf("%q: %+v", name, d)
		}
	}
}
