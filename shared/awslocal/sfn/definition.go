package sfn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Limits of a definition.
const (
	maxDefinition = 1 << 20 // characters
	maxStateName  = 80
	maxSeconds    = 99_999_999
	maxDelay      = 31_622_400 // seconds of MaxDelaySeconds
	maxAttempts   = 99_999_999
)

// Resources of a task, the only ones.
const (
	resourceInvoke = "arn:aws:states:::lambda:invoke"
	resourceToken  = "arn:aws:states:::lambda:invoke.waitForTaskToken"
)

// definition is a machine's program.
type definition struct {
	startAt string
	states  map[string]*state
}

// state is a Task, or Succeed.
type state struct {
	succeed bool

	function       string // ARN
	payload        template
	token          bool // waits for a task token
	timeoutSeconds int  // 0 = none
	timeoutPath    path // nil = none
	selector       template
	result         resultPath
	retry          []retrier
	catch          []catcher
	next           string
}

type retrier struct {
	errors      []string
	interval    int // seconds
	backoff     float64
	maxDelay    int // seconds, 0 = none
	maxAttempts int
}

// delay is the pause before the try after n earlier retries.
func (r retrier) delay(n int) time.Duration {
	seconds := float64(r.interval) * math.Pow(r.backoff, float64(n))
	if r.maxDelay > 0 {
		seconds = min(seconds, float64(r.maxDelay))
	}
	// The longest duration is 292 years.
	return time.Duration(min(seconds, float64(maxExecution/time.Second)+1) * float64(time.Second))
}

type catcher struct {
	errors []string
	result resultPath
	next   string
}

// matches reports whether one of names stands for the error.
func matches(names []string, err string) bool {
	if err == errorRuntime || err == errorDataLimit {
		return false // these end an execution, whatever it catches
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name == err || name == errorAll || name == errorTaskFailed && err != errorTimeout
	})
}

// Reserved names of errors.
const (
	errorAll        = "States.ALL"
	errorTaskFailed = "States.TaskFailed"
	errorTimeout    = "States.Timeout"
	errorRuntime    = "States.Runtime"
	errorDataLimit  = "States.DataLimitExceeded"
)

// parser collects what is wrong with a definition.
type parser struct{ problems []string }

func (p *parser) report(at, format string, args ...any) {
	p.problems = append(p.problems, at+" "+fmt.Sprintf(format, args...))
}

// parse reads a definition. Everything that it does not implement is refused by name.
func parse(text string) (*definition, error) {
	p := &parser{}
	if len(text) > maxDefinition {
		p.report("/", "is longer than %d characters", maxDefinition)
	}
	d := &definition{states: map[string]*state{}}
	var states json.RawMessage
	if len(p.problems) == 0 {
		p.object("", []byte(text), map[string]func(at string, v []byte){
			"Comment": p.comment,
			"StartAt": func(at string, v []byte) { d.startAt = p.text(at, v) },
			"States":  func(_ string, v []byte) { states = v },
		})
		for name, v := range p.members("/States", states) {
			if len(name) > maxStateName || name == "" {
				p.report("/States/"+name, "has a name that is not 1 to %d characters long", maxStateName)
			}
			d.states[name] = p.state("/States/"+name, v)
		}
	}
	if len(p.problems) == 0 {
		p.transitions(d)
	}
	if len(p.problems) > 0 {
		slices.Sort(p.problems)
		return nil, refused("InvalidDefinition", "Invalid State Machine Definition: '%s'", strings.Join(p.problems, ", "))
	}
	return d, nil
}

// transitions checks that every transition has its target, and that every state is one.
func (p *parser) transitions(d *definition) {
	reached := map[string]bool{}
	var visit func(from, name string)
	visit = func(from, name string) {
		s, ok := d.states[name]
		if !ok {
			p.report(from, "leads to %q, which is no state", name)
			return
		}
		if reached[name] {
			return
		}
		reached[name] = true
		if s.succeed {
			return
		}
		visit("/States/"+name+"/Next", s.next)
		for i, c := range s.catch {
			visit(fmt.Sprintf("/States/%s/Catch/%d/Next", name, i), c.next)
		}
	}
	visit("/StartAt", d.startAt)
	for name := range d.states {
		if !reached[name] {
			p.report("/States/"+name, "is not reachable")
		}
	}
}

