package audience_test

import (
	"fmt"
	"strings"
	"testing"

	"bailing/shared/audience"
	"bailing/shared/canonical"
)

// The largest input against routes with as many keywords as a policy may have, none of which is there.
func BenchmarkDecide(b *testing.B) {
	var routes []audience.Route
	for i := range 20 {
		p := &audience.Policy{}
		for k := range audience.MaxEntries {
			p.Keywords = append(p.Keywords, fmt.Sprintf("order-%d-%d", i, k))
		}
		routes = append(routes, audience.Route{Key: fmt.Sprint("route", i), Enabled: true, Allowed: true, Policy: p})
	}
	input := strings.Repeat("where is my order? ", 100_000/19)
	b.SetBytes(int64(len(input)))
	for b.Loop() {
		audience.Decide(routes, clerk, audience.SearchText(input, canonical.Value{}))
	}
}
