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
			s.Functions, s.Machines = []Function{web("a", route("GET", "/chat/{entry}"), route("GET", "/chat/list"))}, nil
		}, ""},
		{"children below one variable", func(s *Topology) {
			s.Functions, s.Machines = []Function{web("a", route("GET", "/chat/{entry}/{proxy+}"), route("GET", "/chat/{entry}/events/{job}"))}, nil
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
		{"what a machine invokes has no other trigger", func(s *Topology) { s.Machines[0].Invokes = []string{"sweeper"} }, "function sweeper: needs exactly one"},
		{"two machines are two triggers", func(s *Topology) {
			m := s.Machines[0]
			m.Name = "other"
			s.Machines = append(s.Machines, m)
		}, "function approvalwait: needs exactly one"},
		{"one machine of a name", func(s *Topology) { s.Machines = append(s.Machines, s.Machines[0]) }, "machine approvals is declared twice"},
		{"a machine invokes functions that exist", func(s *Topology) { s.Machines[0].Invokes = []string{"nobody"} }, "invokes the unknown function nobody"},
		{"a machine invokes something", func(s *Topology) { s.Machines[0].Invokes = nil }, "invokes no function"},
		{"a definition is a file of the folder", func(s *Topology) { s.Machines[0].Definition = "../main.go" }, "is not the name of a definition"},
		{"who is invoked does not start", func(s *Topology) {
			f := &s.Functions[len(s.Functions)-1]
			f.Grants = append(f.Grants, Grant{OnMachine, MachineApprovals, []string{"states:StartExecution"}})
			s.Machines[0].Invokes = []string{f.Name}
		}, "both starts it and is invoked by it"},
		{"grants name existing machines", func(s *Topology) {
			s.Functions[0].Grants = append(s.Functions[0].Grants, Grant{OnMachine, "nope", []string{"states:StartExecution"}})
		}, "unknown machine nope"},
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
