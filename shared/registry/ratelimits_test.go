package registry_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bailing/shared/registry"
)

// overrides is a `tool_rate_limits` with n overrides of the longest names.
func overrides(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%s%04d":{"mode":"custom","count":1000000,"window":"1m"}`, strings.Repeat("t", 60), i)
	}
	return `{"overrides":{` + strings.Join(list, ",") + `}}`
}

func TestToolRateLimitRules(t *testing.T) {
	t.Parallel()
	const member = "tool_rate_limits"
	rules := []rule{
		{member, `null`, "", ""},
		{member, `{}`, "", ""},
		{member, `[]`, member, "object"},
		{member, `""`, member, "object"},
		{member, `{"default":null,"overrides":null}`, "", ""},
		{member, `{"Default":{"mode":"disabled"}}`, member + ".Default", "not a known member"},
		{member, `{"pay":{"mode":"disabled"}}`, member + ".pay", "not a known member"},
		{member, `{"overrides":{}}`, "", ""},
		{member, `{"overrides":[]}`, member + ".overrides", "object"},
		{member, `{"overrides":{"pay":null}}`, member + ".overrides.pay", "object"},
		{member, overrides(1000), "", ""},
		{member, overrides(1001), member + ".overrides", "at most 1000 entries"},
	}
	for tool, fine := range map[string]bool{
		"a": true, "_": true, "Pay_2": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "": false, "2pay": false, "pay.now": false, "pay*": false, "*": false, "é": false,
	} {
		r := rule{member, fmt.Sprintf(`{"overrides":{%q:{"mode":"disabled"}}}`, tool), "", ""}
		if !fine {
			r.wrong, r.says = member+".overrides", "names of tools"
		}
		rules = append(rules, r)
	}
	for place, form := range map[string]string{
		member + ".default":       `{"default":%s}`,
		member + ".overrides.pay": `{"overrides":{"pay":%s}}`,
	} {
		for _, r := range []rule{
			{"", `"inherit"`, "", "object"},
			{"", `{}`, ".mode", "one of inherit, disabled, custom"},
			{"", `{"mode":""}`, ".mode", "one of"},
			{"", `{"mode":"off"}`, ".mode", "one of"},
			{"", `{"mode":"Custom"}`, ".mode", "one of"},
			{"", `{"mode":1}`, ".mode", "string"},
			{"", `{"mode":"custom","count":1,"window":"1s","burst":2}`, ".burst", "not a known member"},
			{"", `{"mode":"custom"}`, ".count", "required with mode custom"},
			{"", `{"mode":"custom","window":"1s"}`, ".count", "required with mode custom"},
			{"", `{"mode":"custom","count":1}`, ".window", "required with mode custom"},
			{"", `{"mode":"custom","count":1,"window":null}`, ".window", "required with mode custom"},
			{"", `{"mode":"custom","count":0,"window":"1m"}`, ".count", "from 1 to 1000000"},
			{"", `{"mode":"custom","count":1000001,"window":"1m"}`, ".count", "from 1 to 1000000"},
			{"", `{"mode":"custom","count":1e300,"window":"1m"}`, ".count", "from 1 to 1000000"},
			{"", `{"mode":"custom","count":1.5,"window":"1m"}`, ".count", "whole number"},
			{"", `{"mode":"custom","count":"1","window":"1m"}`, ".count", "whole number"},
			{"", `{"mode":"custom","count":1,"window":""}`, ".window", "one of 1s, 1m, 1h, 1d"},
			{"", `{"mode":"custom","count":1,"window":"2m"}`, ".window", "one of"},
			{"", `{"mode":"custom","count":1,"window":60}`, ".window", "string"},
			{"", `{"mode":"inherit","count":1}`, ".count", "needs mode custom"},
			{"", `{"mode":"disabled","window":"1m"}`, ".window", "needs mode custom"},
		} {
			rules = append(rules, rule{member, fmt.Sprintf(form, r.raw), place + r.wrong, r.says})
		}
		for _, fine := range []string{
			`{"mode":"inherit"}`, `{"mode":"disabled"}`, `{"mode":"disabled","count":null,"window":null}`,
			`{"mode":"custom","count":1,"window":"1s"}`, `{"mode":"custom","count":1000000,"window":"1m"}`,
			`{"mode":"custom","count":1,"window":"1h"}`, `{"mode":"custom","count":1.0,"window":"1d"}`,
		} {
			rules = append(rules, rule{member, fmt.Sprintf(form, fine), "", ""})
		}
	}
	checkRules(t, "provider", provider, nil, rules)
}

