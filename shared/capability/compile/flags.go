package compile

import (
	"fmt"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// Bounds of core §4.6.
const (
	maxPrompt    = 200
	maxLabel     = 120
	maxOutcome   = 300
	maxContext   = 50
	maxScope     = 200
	maxTimeoutMs = 600_000
	maxRateCount = 1_000_000_000 // more is no limit
)

// flags reads risk, approval, subject and audit, and the scope.
func (o *operation) flags(t *capability.Tool) {
	for _, name := range sections {
		if v, ok := o.extension.Get(name); ok && v.Kind() != canonical.Object && v.Kind() != canonical.Null {
			o.fail(faultf(codeInvalidCapability, "Write "+name+" as an object.",
				"%s is not an object", name).under(o.capability(name)))
		}
	}
	scope, _ := o.extension.Get("scope")
	t.Scope = scope.Text()
	if !isHeaderText(t.Scope) || len(t.Scope) > maxScope {
		o.fail(faultf(codeInvalidScope, fmt.Sprintf("Use up to %d printable ASCII characters: the scope is sent in a header.", maxScope),
			"the scope cannot be sent").under(o.capability("scope")))
	}
	t.Readonly = o.method == "GET" || o.boolean("execution", "readonly")
	t.Idempotent = o.method == "GET" || o.boolean("execution", "idempotent")
	t.ConfirmRequired = o.boolean("approval", "required")
	t.RequiresSubject = o.boolean("subject", "required")
	t.Sensitive = o.boolean("audit", "sensitive")
	prompt, _ := o.section("approval").Get("prompt")
	t.ConfirmPrompt = textlimit.Cut(whole(prompt.Text()), maxPrompt)

	level, _ := o.section("risk").Get("level")
	switch risk := capability.Risk(level.Text()); {
	case risk == capability.RiskLow || risk == capability.RiskMedium || risk == capability.RiskHigh:
		t.Risk = risk
	case o.method != "GET" && !t.Readonly:
		t.Risk = capability.RiskMedium
	default:
		t.Risk = capability.RiskLow
	}
}

// boolean is a governing flag. One that is neither true nor false is refused: "yes" must not mean no approval.
func (o *operation) boolean(section, name string) bool {
	v, ok := o.section(section).Get(name)
	if ok && v.Kind() != canonical.Bool && v.Kind() != canonical.Null {
		o.fail(faultf(codeInvalidBoolean, "Write true or false.",
			"%s.%s is not a boolean", section, name).under(o.capability(section, name)))
	}
	return v.Bool()
}

// execution reads timeout and rate limit.
func (o *operation) execution(t *capability.Tool) {
	section := o.section("execution")
	if v, ok := section.Get("timeout_ms"); ok {
		ms, whole := v.Int64()
		if !whole || ms < 0 || ms > maxTimeoutMs {
			o.fail(faultf(codeInvalidTimeout, "Write an integer from 1 to 600000, or leave timeout_ms out.",
				"execution.timeout_ms is out of range").under(o.capability("execution", "timeout_ms")))
		}
		t.TimeoutMs = ms
	}
	limit, _ := section.Get("rate_limit")
	countValue, _ := limit.Get("count")
	window, _ := limit.Get("window")
	count, whole := countValue.Int64()
	if !whole || count <= 0 || count > maxRateCount {
		return // an invalid limit is no limit (core §4.6)
	}
	switch window.Text() {
	case "1s":
		t.RateLimitPerMin = count * 60
	case "1m":
		t.RateLimitPerMin = count
	case "1h":
		t.RateLimitPerMin = perMinute(count, 60)
	case "1d":
		t.RateLimitPerMin = perMinute(count, 1440)
	default:
		return
	}
	t.RateLimit = &capability.RateLimit{Count: count, Window: window.Text()}
}

// perMinute spreads a count over minutes, rounded half up, at least 1.
func perMinute(count, minutes int64) int64 { return max(1, (2*count+minutes)/(2*minutes)) }

// notes reads the context notes and the declared outcome.
func (o *operation) notes(t *capability.Tool) {
	t.Context = []string{}
	if v, ok := o.section("guidance").Get("context"); ok && v.Kind() != canonical.Null {
		list, ok := stringList(v)
		if !ok {
			o.fail(faultf(codeInvalidContext, "Write guidance.context as an array of strings.",
				"guidance.context is not an array of strings").under(o.capability("guidance", "context")))
		}
		for _, note := range list[:min(len(list), maxContext)] {
			t.Context = append(t.Context, whole(note))
		}
	}
	outcome := o.section("outcome")
	result, _ := outcome.Get("result")
	effect, declared := outcome.Get("side_effect")
	switch effect.Text() {
	case "none", "read", "write", "notify", "external":
	default:
		if declared {
			return // an unknown effect says nothing reliable (core §4.6)
		}
	}
	out := capability.Outcome{Result: textlimit.Cut(whole(result.Text()), maxOutcome), SideEffect: effect.Text()}
	if out != (capability.Outcome{}) {
		t.Outcome = &out
	}
}

// extensions keeps the operation's members that businesses and this product may attach (core §4.6).
func (o *operation) extensions(t *capability.Tool) {
	var members []member
	for key, v := range o.value.Members() {
		if strings.HasPrefix(key, "x-bailing-") || strings.HasPrefix(key, "x-business-") {
			members = append(members, member{key, newLeaf(v)})
		}
	}
	n := newObject(members)
	if n.size > MaxSchemaBytes {
		o.fail(limitFault("the operation's extensions are too large"))
		return
	}
	t.Extensions = n.appendTo(nil)
}

func isHeaderText(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s == strings.TrimSpace(s) && s != ""
}

func hasAny(s, chars string) bool { return strings.ContainsAny(s, chars) }

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}
