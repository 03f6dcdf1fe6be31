package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/awslocal/dynamodb/attr"
)

const stored = `{"s":{"S":"hello world"},"n":{"N":"7"},"b":{"B":"AQID"},"bl":{"BOOL":true},"nu":{"NULL":true},
	"ss":{"SS":["x","y"]},"ns":{"NS":["1","2","3"]},"l":{"L":[{"S":"a"},{"S":"b"},{"L":[{"N":"2"}]}]},"m":{"M":{"k":{"S":"v"},"deep":{"L":[{"M":{"z":{"N":"1"}}}]}}},
	"status":{"S":"open"},"a.b":{"S":"dotted"},"a":{"N":"1"},"two":{"N":"2"},"pre":{"S":"hello"}}`

func TestConditions(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, src string
		want      bool
	}{
		{"equal", "n = :7", true},
		{"equal compares numbers by value", "a = :1", true},
		{"equal needs one type", "s = n", false},
		{"equal of a missing attribute", "gone = :1", false},
		{"two missing attributes are not equal", "gone = absent", false},
		{"unequal", "n <> :1", true},
		{"unequal of different types", "s <> :1", true},
		{"unequal of a missing attribute is true", "gone <> :1", true},
		{"equal documents", "m.k = :v", true},
		{"equal sets without order", "ss = :ss", true},
		{"equal booleans", "bl = :t", true},
		{"equal null", "nu = :null", true},
		{"less compares by value, not text", "n < :10", true},
		{"less", "n < :7", false},
		{"less or equal", "n <= :7", true},
		{"greater", "n > :1", true},
		{"greater or equal", "n >= :10", false},
		{"order of a missing attribute", "gone < :1", false},
		{"order of different types", "s < :1", false},
		{"order of an attribute without order", "l < :1", false},
		{"literal on the left", ":10 > n", true},
		{"two attributes", "a < two", true},
		{"between includes its bounds", "n BETWEEN :7 AND :10", true},
		{"between", "n BETWEEN :10 AND :11", false},
		{"between with attributes", "a between a2 and two", false},
		{"between of a missing attribute", "gone BETWEEN :1 AND :2", false},
		{"between binds its AND", "n BETWEEN :1 AND :10 AND a = :1", true},
		{"between with reversed attribute bounds is false", "n BETWEEN two AND a", false},
		{"in", "n IN (:1, :7)", true},
		{"in, none", "n IN (:1, :2)", false},
		{"in compares any type", "l[0] IN (:1, :a)", true},
		{"begins_with", "begins_with(s, :s)", true},
		{"begins_with, not", "begins_with(s, :w)", false},
		{"begins_with of binary", "begins_with(b, :bp)", true},
		{"begins_with of another type", "begins_with(n, :s)", false},
		{"begins_with of two attributes", "begins_with(s, pre)", true},
		{"contains a substring", "contains(s, :w)", true},
		{"contains a part of a binary", "contains(b, :b)", true},
		{"contains a member", "contains(ss, :x)", true},
		{"contains a number member", "contains(ns, :2)", true},
		{"contains no such member", "contains(ss, :w)", false},
		{"contains an element", "contains(l, :a)", true},
		{"contains of a literal", "contains(:ss, l[9])", false},
		{"size of a string", "size(s) = :11", true},
		{"size of a list", "size(l) = :3", true},
		{"size of a map", "size(m) = :2", true},
		{"size of a set", "size(ss) >= :2", true},
		{"size of a binary", "size(b) = :3", true},
		{"size of a number is missing", "size(n) = :1", false},
		{"size against another type", "size(s) = :s", false},
		{"attribute_exists", "attribute_exists(m.k)", true},
		{"attribute_exists beyond a list", "attribute_exists(l[5])", false},
		{"attribute_exists through a scalar", "attribute_exists(s.k)", false},
		{"attribute_not_exists", "attribute_not_exists(m.gone)", true},
		{"attribute_type", "attribute_type(s, :S)", true},
		{"attribute_type, another", "attribute_type(s, :N)", false},
		{"attribute_type of a literal", "attribute_type(:l, :L)", true},
		{"deep path", "m.deep[0].z = :1", true},
		{"path into a nested list", "l[2][0] = :2", true},
		{"placeholder name", "#status <> :s", true},
		{"a dot in a placeholder is no path", "begins_with(#dot, :S) OR attribute_exists(#dot)", true},
		{"not", "NOT n = :7", false},
		{"not not", "not not n = :7", true},
		{"and before or", "n = :7 OR n = :1 AND begins_with(s, :w)", true},
		{"parentheses first", "(n = :7 OR n = :1) AND begins_with(s, :w)", false},
		{"not before and", "NOT n = :1 AND n = :10", false},
		{"keywords in any case", "n = :7 aNd nOt n = :1 oR bl = :f", true},
		{"without spaces", "n=:7 and NOT(attribute_not_exists(s))", true},
	}
	it := item(t, stored)
	for _, c := range cases {
		p := used(t, c.src)
		cond, err := p.Condition("ConditionExpression", c.src)
		if err == nil {
			err = p.Finish()
		}
		if err != nil {
			t.Errorf("%s: %q: %v", c.name, c.src, err)
			continue
		}
		if got := cond.Eval(it); got != c.want {
			t.Errorf("%s: %q is %v, want %v", c.name, c.src, got, c.want)
		}
	}
}