func TestToolRateLimitsAreListedAsTheyWereSaved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, limits := range []string{
		`{}`, `{"overrides":{}}`, `{"default":{"mode":"inherit"}}`, `{"default":{"mode":"disabled"},"overrides":{}}`,
		`{"default":{"mode":"custom","count":1000000,"window":"1d"},
			"overrides":{"a":{"mode":"inherit"},"b":{"mode":"custom","count":1,"window":"1s"}}}`,
		overrides(1000),
	} {
		b.must(t, "provider", with(t, provider, "tool_rate_limits", limits))
		before := b.entry(t, "provider", provider)
		wantJSON(t, before["tool_rate_limits"], limits)
		b.must(t, "provider", body(t, before))
		if after := b.entry(t, "provider", provider); after["revision"] != before["revision"] {
			t.Errorf("%.60s: an entry that was sent back has another revision", limits)
		}
	}
	b.must(t, "provider", provider)
	if limits, given := b.entry(t, "provider", provider)["tool_rate_limits"]; given {
		t.Errorf("left out of a save, they stay: %v", limits)
	}
}

func TestAnotherPolicyIsAnotherRevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	save := func(count int, revision any) error {
		limits := fmt.Sprintf(`{"overrides":{"pay":{"mode":"custom","count":%d,"window":"1h"}}}`, count)
		changed := with(t, provider, "tool_rate_limits", limits)
		return b.save(t, "provider", with(t, changed, "expected_revision", quote(t, fmt.Sprint(revision))))
	}
	if err := save(1, ""); err != nil {
		t.Fatal(err)
	}
	first := b.entry(t, "provider", provider)["revision"]
	if err := save(2, first); err != nil {
		t.Fatal(err)
	}
	wantConflict(t, save(3, first), "has changed")
}

// The first of override, default and declaration that does not inherit, found by going through them.
func TestTheMostSpecificPolicyDecides(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	tools := []string{"a", "b", "c", "A"}
	policy := func() registry.RatePolicy {
		return []registry.RatePolicy{
			{Mode: registry.RateInherit}, {Mode: registry.RateDisabled}, {Mode: registry.RateCustom, Count: 1 + r.IntN(9), Window: "1h"},
		}[r.IntN(3)]
	}
	type level struct {
		source registry.RateSource
		tool   string // "" for every one
		policy registry.RatePolicy
	}
	for i := range 5000 {
		var limits *registry.ToolRateLimits
		var levels []level
		if r.IntN(10) > 0 {
			limits = &registry.ToolRateLimits{}
			for _, tool := range tools {
				if r.IntN(2) == 0 {
					continue
				}
				if limits.Overrides == nil {
					limits.Overrides = map[string]registry.RatePolicy{}
				}
				limits.Overrides[tool] = policy()
				levels = append(levels, level{registry.RateOverride, tool, limits.Overrides[tool]})
			}
			if r.IntN(2) == 0 {
				p := policy()
				limits.Default = &p
				levels = append(levels, level{registry.RateDefault, "", p})
			}
		}
		for _, tool := range tools {
			want := level{source: registry.RateDeclared, policy: registry.RatePolicy{Mode: registry.RateInherit}}
			for _, l := range levels {
				if (l.tool == "" || l.tool == tool) && l.policy.Mode != registry.RateInherit {
					want = l
					break
				}
			}
			if got, source := limits.For(tool); got != want.policy || source != want.source {
				t.Fatalf("case %d, %s: %+v by %s, want %+v by %s", i, tool, got, source, want.policy, want.source)
			}
		}
	}
}

// A call reads the record of its provider together with all else that decides it. A record too large for one item would cost it a
// trip more; items hold 300 KiB of it.
func TestTheLargestProviderStaysOneItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limits := strings.Replace(overrides(1000), "{", `{"default":{"mode":"custom","count":1000000,"window":"1m"},`, 1)
	body := with(t, with(t, provider, "tool_rate_limits", limits), "description", `"`+strings.Repeat(`\u2028`, 10_000)+`"`)
	b.must(t, "provider", with(t, with(t, body, "secret", name(4096)), "base_url", url(2048)))
	record, err := json.Marshal(b.provider(t, "ref-biz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(record) > 250<<10 {
		t.Errorf("%d bytes", len(record))
	}
}
