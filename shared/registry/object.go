package registry

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// maxCount bounds counters and limits that core §10.4 leaves open above.
const maxCount = math.MaxInt32

// object reads the members of one JSON object. The first broken rule is kept and every later read answers with a zero
// value, so a decoder reads straight through and asks once, in done. A member that is null counts as absent: forms send
// null for a field that was left empty.
type object struct {
	path     string // prefix of member names in messages, "" at the top
	members  map[string]canonical.Value
	used     map[string]bool
	err      error
	checkURL func(raw string, max int) error
}

func readObject(v canonical.Value, path string, checkURL func(string, int) error) *object {
	o := &object{path: path, checkURL: checkURL, members: map[string]canonical.Value{}, used: map[string]bool{}}
	if v.Kind() != canonical.Object {
		what := "the body"
		if path != "" {
			what = path
		}
		o.err = apierr.Newf(apierr.Invalid, "%s must be a JSON object", what)
		return o
	}
	for k, m := range v.Members() {
		o.members[k] = m
	}
	return o
}

// child reads the member object name; its names are prefixed with the parent's.
func (o *object) child(name string, v canonical.Value) *object {
	return readObject(v, o.full(name), o.checkURL)
}

func (o *object) full(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// fail keeps the first broken rule. The message begins with the member's full name.
func (o *object) fail(name, format string, args ...any) {
	if o.err == nil {
		o.err = apierr.Newf(apierr.Invalid, o.full(name)+" "+format, args...)
	}
}

// adopt takes over the error of a child.
func (o *object) adopt(err error) {
	if o.err == nil {
		o.err = err
	}
}

// get is the member, and whether it is there and not null.
func (o *object) get(name string) (canonical.Value, bool) {
	o.used[name] = true
	v, ok := o.members[name]
	return v, ok && v.Kind() != canonical.Null
}

// text is an optional string of at most max UTF-16 units (0: no bound of its own) of valid Unicode without control characters;
// "" when absent. JSON can spell half a surrogate pair, which neither the store nor an answer keeps.
func (o *object) text(name string, max int) string {
	v, ok := o.get(name)
	if !ok {
		return ""
	}
	if v.Kind() != canonical.String {
		o.fail(name, "must be a string")
		return ""
	}
	limit := max
	if limit == 0 {
		limit = math.MaxInt
	}
	switch err := textlimit.Strict(v.Text(), limit); {
	case errors.Is(err, textlimit.ErrTooLong):
		o.fail(name, "must have at most %d characters", max)
	case err != nil:
		o.fail(name, "must not contain control characters")
	case !utf8.ValidString(v.Text()):
		o.fail(name, "must be valid Unicode")
	}
	return v.Text()
}

// name is a required text that must not be blank.
func (o *object) name(name string, max int) string {
	s := o.text(name, max)
	if o.err == nil && textlimit.Blank(s) {
		o.fail(name, "is required")
	}
	return s
}

// resourceName is a required name of core §10.4.
func (o *object) resourceName(name string) string {
	s := o.name(name, 0)
	if o.err == nil && !textlimit.ResourceName(s) {
		o.fail(name, "must be 2 to 64 of a-z, 0-9, - and _, and begin with a letter or digit")
	}
	return s
}

func (o *object) oneOf(name, def string, allowed ...string) string {
	s := o.text(name, 0)
	if s == "" {
		s = def
	}
	if o.err == nil && !slices.Contains(allowed, s) {
		o.fail(name, "must be one of %s", strings.Join(allowed, ", "))
	}
	return s
}

func (o *object) boolean(name string, def bool) bool {
	v, ok := o.get(name)
	if !ok {
		return def
	}
	if v.Kind() != canonical.Bool {
		o.fail(name, "must be true or false")
	}
	return v.Bool()
}

// integer is an optional whole number from min to max.
func (o *object) integer(name string, def, min, max int) int {
	n, ok := o.whole(name)
	if !ok {
		return def
	}
	if n < int64(min) || n > int64(max) {
		o.fail(name, "must be a whole number from %d to %d", min, max)
		return def
	}
	return int(n)
}

// clamped is an optional whole number that core §4.1 pulls into its range instead of refusing it.
func (o *object) clamped(name string, def, low, high int) int {
	n, ok := o.whole(name)
	if !ok {
		return def
	}
	return int(min(max(n, int64(low)), int64(high)))
}

// whole is a whole number; a number beyond int64 is the nearest one, which is outside every bound.
func (o *object) whole(name string) (int64, bool) {
	v, ok := o.get(name)
	if !ok {
		return 0, false
	}
	if v.Kind() != canonical.Number || !v.IsInteger() {
		o.fail(name, "must be a whole number")
		return 0, false
	}
	if n, exact := v.Int64(); exact {
		return n, true
	}
	if v.Float() < 0 {
		return math.MinInt64, true
	}
	return math.MaxInt64, true
}

// strings is a list of distinct strings that are not empty and otherwise as text reads them; nil when absent.
func (o *object) strings(name string) []string {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	if v.Kind() != canonical.Array {
		o.fail(name, "must be a list of strings")
		return nil
	}
	out := []string{}
	seen := map[string]bool{}
	for _, e := range v.Elems() {
		s := e.Text()
		switch {
		case e.Kind() != canonical.String || s == "":
			o.fail(name, "must be a list of strings that are not empty")
			return nil
		case seen[s]:
			o.fail(name, "must not repeat an entry")
			return nil
		case textlimit.Strict(s, math.MaxInt) != nil || !utf8.ValidString(s):
			o.fail(name, "must have entries of valid Unicode without control characters")
			return nil
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}

// maxURL is the length of every URL of core §10.4, in characters.
const maxURL = 2048

// url is an optional URL that the hub could call; "" when absent.
func (o *object) url(name string) string {
	s := o.text(name, 0)
	if s == "" || o.err != nil {
		return ""
	}
	if err := o.checkURL(s, maxURL); err != nil {
		o.fail(name, "is not usable: %s", err.Error())
	}
	return s
}

// secret is an optional text that travels in headers or keys a signature; "" when absent.
func (o *object) secret(name string) string {
	s := o.text(name, maxSecret)
	if o.err != nil {
		return ""
	}
	if strings.ContainsAny(s, "\t\r\n") || textlimit.Trim(s) != s {
		o.fail(name, "must be one line without spaces around it")
	}
	return s
}

// refuse reports a member that asks for a feature this version does not execute.
func (o *object) refuse(names ...string) {
	for _, name := range names {
		v, ok := o.get(name)
		if !ok || (v.Kind() == canonical.String && v.Text() == "") {
			continue
		}
		o.fail(name, "is not supported by this version; leave it out")
	}
}

// readOnly accepts members that lists show and the hub computes, so that an entry of a list can be sent back.
func (o *object) readOnly(names ...string) {
	for _, name := range names {
		o.used[name] = true
	}
}

// rest is the members that no rule has read, of an object that core §10.4 leaves open.
func (o *object) rest() []string {
	var names []string
	for name := range o.members {
		if !o.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// open is the first broken rule of an object that core §10.4 leaves open. Members that differ from a known one only in
// case are refused: decoders that ignore case would take the one for the other.
func (o *object) open() error {
	for _, name := range o.rest() {
		for known := range o.used {
			if strings.EqualFold(name, known) {
				o.fail(name, "must be written %s", known)
			}
		}
	}
	return o.err
}

// done is the first broken rule of a closed object: one with members that no rule has read breaks one, too.
func (o *object) done() error {
	if unknown := o.rest(); o.err == nil && len(unknown) > 0 {
		o.fail(unknown[0], "is not a known member")
	}
	return o.err
}