func TestConditionOfAnItemThatDoesNotExist(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{"attribute_not_exists(pk)": true, "attribute_exists(pk)": false, "a <> :1": true, "a = :1": false} {
		cond, err := used(t, src).Condition("ConditionExpression", src)
		if err != nil || cond.Eval(nil) != want {
			t.Errorf("%q is not %v (%v)", src, want, err)
		}
	}
}

func TestConditionsThatAreRefused(t *testing.T) {
	t.Parallel()
	hundred := strings.TrimSuffix(strings.Repeat(":1, ", 101), ", ")
	cases := []struct{ name, src, mention string }{
		{"empty", "", "empty"},
		{"only spaces", "  ", "empty"},
		{"a value is no condition", "a", "Syntax error"},
		{"unfinished", "a =", "Syntax error"},
		{"too much", "a = :1 b", "Syntax error"},
		{"unbalanced", "(a = :1", "Syntax error"},
		{"unknown character", "a = :1 ! b", "Syntax error"},
		{"name with a leading underscore", "_a = :1", "Syntax error"},
		{"name with a leading digit", "1a = :1", "Syntax error"},
		{"lonely #", "# = :1", "Syntax error"},
		{"index that is no number", "a[:1] = :1", "Syntax error"},
		{"index that is too large", "a[99999999999] = :1", "index"},
		{"empty IN", "a IN ()", "Syntax error"},
		{"101 operands of IN", "a IN (" + hundred + ")", "IN"},
		{"reserved word", "status = :s", "reserved keyword: status"},
		{"reserved word in any case", "sTaTuS = :s", "reserved keyword: sTaTuS"},
		{"reserved word in depth", "a.name = :s", "reserved keyword: name"},
		{"undefined name", "#nope = :1", "#nope"},
		{"undefined value", "a = :nope", ":nope"},
		{"unknown function", "dog(a) = :1", "Invalid function name; function: dog"},
		{"functions are case-sensitive", "ATTRIBUTE_EXISTS(a)", "Invalid function name"},
		{"function of updates", "if_not_exists(a, :1) = :1", "not allowed"},
		{"size is no condition", "size(a)", "Syntax error"},
		{"attribute_exists is no value", "attribute_exists(a) = :1", "Syntax error"},
		{"attribute_exists in an operand", "a = attribute_exists(b)", "not allowed"},
		{"attribute_exists needs a path", "attribute_exists(:1)", "path"},
		{"too many operands", "size(a, b) = :1", "number of operands: 2"},
		{"too few operands", "begins_with(a)", "number of operands: 1"},
		{"begins_with a number", "begins_with(a, :1)", "operand type: N"},
		{"attribute_type needs a literal", "attribute_type(a, b)", "attribute_type"},
		{"attribute_type of an unknown type", "attribute_type(a, :DOG)", "DOG"},
		{"attribute_type of another type", "attribute_type(a, :1)", "operand type: N"},
		{"order of a list", "a < :l", "operand type: L"},
		{"order of a boolean", ":t >= a", "operand type: BOOL"},
		{"between lists", "a BETWEEN :l AND :l", "operand type: L"},
		{"between two types", "a BETWEEN :1 AND :s", "same data type"},
		{"between reversed bounds", "a BETWEEN :2 AND :1", "upper bound"},
		{"size of a number", "size(:1) = :1", "operand type: N"},
		{"compared with itself", "a = a", "distinct"},
		{"contains itself", "contains(a, a)", "distinct"},
		{"redundant parentheses", "((a = :1))", "redundant parentheses"},
		{"301 operators", "NOT " + strings.Repeat("NOT ", 299) + "a = :1", "operators"},
		{"33 elements of a path", "a" + strings.Repeat("[0]", 32) + " = :1", "nesting"},
		{"4,097 bytes", "a = :1" + strings.Repeat(" ", 4091), "4096"},
	}
	for _, c := range cases {
		_, err := used(t, c.src).Condition("ConditionExpression", c.src)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.mention) || !strings.HasPrefix(err.Error(), "Invalid ConditionExpression: ") {
			t.Errorf("%s: %q gives %v, want an *Error that mentions %q", c.name, c.src, err, c.mention)
		}
	}
}

