package compile

import (
	"math"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

const maxDescription = 500 // code points (core §4.8)

// describe composes what a model reads about the tool (core §4.6, §4.8): the heading and each piece of guidance with its
// label, cut to 500 code points; and, when that leaves anything unsaid or cut, the usage guidance that is read by name.
func (o *operation) describe(t *capability.Tool) {
	text := func(v canonical.Value, key string) string { m, _ := v.Get(key); return textlimit.Trim(whole(m.Text())) }
	scope, _ := o.extension.Get("scope")
	summary, description := text(o.value, "summary"), text(o.value, "description")
	heading := summary
	if heading == "" {
		heading = description
	}
	if heading == "" {
		heading = scope.Text()
		o.warn(faultf(codeMissingSummary, "Add a summary: models choose tools by it.",
			"the operation has neither summary nor description"))
	}
	guidance := o.section("guidance")
	var hints []string
	if s := text(guidance, "when_to_use"); s != "" {
		hints = append(hints, "When to use: "+s)
	}
	if s := text(guidance, "returns"); s != "" {
		hints = append(hints, "Returns: "+s)
	}
	short := hints
	examples, _ := guidance.Get("examples")
	first := examples.Elem(0)
	switch first.Kind() {
	case canonical.Object:
		hints = append(hints, "Example: "+string(first.AppendCompact(nil)))
		short = hints
	case canonical.String:
		if s := textlimit.Trim(whole(first.Text())); s != "" {
			hints = append(hints, "Example: "+s)
		}
	}
	o.shorten(t, strings.Join(append([]string{heading}, short...), "\n"))

	parts := hints
	if description != "" && description != summary {
		parts = append([]string{description}, parts...)
	}
	if summary != "" {
		parts = append([]string{summary}, parts...)
	}
	if len(parts) > 1 || len(hints) > 0 || t.DescriptionTruncated {
		o.guide(t, strings.Join(parts, "\n"))
	}
}

func (o *operation) shorten(t *capability.Tool, full string) {
	t.Description = textlimit.CutRunes(full, maxDescription)
	if len(t.Description) < len(full) {
		t.DescriptionTruncated = true
		o.warn(faultf(codeDescriptionTruncated, "Keep summary and guidance short together.",
			"the description is cut to %d characters", maxDescription))
	}
}

// guide sets the usage guidance. Control characters become spaces first, as in every text that is shown (agent §1.4).
func (o *operation) guide(t *capability.Tool, full string) {
	full = textlimit.Safe(full, math.MaxInt)
	if full == "" {
		return
	}
	t.Guidance = capability.NewGuidance(full)
	if t.Guidance.Truncated {
		o.warn(faultf(codeUsageGuidanceTruncated, "Shorten it, and put the conditions that matter most first.",
			"the usage guidance is cut to %d characters or %d bytes", capability.MaxGuidanceChars, capability.MaxGuidanceBytes))
	}
}

// whole is text without what UTF-8 cannot hold, such as lone surrogates: a stored tool comes back equal.
func whole(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