func (p *parser) state(at string, v []byte) *state {
	s := &state{}
	var kind, resource string
	has := p.object(at, v, map[string]func(at string, v []byte){
		"Type":               func(at string, v []byte) { kind = p.text(at, v) },
		"Comment":            p.comment,
		"Resource":           func(at string, v []byte) { resource = p.text(at, v) },
		"Parameters":         func(at string, v []byte) { p.parameters(at, v, s) },
		"TimeoutSeconds":     func(at string, v []byte) { s.timeoutSeconds = p.number(at, v, 1, maxSeconds) },
		"TimeoutSecondsPath": func(at string, v []byte) { s.timeoutPath = p.path(at, v) },
		"ResultSelector":     func(at string, v []byte) { s.selector = p.template(at, v) },
		"ResultPath":         func(at string, v []byte) { s.result = p.resultPath(at, v) },
		"Retry":              func(at string, v []byte) { s.retry = each(p, at, v, p.retrier) },
		"Catch":              func(at string, v []byte) { s.catch = each(p, at, v, p.catcher) },
		"Next":               func(at string, v []byte) { s.next = p.text(at, v) },
	})
	switch kind {
	case "Succeed":
		s.succeed = true
		for _, name := range has {
			if name != "Type" && name != "Comment" {
				p.report(at+"/"+name, "is not for a state of type Succeed, or not implemented by this stand-in")
			}
		}
		return s
	case "Task":
	default:
		p.report(at+"/Type", "%q is not implemented by this stand-in", kind)
		return s
	}
	s.token = resource == resourceToken
	if resource != resourceToken && resource != resourceInvoke {
		p.report(at+"/Resource", "%q is not implemented by this stand-in", resource)
	}
	for _, name := range []string{"Parameters", "Next"} {
		if !slices.Contains(has, name) {
			p.report(at+"/"+name, "is missing")
		}
	}
	if s.timeoutSeconds > 0 && s.timeoutPath != nil {
		p.report(at+"/TimeoutSecondsPath", "and TimeoutSeconds exclude each other")
	}
	if s.payload.hasToken() != s.token {
		p.report(at+"/Parameters/Payload", "must hold $$.Task.Token if, and only if, the task waits for it")
	}
	if s.selector.hasToken() {
		p.report(at+"/ResultSelector", "has no task token")
	}
	p.lastAll(at+"/Retry", len(s.retry), func(i int) []string { return s.retry[i].errors })
	p.lastAll(at+"/Catch", len(s.catch), func(i int) []string { return s.catch[i].errors })
	return s
}

func (p *parser) parameters(at string, v []byte, s *state) {
	has := p.object(at, v, map[string]func(at string, v []byte){
		"FunctionName": func(at string, v []byte) {
			if s.function = p.text(at, v); functionName(s.function) == "" {
				p.report(at, "%q is not the ARN of a function", s.function)
			}
		},
		"Payload": func(at string, v []byte) { s.payload = p.template(at, v) },
	})
	for _, name := range []string{"FunctionName", "Payload"} {
		if !slices.Contains(has, name) {
			p.report(at+"/"+name, "is missing")
		}
	}
}

// functionName is the name in a function's ARN; "" when it is none, or has a qualifier.
func functionName(arn string) string {
	parts := strings.Split(arn, ":")
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != "lambda" || parts[5] != "function" {
		return ""
	}
	return parts[6]
}

