package expr

import (
	"errors"
	"testing"

	"bailing/shared/awslocal/dynamodb/attr"
)

// FuzzParse looks for panics, for errors of another type, and for evaluation that changes its input.
func FuzzParse(f *testing.F) {
	for _, src := range []string{
		"n = :1 AND (NOT size(s) > :2 OR begins_with(s, :s))", "n BETWEEN :1 AND :2", "n IN (:1, :2)", "attribute_type(m.k, :S)",
		"SET n = if_not_exists(n, :0) + :1, l[3] = :s REMOVE m.z, l[0] ADD x :1 DELETE ss :ss", "SET l = list_append(l, :l)",
		"m.z, l[2], #status", "((a = :1))", "SET a.b = :1, a[0] = :2", "a[99999999999999999999]", "#", ":", "a..b", "é = :1",
	} {
		f.Add(src)
	}
	it := item(f, before)
	want := show(it)
	f.Fuzz(func(t *testing.T, src string) {
		parse := func() *Params {
			p, err := NewParams(names, item(t, values))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		condition, err := parse().Condition("ConditionExpression", src)
		typed(t, src, err)
		if err == nil {
			condition.Eval(it)
			condition.Eval(nil)
		}
		_, err = parse().KeyCondition(src)
		typed(t, src, err)
		projection, err := parse().Projection(src)
		typed(t, src, err)
		if err == nil {
			projection.Apply(it)
		}
		update, err := parse().Update(src)
		typed(t, src, err)
		if err == nil {
			_, err = update.Apply(it)
			typed(t, src, err)
			_, err = update.Apply(nil)
			typed(t, src, err)
		}
		if show(it) != want {
			t.Errorf("%q changed the item to %s", src, show(it))
		}
	})
}

func typed(t *testing.T, src string, err error) {
	t.Helper()
	var e *Error
	var v *attr.Error
	if err != nil && !errors.As(err, &e) && !errors.As(err, &v) {
		t.Errorf("%q: untyped error %v", src, err)
	}
}
