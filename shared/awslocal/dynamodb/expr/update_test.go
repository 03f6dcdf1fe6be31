package expr

import (
	"errors"
	"strings"
	"testing"
)

const before = `{"n":{"N":"5"},"s":{"S":"str"},"x":{"N":"1"},"y":{"N":"2"},"ss":{"SS":["x","y"]},"ns":{"NS":["1"]},"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]},"m":{"M":{"k":{"N":"1"},"z":{"S":"keep"}}}}`

func TestUpdates(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, src, item, want string }{
		{"set a new attribute", "SET a = :1", `{}`, `{"a":{"N":"1"}}`},
		{"set replaces with another type", "SET a = :s", `{"a":{"N":"1"}}`, `{"a":{"S":"hello"}}`},
		{"set copies", "SET b = a", `{"a":{"L":[]}}`, `{"a":{"L":[]},"b":{"L":[]}}`},
		{"set itself", "SET a = a", `{"a":{"N":"1"}}`, `{"a":{"N":"1"}}`},
		{"sum", "SET a = a + :2", `{"a":{"N":"1"}}`, `{"a":{"N":"3"}}`},
		{"difference", "SET a = :2 - a", `{"a":{"N":"5"}}`, `{"a":{"N":"-3"}}`},
		{"all values are read before anything is written", "SET x = y, y = x", `{"x":{"N":"1"},"y":{"N":"2"}}`, `{"x":{"N":"2"},"y":{"N":"1"}}`},
		{"a removed attribute can still be read", "REMOVE a SET b = a", `{"a":{"N":"1"}}`, `{"b":{"N":"1"}}`},
		{"if_not_exists takes the default", "SET a = if_not_exists(a, :0) + :1", `{}`, `{"a":{"N":"1"}}`},
		{"if_not_exists takes what is there", "SET a = if_not_exists(a, :0) + :1", `{"a":{"N":"4"}}`, `{"a":{"N":"5"}}`},
		{"if_not_exists of another attribute", "SET b = if_not_exists(a, :s)", `{"a":{"N":"4"}}`, `{"a":{"N":"4"},"b":{"N":"4"}}`},
		{"if_not_exists nests", "SET a = if_not_exists(x, if_not_exists(y, :1))", `{"y":{"N":"2"}}`, `{"y":{"N":"2"},"a":{"N":"2"}}`},
		{"list_append", "SET a = list_append(a, :l)", `{"a":{"L":[{"N":"1"}]}}`, `{"a":{"L":[{"N":"1"},{"S":"a"},{"N":"2"}]}}`},
		{"list_append in front", "SET a = list_append(:l, a)", `{"a":{"L":[{"N":"1"}]}}`, `{"a":{"L":[{"S":"a"},{"N":"2"},{"N":"1"}]}}`},
		{"list_append of a default", "SET a = list_append(if_not_exists(a, :el), :l)", `{}`, `{"a":{"L":[{"S":"a"},{"N":"2"}]}}`},
		{"nested set", "SET m.#k = m.#k + :1, m.fresh = :s", `{"m":{"M":{"k":{"N":"1"}}}}`, `{"m":{"M":{"k":{"N":"2"},"fresh":{"S":"hello"}}}}`},
		{"deep set", "SET a[1].b.c[0] = :1", `{"a":{"L":[{"N":"0"},{"M":{"b":{"M":{"c":{"L":[{"S":"x"}]}}}}}]}}`, `{"a":{"L":[{"N":"0"},{"M":{"b":{"M":{"c":{"L":[{"N":"1"}]}}}}}]}}`},
		{"list element", "SET l[1] = :s", `{"l":{"L":[{"N":"1"},{"N":"2"}]}}`, `{"l":{"L":[{"N":"1"},{"S":"hello"}]}}`},
		{"beyond the end appends", "SET l[9] = :s", `{"l":{"L":[{"N":"1"}]}}`, `{"l":{"L":[{"N":"1"},{"S":"hello"}]}}`},
		{"several beyond the end append by index", "SET l[84] = :0, l[37] = :1, l[50] = :2", `{"l":{"L":[]}}`, `{"l":{"L":[{"N":"1"},{"N":"2"},{"N":"0"}]}}`},
		{"remove", "REMOVE a, b", `{"a":{"N":"1"},"b":{"N":"2"},"c":{"N":"3"}}`, `{"c":{"N":"3"}}`},
		{"remove what is not there", "REMOVE a, m.x, l[7]", `{"m":{"M":{}},"l":{"L":[]}}`, `{"m":{"M":{}},"l":{"L":[]}}`},
		{"remove the last member", "REMOVE m.#k", `{"m":{"M":{"k":{"N":"1"}}}}`, `{"m":{"M":{}}}`},
		{"remove list elements closes up", "REMOVE l[0], l[2]", `{"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}`, `{"l":{"L":[{"N":"2"}]}}`},
		{"indexes mean the list before the update", "REMOVE l[1] SET l[3] = :s", `{"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"N":"3"},{"N":"4"}]}}`, `{"l":{"L":[{"N":"0"},{"N":"2"},{"S":"hello"},{"N":"4"}]}}`},
		{"add to a number", "ADD n :2", `{"n":{"N":"5"}}`, `{"n":{"N":"7"}}`},
		{"add makes a number", "ADD n :2", `{}`, `{"n":{"N":"2"}}`},
		{"add in depth", "ADD m.#k :2", `{"m":{"M":{"k":{"N":"1"}}}}`, `{"m":{"M":{"k":{"N":"3"}}}}`},
		{"add to a set", "ADD ss :ss", `{"ss":{"SS":["a","x"]}}`, `{"ss":{"SS":["a","x","y"]}}`},
		{"add makes a set", "ADD ns :ns", `{}`, `{"ns":{"NS":["1","2"]}}`},
		{"delete from a set", "DELETE ns :ns", `{"ns":{"NS":["1.0","3"]}}`, `{"ns":{"NS":["3"]}}`},
		{"delete the last member deletes the attribute", "DELETE ns :ns", `{"ns":{"NS":["1","2"]}}`, `{}`},
		{"delete from nothing", "DELETE ns :ns", `{}`, `{}`},
		{"all clauses in any order and case", "remove a Add n :1 dELETE ss :ss set b = :s", `{"a":{"N":"1"},"ss":{"SS":["x","z"]}}`, `{"n":{"N":"1"},"ss":{"SS":["z"]},"b":{"S":"hello"}}`},
		{"a dot in a placeholder is a name", "SET #dot = :1", `{}`, `{"a.b":{"N":"1"}}`},
		{"without spaces", "SET a=:1,b=:2", `{}`, `{"a":{"N":"1"},"b":{"N":"2"}}`},
	}
	for _, c := range cases {
		p := used(t, c.src)
		u, err := p.Update(c.src)
		if err == nil {
			err = p.Finish()
		}
		if err != nil {
			t.Errorf("%s: %q: %v", c.name, c.src, err)
			continue
		}
		old := item(t, c.item)
		got, err := u.Apply(old)
		if err != nil || show(got) != show(item(t, c.want)) {
			t.Errorf("%s: %q gives %s, %v, want %s", c.name, c.src, show(got), err, c.want)
		}
		if show(old) != show(item(t, c.item)) {
			t.Errorf("%s: %q changed its input to %s", c.name, c.src, show(old))
		}
	}
}

