package registry_test

import (
	"strings"
	"testing"

	"bailing/shared/apierr"
)

// Half a surrogate pair is no text: JSON can spell it, but neither the store nor an answer can keep it. A name would be listed
// differently from how it was saved, and a secret would sign with bytes that its owner cannot have.
func TestTextsAreValidUnicode(t *testing.T) {
	t.Parallel()
	const half = `"a\ud83db"`
	for _, tc := range []struct{ kind, member, raw string }{
		{"target", "description", half},
		{"credential", "default_model", half},
		{"credential", "api_key", half},
		{"provider", "description", half},
		{"provider", "secret", half},
		{"route", "name", half},
		{"route", "permission", half},
		{"route", "session_key_field", half},
		{"route", "target_config", `{"credential":"stub","system_prompt":` + half + `}`},
		{"route", "agent_client", `{"instructions":` + half + `}`},
		{"route", "tools", `{"sources":[{"provider":"ref-biz","allow":[` + half + `]}]}`},
		{"route", "tools", `{"approval":{"type":"webhook","url":"https://x.example","to":[` + half + `]}}`},
		{"client", "name", half},
		{"client", "description", half},
	} {
		b := setup(t)
		routed(t, b)
		if err := b.save(t, tc.kind, with(t, samples[tc.kind], tc.member, tc.raw)); apierr.CodeOf(err) != apierr.Invalid {
			t.Errorf("%s.%s = %s: %v, want an invalid text", tc.kind, tc.member, tc.raw, err)
		}
		whole := strings.ReplaceAll(tc.raw, `\ud83d`, `\ud83d\ude00`)
		if err := b.save(t, tc.kind, with(t, samples[tc.kind], tc.member, whole)); err != nil {
			t.Errorf("%s.%s = %s: %v", tc.kind, tc.member, whole, err)
		}
	}
}

func TestEntriesOfListsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	checkRules(t, "route", route, routed, []rule{
		{"tools", `{"sources":[{"provider":"ref-biz","allow":["a\u0000"]}]}`, "tools.sources[0].allow", "control"},
		{"tools", `{"approval":{"type":"webhook","url":"https://x.example","to":["a\u001f"]}}`, "tools.approval.to", "control"},
		{"tools", `{"approval":{"type":"webhook","url":"https://x.example","to":"a\u007f"}}`, "tools.approval.to", "control"},
	})
}

// A character outside the basic plane is two of the contract's characters.
func TestLimitsCountUTF16Units(t *testing.T) {
	t.Parallel()
	astral := func(n int) string { return `"` + strings.Repeat("😀", n) + `"` }
	info := func(name string) string {
		return `{"system_info":{"name":` + name + `,"summary":"s","domains":[],"boundaries":[]}}`
	}
	checkRules(t, "route", route, routed, []rule{
		{"name", astral(64), "", ""},
		{"name", astral(65), "name", "at most 128"},
		{"permission", astral(32), "", ""},
		{"permission", astral(33), "permission", "at most 64"},
		{"audience", `{"keywords":[` + astral(64) + `]}`, "", ""},
		{"audience", `{"keywords":[` + astral(65) + `]}`, "audience.keywords", "at most 128"},
		{"audience", `{"roles":[` + astral(33) + `]}`, "audience.roles", "at most 64"},
		{"agent_client", `{"instructions":` + astral(10_000) + `}`, "", ""},
		{"agent_client", `{"instructions":` + astral(10_001) + `}`, "agent_client.instructions", "at most 20000"},
		{"agent_client", info(astral(60)), "", ""},
		{"agent_client", info(astral(61)), "agent_client.system_info.name", "at most 120"},
	})
}
