package sfn_test

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever a definition uses beyond the states and fields of this stand-in is refused when it is created, by its name and place.
func TestDefinitionsThatAreRefused(t *testing.T) {
	t.Parallel()
	const invoke = `"Type":"Task","Resource":"arn:aws:states:::lambda:invoke"`
	states := func(states string) string { return `{"StartAt":"A","States":{` + states + `}}` }
	retry := func(r string) string { return task(`,"Retry":[` + r + `]`) }
	catch := func(c string) string { return task(`,"Catch":[` + c + `]`) }
	payload := func(p string) string {
		return strings.Replace(task(""), `{"action":"a","ticket.$":"$.ticket"}`, p, 1)
	}
	for _, tc := range []struct{ rule, definition, says string }{
		{"no JSON", `{`, "is not a JSON object"},
		{"a list", `[]`, "is not a JSON object"},
		{"no states", `{"StartAt":"A"}`, "/States/ is not a JSON object"},
		{"an execution's time-out", `{"TimeoutSeconds":1,"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, "/TimeoutSeconds is not implemented"},
		{"JSONata", `{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, "/QueryLanguage is not implemented"},
		{"a version", `{"Version":"1.0","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, "/Version is not implemented"},
		{"a start that is no state", `{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}`, `/StartAt leads to "B"`},
		{"a state that nothing leads to", states(`"A":{"Type":"Succeed"},"B":{"Type":"Succeed"}`), "/States/B is not reachable"},
		{"a state without a type", states(`"A":{}`), `/States/A/Type ""`},
		{"a wait", states(`"A":{"Type":"Wait","Seconds":1,"Next":"A"}`), `/States/A/Type "Wait"`},
		{"a choice", states(`"A":{"Type":"Choice","Choices":[]}`), `"Choice"`},
		{"a pass", states(`"A":{"Type":"Pass"}`), `"Pass"`},
		{"a fail", states(`"A":{"Type":"Fail"}`), `"Fail"`},
		{"a map", states(`"A":{"Type":"Map"}`), `"Map"`},
		{"a parallel", states(`"A":{"Type":"Parallel"}`), `"Parallel"`},
		{"a success that goes on", states(`"A":{"Type":"Succeed","Next":"A"}`), "/States/A/Next is not for a state of type Succeed"},
		{"a name of 81", strings.ReplaceAll(states(`"A":{"Type":"Succeed"}`), `"A"`, `"`+strings.Repeat("a", 81)+`"`), "80 characters"},
		{"another integration", strings.Replace(task(""), "lambda:invoke", "sqs:sendMessage", 1), "sqs:sendMessage"},
		{"a function as the resource", strings.Replace(task(""), "arn:aws:states:::lambda:invoke", "arn:aws:lambda:us-east-1:000000000000:function:wait", 1), "/States/A/Resource"},
		{"a function by its name", strings.Replace(task(""), "arn:aws:lambda:us-east-1:000000000000:function:wait", "wait", 1), `"wait" is not the ARN`},
		{"an alias of a function", strings.Replace(task(""), "function:wait", "function:wait:live", 1), "is not the ARN"},
		{"a placeholder that nobody filled", strings.Replace(task(""), "arn:aws:lambda:us-east-1:000000000000:function:wait", "${wait}", 1), "is not the ARN"},
		{"an invocation type", strings.Replace(task(""), `"Payload"`, `"InvocationType":"Event","Payload"`, 1), "/Parameters/InvocationType is not implemented"},
		{"no parameters", states(`"A":{` + invoke + `,"Next":"Z"},"Z":{"Type":"Succeed"}`), "/States/A/Parameters is missing"},
		{"no payload", strings.Replace(task(""), `,"Payload":{"action":"a","ticket.$":"$.ticket"}`, "", 1), "/Payload is missing"},
		{"no next", strings.Replace(task(""), `,"Next":"Z"`, "", 1), "/States/A/Next is missing"},
		{"an end", task(`,"End":true`), "/States/A/End is not implemented"},
		{"a next that is no state", strings.Replace(task(""), `"Next":"Z"`, `"Next":"Y"`, 1), `/States/A/Next leads to "Y"`},
		{"an input path", task(`,"InputPath":"$.a"`), "/InputPath is not implemented"},
		{"an output path", task(`,"OutputPath":"$.a"`), "/OutputPath is not implemented"},
		{"credentials", task(`,"Credentials":{}`), "/Credentials is not implemented"},
		{"a heartbeat", token(`,"HeartbeatSeconds":5`), "/HeartbeatSeconds is not implemented"},
		{"a time-out of zero", task(`,"TimeoutSeconds":0`), "/TimeoutSeconds is not a whole number from 1"},
		{"a time-out of half a second", task(`,"TimeoutSeconds":0.5`), "/TimeoutSeconds is not a whole number"},
		{"a time-out past the limit", task(`,"TimeoutSeconds":100000000`), "/TimeoutSeconds is not a whole number"},
		{"two time-outs", task(`,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.a"`), "exclude each other"},
		{"a time-out by an expression", task(`,"TimeoutSecondsPath":"$.a[0]"`), `"$.a[0]" is not implemented`},
		{"a result path with a wildcard", task(`,"ResultPath":"$.a.*"`), "/ResultPath"},
		{"a result path into the context", task(`,"ResultPath":"$$.a"`), "/ResultPath"},
		{"a token that nobody waits for", payload(`{"t.$":"$$.Task.Token"}`), "if, and only if, the task waits for it"},
		{"a wait without a token", strings.Replace(task(""), "lambda:invoke", "lambda:invoke.waitForTaskToken", 1), "if, and only if, the task waits for it"},
		{"a token in a selector", token(`,"ResultSelector":{"t.$":"$$.Task.Token"}`), "has no task token"},
		{"another part of the context", payload(`{"t.$":"$$.Execution.Name"}`), `"$$.Execution.Name" is not implemented`},
		{"an intrinsic function", payload(`{"t.$":"States.UUID()"}`), "is not implemented"},
		{"a path that is a number", payload(`{"t.$":7}`), "is not a text"},
		{"a list in a payload", payload(`{"t":[1]}`), "a list in a template"},
		{"a member twice", payload(`{"t":1,"t.$":"$.a"}`), "with and without a path"},
		{"an empty list of retriers", task(`,"Retry":[]`), "is not a list with an entry"},
		{"a retrier without errors", retry(`{"MaxAttempts":1}`), "/Retry/0/ErrorEquals is missing"},
		{"a retrier with no error", retry(`{"ErrorEquals":[]}`), "is not a list of names"},
		{"an error that never comes", retry(`{"ErrorEquals":["States.Permissions"]}`), `"States.Permissions" is not implemented`},
		{"all beside others", retry(`{"ErrorEquals":["States.ALL","x"]}`), "holds States.ALL beside others"},
		{"all before others", retry(`{"ErrorEquals":["States.ALL"]},{"ErrorEquals":["x"]}`), "/Retry/0 matches States.ALL and is not the last"},
		{"jitter", retry(`{"ErrorEquals":["x"],"JitterStrategy":"FULL"}`), "/JitterStrategy is not implemented"},
		{"an interval of zero", retry(`{"ErrorEquals":["x"],"IntervalSeconds":0}`), "/IntervalSeconds"},
		{"negative attempts", retry(`{"ErrorEquals":["x"],"MaxAttempts":-1}`), "/MaxAttempts"},
		{"a rate that shrinks", retry(`{"ErrorEquals":["x"],"BackoffRate":0.9}`), "/BackoffRate"},
		{"a longest pause that is none", retry(`{"ErrorEquals":["x"],"IntervalSeconds":5,"MaxDelaySeconds":5}`), "is not larger than IntervalSeconds"},
		{"a longest pause past the limit", retry(`{"ErrorEquals":["x"],"MaxDelaySeconds":31622401}`), "/MaxDelaySeconds"},
		{"a catcher without a target", catch(`{"ErrorEquals":["x"]}`), "/Catch/0/Next is missing"},
		{"a catcher that leads nowhere", catch(`{"ErrorEquals":["x"],"Next":"Y"}`), `/States/A/Catch/0/Next leads to "Y"`},
		{"a catcher of all before others", catch(`{"ErrorEquals":["States.ALL"],"Next":"Z"},{"ErrorEquals":["x"],"Next":"Z"}`), "/Catch/0 matches States.ALL and is not the last"},
		{"a catcher with an output", catch(`{"ErrorEquals":["x"],"Next":"Z","Output":{}}`), "/Output is not implemented"},
		{"more than a definition holds", states(`"A":{"Type":"Succeed","Comment":"` + strings.Repeat("x", 1<<20) + `"}`), "longer than"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			err := setup(t).tryCreate(tc.definition)
			if code(err) != "InvalidDefinition" || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("%v, want InvalidDefinition that says %q", err, tc.says)
			}
		})
	}
}

func TestDefinitionsAtTheirLimits(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 80)
	for rule, definition := range map[string]string{
		"what is deployed":        product(t),
		"a name of 80":            `{"Comment":"c","StartAt":"` + name + `","States":{"` + name + `":{"Type":"Succeed"}}}`,
		"the largest numbers":     task(`,"TimeoutSeconds":99999999,"Retry":[{"ErrorEquals":["x"],"IntervalSeconds":31622399,"MaxDelaySeconds":31622400,"MaxAttempts":99999999,"BackoffRate":1}]`),
		"the longest definition":  `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}` + strings.Repeat(" ", 1<<20-49),
		"an empty payload":        strings.Replace(task(""), `{"action":"a","ticket.$":"$.ticket"}`, `{}`, 1),
		"a state that is its own": strings.Replace(task(`,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"A"}]`), "{", `{"Comment":"again",`, 1),
	} {
		if err := setup(t).tryCreate(definition); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
