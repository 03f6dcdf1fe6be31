package audience_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bailing/shared/audience"
	"bailing/shared/canonical"
)

func value(t testing.TB, text string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(text), canonical.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// sources is the table of core §1.3: the names of each attribute, the first of which wins.
var sources = []struct {
	attribute    string
	nested, flat []string
	read         func(audience.Principal) string
}{
	{
		"id", []string{"id", "principal_id", "user_id", "uid", "openid", "userid"},
		[]string{"principal_id", "principal", "subject", "user_id", "uid", "operator_id", "wecom_userid", "visitor_uid"},
		func(p audience.Principal) string { return p.ID },
	},
	{
		"tenant", []string{"tenant", "tenant_id", "org_id", "workspace_id"}, []string{"tenant", "tenant_id", "org_id", "workspace_id"},
		func(p audience.Principal) string { return p.Tenant },
	},
	{
		"roles", []string{"roles", "role"}, []string{"roles", "role"},
		func(p audience.Principal) string { return strings.Join(p.Roles, "+") },
	},
	{
		"audience", []string{"audience", "kind", "type"}, []string{"audience", "principal_type", "user_type"},
		func(p audience.Principal) string { return p.Audience },
	},
}

// members writes the names with their own name as the value, in the opposite of the order in which they win.
func members(names []string) string {
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, ",%q:%q", names[i], "from "+names[i])
	}
	return b.String()
}

func TestEveryNameOfAnAttributeIsReadAndTheFirstWins(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		for i := range s.nested {
			for _, object := range []string{"principal", "subject", "operator"} {
				id := ""
				if s.attribute != "id" {
					id = `,"id":"u"`
				}
				metadata := fmt.Sprintf(`{%q:{"other":1%s%s}}`, object, members(s.nested[i:]), id)
				if got, want := s.read(audience.Resolve(value(t, metadata), "")), "from "+s.nested[i]; got != want {
					t.Errorf("%s is %q, want %q: %s", s.attribute, got, want, metadata)
				}
			}
		}
		for i := range s.flat {
			id := ""
			if s.attribute != "id" {
				id = `,"uid":"u"`
			}
			metadata := `{"other":1` + members(s.flat[i:]) + id + `}`
			if got, want := s.read(audience.Resolve(value(t, metadata), "")), "from "+s.flat[i]; got != want {
				t.Errorf("%s is %q, want %q: %s", s.attribute, got, want, metadata)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, metadata string
		want           audience.Principal
	}{
		{"nobody", `{"a":1}`, audience.Principal{}},
		{"roles without an id are nobody's", `{"roles":["admin"],"tenant":"t","audience":"staff"}`, audience.Principal{}},
		{"a blank id is none", `{"principal":{"id":" \u00a0","uid":""},"user_id":"\t"}`, audience.Principal{}},
		{"true is no id", `{"principal":{"id":true},"uid":["u"]}`, audience.Principal{}},
		{"the next name is tried when one is blank", `{"principal":{"id":"","uid":"u"}}`, audience.Principal{ID: "u"}},
		{"a number is what it is written as", `{"uid":12345678901234567890}`, audience.Principal{ID: "12345678901234567890"}},
		{"white space around is dropped", `{"uid":" u\u00a0"}`, audience.Principal{ID: "u"}},
		{"principal comes before subject, and subject before operator", `{"operator":{"id":"c"},"subject":{"id":"b"},"principal":{"id":"a"}}`,
			audience.Principal{ID: "a"}},
		{"subject comes before operator", `{"operator":{"id":"c"},"subject":{"uid":"b"}}`, audience.Principal{ID: "b"}},
		{"the id of one object never meets the roles of another", `{"principal":{"id":"a"},"operator":{"roles":["chief"],"tenant":"t"}}`,
			audience.Principal{ID: "a"}},
		{"an object comes before members of metadata", `{"principal_id":"b","subject":{"id":"a"}}`, audience.Principal{ID: "a"}},
		{"members of metadata fill what the object leaves out", `{"subject":{"id":"a"},"tenant":"t","roles":["x"]}`,
			audience.Principal{ID: "a", Tenant: "t", Roles: []string{"x"}}},
		{"a text under principal is an id", `{"principal":"u"}`, audience.Principal{ID: "u"}},
		{"roles may be text with commas", `{"uid":"u","role":"a, b ,,c"}`, audience.Principal{ID: "u", Roles: []string{"a", "b", "c"}}},
		{"only texts are roles", `{"uid":"u","roles":["a",1,null," ",{"b":"c"},"d"]}`, audience.Principal{ID: "u", Roles: []string{"a", "d"}}},
		{"empty roles give way to role", `{"uid":"u","roles":[],"role":"a"}`, audience.Principal{ID: "u", Roles: []string{"a"}}},
		{"half a surrogate pair is no text: two ids would be kept as one", `{"principal":{"id":"a\ud800","uid":"b","tenant":"\udc00"},"role":"x,\ud800"}`,
			audience.Principal{ID: "b", Roles: []string{"x"}}},
		{"a whole pair is text", `{"uid":"\ud83d\ude00"}`, audience.Principal{ID: "😀"}},
		{"metadata cannot say its channel or client", `{"principal":{"id":"u","channel":"c","client_app_id":"other"},"channel":"c"}`,
			audience.Principal{ID: "u"}},
	} {
		want := tc.want
		want.ClientAppID = "acme"
		if want.Roles == nil {
			want.Roles = []string{}
		}
		if got := audience.Resolve(value(t, tc.metadata), "acme"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tc.rule, got, want)
		}
	}
}

func TestOverLongAttributesAreCutInUTF16Units(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		most := map[string]int{"id": 128, "tenant": 128, "roles": 64, "audience": 64}[s.attribute]
		name := s.flat[0]
		for _, tc := range []struct{ text, want string }{
			{strings.Repeat("a", most), strings.Repeat("a", most)},
			{strings.Repeat("a", most+1), strings.Repeat("a", most)},
			{strings.Repeat("😀", most/2), strings.Repeat("😀", most/2)}, // two units each
			{strings.Repeat("😀", most/2) + "a", strings.Repeat("😀", most/2)},
			{"a" + strings.Repeat("😀", most/2), "a" + strings.Repeat("😀", most/2-1)},
		} {
			id := ""
			if s.attribute != "id" {
				id = `,"uid":"u"`
			}
			p := audience.Resolve(value(t, fmt.Sprintf(`{%q:%q%s}`, name, tc.text, id)), "")
			if got := s.read(p); got != tc.want {
				t.Errorf("%s of %q is %q, want %q", s.attribute, tc.text, got, tc.want)
			}
		}
	}
}

func TestLedgerKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	for _, tc := range []struct {
		p    audience.Principal
		want string
	}{
		{audience.Principal{}, ""},
		{audience.Principal{ClientAppID: "acme", Channel: "c"}, ""},
		{audience.Principal{ID: "u"}, "p:u"},
		{audience.Principal{ID: "u", Tenant: "t"}, "t:t|p:u"},
		{audience.Principal{ID: long}, "p:" + long},
		{audience.Principal{ID: long, Tenant: strings.Repeat("t", 58)}, "t:" + strings.Repeat("t", 58) + "|p:" + long}, // 191
		{audience.Principal{ID: long, Tenant: strings.Repeat("t", 59)}, "t:" + strings.Repeat("t", 59) + "|p:" + long[:127]},
	} {
		if got := tc.p.LedgerKey(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.p, got, tc.want)
		}
	}
}
