package account

import (
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// body reads the members of a closed JSON object; a member that is null counts as absent. The first broken rule is kept.
type body struct {
	value canonical.Value
	used  map[string]bool
	err   error
}

func readBody(v canonical.Value) *body {
	b := &body{value: v, used: map[string]bool{}}
	if v.Kind() != canonical.Object {
		b.err = apierr.New(apierr.Invalid, "the body must be a JSON object")
	}
	return b
}

func (b *body) fail(name, rule string) {
	if b.err == nil {
		b.err = apierr.New(apierr.Invalid, name+" "+rule)
	}
}

func (b *body) get(name string) (canonical.Value, bool) {
	b.used[name] = true
	if b.value.Kind() != canonical.Object {
		return canonical.Value{}, false
	}
	v, ok := b.value.Get(name)
	return v, ok && v.Kind() != canonical.Null
}

// text is an optional string.
func (b *body) text(name string) string {
	v, ok := b.get(name)
	if ok && v.Kind() != canonical.String {
		b.fail(name, "must be a string")
		return ""
	}
	if !ok {
		return ""
	}
	return v.Text()
}

// required is a string that is not empty.
func (b *body) required(name string) string {
	s := b.text(name)
	if s == "" {
		b.fail(name, "is required")
	}
	return s
}

// label is an optional string of at most max characters without control characters.
func (b *body) label(name string, max int) string {
	s := b.text(name)
	switch {
	case textlimit.Len(s) > max:
		b.fail(name, "is too long")
	case textlimit.Strict(s, max) != nil:
		b.fail(name, "must not contain control characters")
	}
	return s
}

func (b *body) boolean(name string, def bool) bool {
	v, ok := b.get(name)
	if !ok {
		return def
	}
	if v.Kind() != canonical.Bool {
		b.fail(name, "must be true or false")
	}
	return v.Bool()
}

// readOnly accepts members that lists show, so that an entry of a list can be sent back.
func (b *body) readOnly(names ...string) {
	for _, name := range names {
		b.used[name] = true
	}
}

// done is the first broken rule; a member that no rule has read breaks one.
func (b *body) done() error {
	if b.err != nil {
		return b.err
	}
	for name := range b.value.Members() {
		if !b.used[name] {
			return apierr.New(apierr.Invalid, textlimit.Cut(name, 64)+" is not a known member")
		}
	}
	return nil
}
