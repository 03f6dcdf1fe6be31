package topology

import (
	"strings"
	"testing"
	"time"
)

func TestTheSystemKeepsItsRules(t *testing.T) {
	t.Parallel()
	if err := Validate(System()); err != nil {
		t.Fatal(err)
	}
}

func TestValidateNamesEachBrokenRule(t *testing.T) {
	t.Parallel()
	route := func(method, path string) Route {
		return Route{Method: method, Path: path, Handler: "H", Auth: Public, Summary: "s"}
	}
	web := func(name string, rs ...Route) Function {
		return Function{Name: name, Routes: rs, MemoryMB: 128, Timeout: time.Second}
	}
	cases := []struct {
		name string
		mend func(*Topology)
		want string
	}{
		{"one variable child per level", func(s *Topology) {
			s.Functions = []Function{web("a", route("GET", "/chat/{entry}"), route("GET", "/chat/{proxy+}"))}
		}, "conflicts with {entry}"},
		{"a static sibling of a variable child is fine", func(s *Topology) {
			s.Functions = []Function{web("a", route("GET", "/chat/{entry}"), route("GET", "/chat/list"))}
		}, ""},
		{"children below one variable", func(s *Topology) {
			s.Functions = []Function{web("a", route("GET", "/chat/{entry}/{proxy+}"), route("GET", "/chat/{entry}/events/{job}"))}
		}, ""},
		{"a greedy variable ends its path", func(s *Topology) {
			s.Functions = []Function{web("a", route("GET", "/x/{proxy+}/y"))}
		}, "must be the last segment"},
		{"one function per method and path", func(s *Topology) {
			s.Functions = []Function{web("a", route("GET", "/x")), web("b", route("GET", "/x"))}
		}, "served by a already"},
		{"six timeouts of visibility", func(s *Topology) {
			s.Queues[0].Visibility = 6*WorkerTimeout - time.Second
		}, "less than 6 times"},
		{"buffered routes end at the gateway's timeout", func(s *Topology) {
			s.Functions[0].Timeout = GatewayTimeout + time.Second
		}, "longer than the gateway waits"},
		{"grants name existing resources", func(s *Topology) {
			s.Functions[0].Grants = append(s.Functions[0].Grants, Grant{OnTable, "nope", []string{"dynamodb:GetItem"}})
		}, "unknown table nope"},
		{"grants are exact", func(s *Topology) {
			s.Functions[0].Grants = []Grant{{OnTable, TableJobs, []string{"dynamodb:*"}}}
		}, "wildcard"},
		{"a function has one trigger", func(s *Topology) { s.Functions[0].Every = time.Minute }, "exactly one"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := System()
			tc.mend(&s)
			err := Validate(s)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("unexpected: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("err = %v, want one that says %q", err, tc.want)
			}
		})
	}
}
