package approval_test

import (
	"testing"

	"bailing/shared/approval"
)

func bind(p [6]string) string { return approval.Bind(p[0], p[1], p[2], p[3], p[4], p[5]) }

func TestEveryPartOfABindingMatters(t *testing.T) {
	t.Parallel()
	base := [6]string{"shop", "refund", "refunds.write", "POST", "/refunds", "u"}
	seen := map[string][6]string{bind(base): base}
	add := func(p [6]string) {
		t.Helper()
		if other, ok := seen[bind(p)]; ok {
			t.Errorf("%q is bound like %q", p, other)
		}
		seen[bind(p)] = p
	}
	for i := range base {
		for _, part := range []string{"", base[i] + " ", "x" + base[i], "5:shop,"} {
			p := base
			p[i] = part
			add(p)
		}
		// What is moved from one part to the next one makes the same text.
		if i+1 < len(base) {
			p := base
			p[i], p[i+1] = base[i]+base[i+1], ""
			add(p)
			p[i], p[i+1] = "", base[i]+base[i+1]
			add(p)
			p = base
			p[i], p[i+1] = base[i+1], base[i]
			add(p)
		}
	}
	add([6]string{"4:shop,6:refund,"})
	add([6]string{"", "", "", "", "", "4:shop,6:refund,"})
	if again := base; bind(again) != bind(base) {
		t.Error("a binding is not the same twice")
	}
}

// Two different calls have two bindings: the parts are found again in what is hashed.
func FuzzBind(f *testing.F) {
	f.Add("shop", "refund", "s", "POST", "/p", "u", "shop", "refund", "s", "POST", "/pu", "")
	f.Add("", "", "", "", "", "", "0:,", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, a1, a2, a3, a4, a5, a6, b1, b2, b3, b4, b5, b6 string) {
		a, b := [6]string{a1, a2, a3, a4, a5, a6}, [6]string{b1, b2, b3, b4, b5, b6}
		if (bind(a) == bind(b)) != (a == b) {
			t.Errorf("%q and %q: %v", a, b, bind(a) == bind(b))
		}
	})
}
