package conformance_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// difference is one way in which our hub differs on purpose from the recordings.
type difference struct {
	recordings string // ids, separated by spaces
	what       string // as the replay words it; alternatives are separated by " | "
	why        string // the decision or the section of the specification that says so
}

// checkDeliberate fails for what differs outside the table, and for lines that nothing needs any more: each id and each wording of
// a line must meet a difference. Both may hold * as a wildcard.
func checkDeliberate(t *testing.T, diffs map[string][]string) {
	t.Helper()
	used := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(diffs)) {
		for _, what := range diffs[id] {
			if !allowed(id, what, used) {
				t.Errorf("%s: %s", id, what)
			}
		}
	}
	for i, d := range deliberate {
		for _, need := range append(strings.Fields(d.recordings), strings.Split(d.what, " | ")...) {
			if !used[fmt.Sprint(i, need)] {
				t.Errorf("nothing needs %q any more in the line %s: %s", need, d.recordings, d.what)
			}
		}
	}
}

func allowed(id, what string, used map[string]bool) bool {
	for i, d := range deliberate {
		for _, pattern := range strings.Fields(d.recordings) {
			for _, wording := range strings.Split(d.what, " | ") {
				if like(pattern, id) && like(wording, what) {
					used[fmt.Sprint(i, pattern)], used[fmt.Sprint(i, wording)] = true, true
					return true
				}
			}
		}
	}
	return false
}

// like matches text with * as the only wildcard.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$").MatchString(text)
}
