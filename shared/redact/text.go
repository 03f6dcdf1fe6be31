package redact

import (
	"regexp"
	"strings"
)

// rules are applied in order: a credential that holds an address is a credential. A text with no character of needs is not searched.
var rules = []struct {
	find    *regexp.Regexp
	replace string
	needs   string
}{
	// A member or a parameter by its name, in a text that is no JSON as a whole: JSON behind some words, or cut off within; JSON
	// inside JSON; forms, queries and settings; headers.
	{regexp.MustCompile(`(?i)("[^"\\]*(?:` + names + `)[^"\\]*"\s*:\s*")(?:[^"\\]|\\.)+`), "${1}" + Secret, `"`},
	{regexp.MustCompile(`(?i)(\\"[^"\\]*(?:` + names + `)[^"\\]*\\+"\s*:\s*\\+")[^"\\]+(?:\\+[^"\\]+)*`), "${1}" + Secret, `\`},
	{regexp.MustCompile(`(?i)((?:` + names + `)[a-z0-9_.-]*=)(?:"[^"]+"?|'[^']+'?|[^\s&;,"'<>()\[\]{}\\]+)`), "${1}" + Secret, "="},
	{regexp.MustCompile(`(?i)(\bauthorization\s*:\s*(?:basic|digest|negotiate|token)\s+)[^\s\[\]"\\]+`), "${1}" + Secret, ":"},
	{regexp.MustCompile(`(?i)(\b(?:set-)?cookie\s*:\s*)[^\s=;,"\[\]]+=[^\r\n"]*`), "${1}" + Secret, ":"},

	{regexp.MustCompile(`(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{16,}`), Token, " \t\n\f\r"},
	{regexp.MustCompile(`\b(?:sk|pk|ak|tk|eyJ)[A-Za-z0-9._-]{18,}`), Secret, "kJ"},
	{regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`), Email, "@"},
	{regexp.MustCompile(`\b[1-9]\d{16}[0-9Xx]\b`), Identity, "0123456789"},
	{regexp.MustCompile(`\b(?:(?:00)?86)?1[3-9]\d{9}\b`), Phone, "1"},
	{regexp.MustCompile(`\b1[3-9]\d[- ]\d{4}[- ]\d{4}\b`), Phone, "1"},
}

// names is the names of [Key] as a pattern.
const names = `pass[_. -]?word|passwd|pwd|secret|token|api[_. -]?key|access[_. -]?key|authorization|cookie|credential`

// digits is what a number has that could be a telephone or identity number.
var digits = regexp.MustCompile(`^\d{11,18}$`)

// keys are parts of member names whose values are hidden, spelled without separators.
var keys = []string{"password", "passwd", "pwd", "secret", "token", "apikey", "accesskey", "authorization", "cookie", "credential"}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// Key reports whether values under this name are hidden.
func Key(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	for _, k := range keys {
		if strings.Contains(name, k) {
			return true
		}
	}
	return false
}

// passesMax bounds how often a text is looked through. What stands in place of a secret can set off what stood beside it; texts
// made for that end here.
const passesMax = 4

// Text hides what looks like personal data or a credential inside s. A text without any is looked through once.
func Text(s string) string {
	for range passesMax {
		next := s
		for _, r := range rules {
			if strings.ContainsAny(next, r.needs) {
				next = r.find.ReplaceAllString(next, r.replace)
			}
		}
		if next == s {
			break
		}
		s = next
	}
	return s
}