func TestUpdatesThatDoNotFitTheItem(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, src string
		want      error // nil: any
	}{
		{"parent is missing", "SET gone.k2 = :1", errPath},
		{"parent is a scalar", "SET s.k2 = :1", errPath},
		{"parent is a list", "SET l.k2 = :1", errPath},
		{"index into a map", "SET m[0] = :1", errPath},
		{"index into nothing", "SET gone[0] = :1", errPath},
		{"remove below nothing", "REMOVE gone.k2", errPath},
		{"remove below a scalar", "REMOVE s[0]", errPath},
		{"beyond the end of a list", "SET l[7].k2 = :1", errPath},
		{"copy of nothing", "SET a = gone", errMissing},
		{"sum with nothing", "SET a = gone + :1", errMissing},
		{"list_append to nothing", "SET a = list_append(gone, :l)", errMissing},
		{"sum with a string", "SET a = s + :1", errOperand},
		{"list_append to a number", "SET a = list_append(n, :l)", errOperand},
		{"add a number to a string", "ADD s :1", errOperand},
		{"add a set to a number", "ADD n :ss", errOperand},
		{"add a set to one of another type", "ADD ss :ns", errOperand},
		{"delete from a number", "DELETE n :ns", errOperand},
		{"delete from a set of another type", "DELETE ss :ns", errOperand},
		{"sum of too many digits", "SET a = n + :big, b = :big + :tiny", nil},
		{"a later failure undoes everything", "SET y = :1 ADD s :1", errOperand},
	}
	it := item(t, before)
	for _, c := range cases {
		u, err := used(t, c.src).Update(c.src)
		if err != nil {
			t.Errorf("%s: %q does not parse: %v", c.name, c.src, err)
			continue
		}
		got, err := u.Apply(it)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %q gives %s, %v, want %v", c.name, c.src, show(got), err, c.want)
		}
	}
	if show(it) != show(item(t, before)) {
		t.Errorf("a failed update changed the item to %s", show(it))
	}
}

func TestUpdatesThatAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, src, mention string }{
		{"empty", "", "empty"},
		{"unknown clause", "HELLO a = :1", "Syntax error"},
		{"no action", "SET", "Syntax error"},
		{"trailing comma", "SET a = :1,", "Syntax error"},
		{"value on the left", "SET :1 = :2", "Syntax error"},
		{"three summands", "SET a = :1 + :2 + :3", "Syntax error"},
		{"sum inside a function", "SET a = if_not_exists(a, :1 + :2)", "Syntax error"},
		{"add without a value", "ADD a", "Syntax error"},
		{"add a path", "ADD a b", "Syntax error"},
		{"clause twice", "SET a = :1 SET b = :2", `"SET" section can only be used once`},
		{"clause twice, apart", "SET a = :1 REMOVE c SET b = :2", "only be used once"},
		{"reserved word", "SET status = :s", "reserved keyword: status"},
		{"undefined value", "SET a = :missing", ":missing"},
		{"undefined name", "SET #missing = :1", "#missing"},
		{"same path", "SET a = :1 REMOVE a", "overlap"},
		{"same path by another name", "SET #a = :1, #a2 = :2", "overlap"},
		{"path and its part", "SET a = :1, a.b = :2", "overlap"},
		{"part and its path", "SET a.b.c = :1, a.b = :2", "overlap"},
		{"list and its element", "SET a[1] = :1 ADD a :2", "overlap"},
		{"same element", "SET a[1][1] = :1, a[1][1] = :2", "overlap"},
		{"map and list", "SET a.b = :1, a[1] = :2", "conflict"},
		{"map and list in depth", "SET a.b.c = :1 REMOVE a.b[2]", "conflict"},
		{"sum of a string", "SET a = :s + :1", "operand type: S"},
		{"difference of a list", "SET a = a - :l", "operand type: L"},
		{"list_append of a string", "SET a = list_append(a, :s)", "operand type: S"},
		{"list_append in list_append", "SET a = list_append(list_append(a, :l), :l)", "not allowed"},
		{"one operand", "SET a = list_append(a)", "number of operands: 1"},
		{"three operands", "SET a = if_not_exists(a, :1, :2)", "number of operands: 3"},
		{"if_not_exists of a value", "SET a = if_not_exists(:1, :2)", "document path"},
		{"if_not_exists of a function", "SET a = if_not_exists(if_not_exists(a, :1), :2)", "document path"},
		{"unknown function", "SET a = f(b)", "Invalid function name; function: f"},
		{"function of conditions", "SET a = size(b)", "not allowed"},
		{"functions are case-sensitive", "SET a = LIST_APPEND(a, :l)", "Invalid function name"},
		{"add a string", "ADD a :s", "operand type: S"},
		{"add a list", "ADD a :l", "operand type: L"},
		{"delete a number", "DELETE a :1", "operand type: N"},
	}
	for _, c := range cases {
		_, err := used(t, c.src).Update(c.src)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.mention) || !strings.HasPrefix(err.Error(), "Invalid UpdateExpression: ") {
			t.Errorf("%s: %q gives %v, want an *Error that mentions %q", c.name, c.src, err, c.mention)
		}
	}
}