func (p *parser) retrier(at string, v []byte) retrier {
	r := retrier{interval: 1, backoff: 2, maxAttempts: 3}
	has := p.object(at, v, map[string]func(at string, v []byte){
		"Comment":         p.comment,
		"ErrorEquals":     func(at string, v []byte) { r.errors = p.errors(at, v) },
		"IntervalSeconds": func(at string, v []byte) { r.interval = p.number(at, v, 1, maxSeconds) },
		"MaxAttempts":     func(at string, v []byte) { r.maxAttempts = p.number(at, v, 0, maxAttempts) },
		"MaxDelaySeconds": func(at string, v []byte) { r.maxDelay = p.number(at, v, 1, maxDelay) },
		"BackoffRate": func(at string, v []byte) {
			if json.Unmarshal(v, &r.backoff) != nil || r.backoff < 1 || isNull(v) {
				p.report(at, "is not a number of at least 1")
			}
		},
	})
	if !slices.Contains(has, "ErrorEquals") {
		p.report(at+"/ErrorEquals", "is missing")
	}
	if r.maxDelay > 0 && r.maxDelay <= r.interval {
		p.report(at+"/MaxDelaySeconds", "is not larger than IntervalSeconds")
	}
	return r
}

func (p *parser) catcher(at string, v []byte) (c catcher) {
	has := p.object(at, v, map[string]func(at string, v []byte){
		"Comment":     p.comment,
		"ErrorEquals": func(at string, v []byte) { c.errors = p.errors(at, v) },
		"ResultPath":  func(at string, v []byte) { c.result = p.resultPath(at, v) },
		"Next":        func(at string, v []byte) { c.next = p.text(at, v) },
	})
	for _, name := range []string{"ErrorEquals", "Next"} {
		if !slices.Contains(has, name) {
			p.report(at+"/"+name, "is missing")
		}
	}
	return c
}

func (p *parser) errors(at string, v []byte) []string {
	var names []string
	if json.Unmarshal(v, &names) != nil || len(names) == 0 {
		p.report(at, "is not a list of names")
	}
	for _, name := range names {
		switch {
		case name == errorAll && len(names) > 1:
			p.report(at, "holds States.ALL beside others")
		case name == errorAll, name == errorTaskFailed, name == errorTimeout:
		case name == "", strings.HasPrefix(name, "States."):
			p.report(at, "the error %q is not implemented by this stand-in", name)
		}
	}
	return names
}

// lastAll checks that what matches every error is last.
func (p *parser) lastAll(at string, n int, errors func(i int) []string) {
	for i := range n - 1 {
		if slices.Contains(errors(i), errorAll) {
			p.report(fmt.Sprintf("%s/%d", at, i), "matches States.ALL and is not the last")
		}
	}
}

// each reads a list.
func each[T any](p *parser, at string, v []byte, read func(at string, v []byte) T) (out []T) {
	var items []json.RawMessage
	if json.Unmarshal(v, &items) != nil || len(items) == 0 {
		p.report(at, "is not a list with an entry")
	}
	for i, item := range items {
		out = append(out, read(fmt.Sprintf("%s/%d", at, i), item))
	}
	return out
}

// object reads the members of an object, refuses those that it has no reader for, and returns the names that were there.
func (p *parser) object(at string, v []byte, readers map[string]func(at string, v []byte)) (has []string) {
	members := p.members(at, v)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		read, known := readers[name]
		if !known {
			p.report(at+"/"+name, "is not implemented by this stand-in")
			continue
		}
		has = append(has, name)
		read(at+"/"+name, members[name])
	}
	return has
}

func (p *parser) members(at string, v []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(v, &members); err != nil || members == nil {
		p.report(at+"/", "is not a JSON object")
	}
	return members
}

func (p *parser) text(at string, v []byte) (s string) {
	if json.Unmarshal(v, &s) != nil || s == "" {
		p.report(at, "is not a text")
	}
	return s
}

func (p *parser) comment(at string, v []byte) { p.text(at, v) }

func (p *parser) number(at string, v []byte, low, high int) (n int) {
	if json.Unmarshal(v, &n) != nil || isNull(v) || n < low || n > high {
		p.report(at, "is not a whole number from %d to %d", low, high)
	}
	return n
}

func isNull(v []byte) bool { return bytes.Equal(bytes.TrimSpace(v), []byte("null")) }
