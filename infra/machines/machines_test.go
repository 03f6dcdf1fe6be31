package machines_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"bailing/infra/machines"
	"bailing/shared/topology"
)

func arn(function string) string {
	return "arn:aws:lambda:eu-central-1:123456789012:function:" + function
}

func TestDefinitionsAreFilledIn(t *testing.T) {
	t.Parallel()
	for _, m := range topology.System().Machines {
		text, err := machines.Definition(m, arn)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(text)) || strings.Contains(text, "${") {
			t.Errorf("%s: %s", m.Name, text)
		}
		for _, f := range m.Invokes {
			if !strings.Contains(text, `"`+arn(f)+`"`) {
				t.Errorf("%s does not invoke %s", m.Name, f)
			}
		}
	}
}

// A file that no machine has would be deployed by nobody.
func TestEveryDefinitionHasItsMachine(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".asl.json") && !slices.ContainsFunc(topology.System().Machines, func(m topology.StateMachine) bool { return m.Definition == f.Name() }) {
			t.Errorf("%s is of no machine", f.Name())
		}
	}
}

func TestDefinitionAndTopologyNameTheSameFunctions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule string
		mend func(*topology.StateMachine)
		says string
	}{
		{"a function that the topology does not name", func(m *topology.StateMachine) { m.Invokes = []string{"other"} }, `names ["approvalwait"`},
		{"a function that the definition does not name", func(m *topology.StateMachine) { m.Invokes = append(m.Invokes, "other") }, "does not name other"},
		{"a file that does not exist", func(m *topology.StateMachine) { m.Definition = "none.asl.json" }, "none.asl.json"},
	} {
		m := topology.System().Machines[0]
		tc.mend(&m)
		if _, err := machines.Definition(m, arn); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want one that says %q", tc.rule, err, tc.says)
		}
	}
}

// document is what the tests below look at.
type document struct {
	StartAt string
	States  map[string]struct {
		Type, Resource, Next string
		Parameters           struct{ Payload map[string]any }
		TimeoutSeconds       int
		TimeoutSecondsPath   string
		Retry                []struct {
			ErrorEquals []string
			MaxAttempts int
		}
		Catch []struct {
			ErrorEquals []string
			Next        string
		}
	}
}

func approvals(t *testing.T) (d document) {
	t.Helper()
	text, err := machines.Definition(topology.System().Machines[0], arn)
	if err == nil {
		err = json.Unmarshal([]byte(text), &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A task without a bound would hang for as long as an execution lives. The time-out must outlast the function's own, or it would
// end attempts that still work; the wait has the ticket's deadline.
func TestEveryTaskIsBoundedAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, s := range approvals(t).States {
		if s.Type != "Task" {
			continue
		}
		if waits := strings.HasSuffix(s.Resource, ".waitForTaskToken"); waits != (s.TimeoutSecondsPath != "") || !waits && float64(s.TimeoutSeconds) <= topology.WaitTimeout.Seconds() {
			t.Errorf("%s: time-out %d s, path %q", name, s.TimeoutSeconds, s.TimeoutSecondsPath)
		}
		if len(s.Retry) != 1 || s.Retry[0].MaxAttempts < 3 {
			t.Errorf("%s: %+v", name, s.Retry)
		}
	}
}

// The deadline is no failure of the wait: a retry of it would give the ticket its time once more.
func TestTheDeadlineIsNotRetried(t *testing.T) {
	t.Parallel()
	hold := approvals(t).States["Hold"]
	if got := hold.Retry[0].ErrorEquals; !slices.Equal(got, []string{"States.TaskFailed"}) {
		t.Errorf("a wait is tried again after %q", got)
	}
	if c := hold.Catch[0]; !slices.Equal(c.ErrorEquals, []string{"States.Timeout"}) || c.Next != "Expire" {
		t.Errorf("%+v", c)
	}
	if c := hold.Catch[1]; !slices.Equal(c.ErrorEquals, []string{"States.ALL"}) || c.Next != "Remaining" {
		t.Errorf("%+v: what has used up its tries must ask for the time left before it waits again", c)
	}
}

// A business that cannot be told must not keep its ticket from waiting and ending.
func TestANotificationThatFailsIsNotTheEnd(t *testing.T) {
	t.Parallel()
	d := approvals(t)
	if notify := d.States[d.StartAt]; notify.Parameters.Payload["action"] != "notify" || len(notify.Catch) != 1 || notify.Catch[0].ErrorEquals[0] != "States.ALL" || notify.Catch[0].Next != notify.Next {
		t.Errorf("%+v", notify)
	}
}
