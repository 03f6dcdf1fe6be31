package platform

import (
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// redacted stands where a log line would have shown a secret.
const redacted = "[REDACTED_SECRET]"

// secretKeys are parts of attribute names whose values are never logged (core §11.7).
var secretKeys = []string{"password", "passwd", "pwd", "secret", "token", "api_key", "apikey", "access_key", "authorization", "cookie", "credential"}

// secretText finds credentials inside longer text, for example in the error of a library.
var secretText = regexp.MustCompile(`(?i)bearer\s+[A-Za-z0-9._~+/=-]{16,}|\b(?:sk|pk|ak|tk|eyJ)[A-Za-z0-9_.-]{18,}`)

// secretMember finds members of JSON objects under the names of secretKeys that are text.
var secretMember = regexp.MustCompile(`(?i)("[^"]*(?:` + strings.Join(secretKeys, "|") + `)[^"]*":)"(?:[^"\\]|\\.)*"`)

// NewLogger writes JSON lines. Values under names that look like secrets, and credentials inside any text, are replaced:
// the last line of defence behind the rule that values are not logged at all (I10).
func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: redact}))
}

func redact(groups []string, a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	countable := a.Value.Kind() == slog.KindBool || a.Value.Kind() == slog.KindInt64 // "tokens": 12 says nothing
	if !countable && (secretName(a.Key) || slices.ContainsFunc(groups, secretName)) {
		return slog.String(a.Key, redacted)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		if s := a.Value.String(); secretText.MatchString(s) {
			a.Value = slog.StringValue(secretText.ReplaceAllString(s, redacted))
		}
	case slog.KindAny:
		a.Value = redactAny(a.Value)
	}
	return a
}

func secretName(key string) bool {
	name := strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	return slices.ContainsFunc(secretKeys, func(k string) bool { return strings.Contains(name, k) })
}

// redactAny looks into values that are no plain ones. A value whose JSON shows a secret is logged as that text without it.
func redactAny(v slog.Value) slog.Value {
	if err, ok := v.Any().(error); ok {
		return slog.StringValue(secretText.ReplaceAllString(err.Error(), redacted))
	}
	text, err := json.Marshal(v.Any())
	if err != nil || (!secretText.Match(text) && !secretMember.Match(text)) {
		return v
	}
	return slog.StringValue(secretText.ReplaceAllString(secretMember.ReplaceAllString(string(text), `${1}"`+redacted+`"`), redacted))
}