func TestUpdateOfAnItemThatDoesNotExist(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, src, want string }{
		{"set makes it", "SET a = :1", `{"a":{"N":"1"}}`},
		{"add makes it", "ADD a :1", `{"a":{"N":"1"}}`},
		{"remove does not", "REMOVE a", "none"},
		{"remove of any path does not", "REMOVE a.b, c[0]", "none"},
		{"delete does not", "DELETE a :ss", "none"},
	}
	for _, c := range cases {
		u, err := used(t, c.src).Update(c.src)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, err := u.Apply(nil); err != nil || show(got) != c.want {
			t.Errorf("%s: %q gives %s, %v, want %s", c.name, c.src, show(got), err, c.want)
		}
	}
}

func TestTouchedShowsTheUpdatedPathsOnly(t *testing.T) {
	t.Parallel()
	u, err := used(t, "SET m.#k = :1, n = :2 REMOVE l[1], s").Update("SET m.#k = :1, n = :2 REMOVE l[1], s")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"l":{"L":[{"N":"2"}]},"m":{"M":{"k":{"N":"1"}}},"n":{"N":"5"},"s":{"S":"str"}}`
	if got := show(u.Touched(item(t, before))); got != want {
		t.Errorf("touched is %s, want %s", got, want)
	}
}

func TestProjections(t *testing.T) {
	t.Parallel()
	const full = `{"a":{"N":"1"},"l":{"L":[{"N":"0"},{"N":"1"},{"M":{"x":{"N":"2"},"y":{"N":"3"}}}]},"m":{"M":{"k":{"S":"v"},"z":{"S":"w"}}},"status":{"S":"open"}}`
	cases := []struct{ name, src, want string }{
		{"top level", "a", `{"a":{"N":"1"}}`},
		{"placeholder", "#status", `{"status":{"S":"open"}}`},
		{"nested", "m.#k", `{"m":{"M":{"k":{"S":"v"}}}}`},
		{"elements close up in index order", "l[2].y, l[0]", `{"l":{"L":[{"N":"0"},{"M":{"y":{"N":"3"}}}]}}`},
		{"missing", "gone, m.gone, l[9], a.b2", `{}`},
		{"two parts of one element", "l[2].x, l[2].y", `{"l":{"L":[{"M":{"x":{"N":"2"},"y":{"N":"3"}}}]}}`},
	}
	for _, c := range cases {
		p, err := used(t, c.src).Projection(c.src)
		if err != nil {
			// "a.b2" and others must parse; overlaps have their own test.
			t.Errorf("%s: %q: %v", c.name, c.src, err)
			continue
		}
		if got := show(p.Apply(item(t, full))); got != c.want {
			t.Errorf("%s: %q gives %s, want %s", c.name, c.src, got, c.want)
		}
	}
	for _, src := range []string{"", "a,", "a b", ":1", "status", "a, a", "m, m.x", "l[0], l.x", "size(a)", "a = :1"} {
		if _, err := used(t, src).Projection(src); err == nil {
			t.Errorf("%q is accepted", src)
		}
	}
}