func TestLimitsOfConditionsAreInclusive(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"300 operators":         strings.Repeat("NOT ", 299) + "a = :1",
		"100 operands of IN":    "a IN (" + strings.TrimSuffix(strings.Repeat(":1, ", 100), ", ") + ")",
		"32 elements of a path": "a" + strings.Repeat("[0]", 31) + " = :1",
		"4,096 bytes":           "a = :1" + strings.Repeat(" ", 4090),
	} {
		if _, err := used(t, src).Condition("ConditionExpression", src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlaceholdersMustBeWellFormedAndUsed(t *testing.T) {
	t.Parallel()
	one := attr.NumberFromInt(1)
	long := strings.Repeat("x", 254)
	cases := []struct {
		name    string
		names   map[string]string
		values  map[string]attr.Value
		src     string // empty: no expression
		mention string // empty: accepted
	}{
		{"used", map[string]string{"#a": "a"}, map[string]attr.Value{":v": one}, "#a = :v", ""},
		{"prefixes of each other", map[string]string{"#a": "a", "#ab": "b"}, map[string]attr.Value{":v": one, ":v2": one}, "#a = :v AND #ab = :v2", ""},
		{"255 bytes", map[string]string{"#" + long: "a"}, map[string]attr.Value{":v": one}, "#" + long + " = :v", ""},
		{"unused name", map[string]string{"#a": "a", "#b": "b"}, map[string]attr.Value{":v": one}, "#a = :v", "unused in expressions: keys: {#b}"},
		{"unused values", nil, map[string]attr.Value{":v": one, ":y": one, ":x": one}, "a = :v", "unused in expressions: keys: {:x, :y}"},
		{"names without an expression", map[string]string{"#a": "a"}, nil, "", "only be specified when using expressions"},
		{"values without an expression", nil, map[string]attr.Value{":v": one}, "", "only be specified when using expressions"},
		{"no names", map[string]string{}, nil, "attribute_exists(a)", "ExpressionAttributeNames must not be empty"},
		{"no values", nil, map[string]attr.Value{}, "attribute_exists(a)", "ExpressionAttributeValues must not be empty"},
		{"name without #", map[string]string{"a": "a"}, nil, "attribute_exists(a)", "invalid key"},
		{"value without :", nil, map[string]attr.Value{"v": one}, "attribute_exists(a)", "invalid key"},
		{"name with a dash", map[string]string{"#a-b": "a"}, nil, "attribute_exists(a)", "invalid key"},
		{"only #", map[string]string{"#": "a"}, nil, "attribute_exists(a)", "invalid key"},
		{"256 bytes", map[string]string{"#x" + long: "a"}, nil, "attribute_exists(a)", "invalid key"},
		{"name of nothing", map[string]string{"#a": ""}, nil, "attribute_exists(#a)", "invalid value"},
		{"over 2 MB of values", nil, map[string]attr.Value{":v": attr.String(strings.Repeat("x", 2<<20))}, "a = :v", "2097152"},
	}
	for _, c := range cases {
		err := func() error {
			p, err := NewParams(c.names, c.values)
			if err != nil {
				return err
			}
			if c.src != "" {
				if _, err := p.Condition("ConditionExpression", c.src); err != nil {
					return err
				}
			}
			return p.Finish()
		}()
		if c.mention == "" && err != nil || c.mention != "" && (err == nil || !strings.Contains(err.Error(), c.mention)) {
			t.Errorf("%s: error %v, want mention of %q", c.name, err, c.mention)
		}
	}
}

func TestKeyConditions(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, src, want string }{ // an empty want is a refusal
		{"hash only", "pk = :s", "pk = S"},
		{"range", "pk = :s AND sk > :1", "pk = S, sk > N"},
		{"range first", "sk <= :1 AND pk = :s", "sk <= N, pk = S"},
		{"between", "pk = :s AND sk BETWEEN :1 AND :2", "pk = S, sk BETWEEN N N"},
		{"begins_with", "pk = :s AND begins_with(sk, :w)", "pk = S, sk begins_with S"},
		{"parentheses", "(pk = :s) AND (sk >= :1)", "pk = S, sk >= N"},
		{"or", "pk = :s OR sk = :1", ""},
		{"not", "NOT pk = :s", ""},
		{"unequal", "pk <> :s", ""},
		{"in", "pk IN (:s)", ""},
		{"contains", "pk = :s AND contains(sk, :w)", ""},
		{"nested", "pk = :s AND sk.a = :1", ""},
		{"two attributes", "pk = sk", ""},
		{"literal on the left", ":s = pk", ""},
		{"size", "pk = :s AND size(sk) = :1", ""},
		{"same key twice", "sk > :1 AND sk < :2", ""},
		{"three terms", "pk = :s AND sk > :1 AND x = :2", ""},
	}
	for _, c := range cases {
		terms, err := used(t, c.src).KeyCondition(c.src)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %q is accepted", c.name, c.src)
			}
			continue
		}
		var got []string
		for _, term := range terms {
			s := fmt.Sprintf("%s %s %s", term.Attribute, term.Operator, term.Value.Kind())
			if term.High != nil {
				s += " " + string(term.High.Kind())
			}
			got = append(got, s)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q is %q, %v, want %q", c.name, c.src, got, err, c.want)
		}
	}
}

func TestReservedWords(t *testing.T) {
	t.Parallel()
	if got := len(reserved()); got != 573 {
		t.Errorf("%d reserved words, the developer guide lists 573", got)
	}
	for _, w := range []string{"ABORT", "zone", "Status", "TTL", "name", "size", "BETWEEN", "flattern"} {
		if !Reserved(w) {
			t.Errorf("%s is not reserved", w)
		}
	}
	for _, w := range []string{"pk", "sk", "job", "oth", "version", "flatten"} {
		if Reserved(w) {
			t.Errorf("%s is reserved", w)
		}
	}
}
