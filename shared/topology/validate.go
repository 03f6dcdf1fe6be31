package topology

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// visibilityFactor is what AWS asks of a queue that feeds a function: a message must stay hidden through six runs.
const visibilityFactor = 6

// Validate returns every rule that t breaks, joined; nil when there is none.
func Validate(t Topology) error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	resources := map[ResourceKind]map[string]bool{
		OnTable: {}, OnQueue: {}, OnBucket: {t.Bucket.Name: true}, OnKey: {KeySecrets: true}, OnMachine: {},
	}
	for _, tb := range t.Tables {
		if resources[OnTable][tb.Name] {
			report("table %s is declared twice", tb.Name)
		}
		resources[OnTable][tb.Name] = true
	}
	queues := map[string]Queue{}
	for _, q := range t.Queues {
		if resources[OnQueue][q.Name] {
			report("queue %s is declared twice", q.Name)
		}
		resources[OnQueue][q.Name] = true
		queues[q.Name] = q
		if q.MaxReceiveCount < 1 || q.MaxConcurrency < 2 {
			report("queue %s: a receive count of at least 1 and a concurrency of at least 2 are needed", q.Name)
		}
	}
	invoked := map[string]int{} // functions by the machines that invoke them
	for _, m := range t.Machines {
		if resources[OnMachine][m.Name] {
			report("machine %s is declared twice", m.Name)
		}
		resources[OnMachine][m.Name] = true
		errs = append(errs, validateMachine(m, t)...)
		for _, name := range m.Invokes {
			invoked[name]++
		}
	}
	names := map[string]bool{}
	for _, f := range t.Functions {
		if names[f.Name] {
			report("function %s is declared twice", f.Name)
		}
		names[f.Name] = true
		errs = append(errs, validateFunction(f, queues, resources, invoked[f.Name])...)
	}
	errs = append(errs, validateRoutes(t)...)
	return errors.Join(errs...)
}

func validateFunction(f Function, queues map[string]Queue, resources map[ResourceKind]map[string]bool, machines int) (errs []error) {
	report := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("function "+f.Name+": "+format, args...))
	}
	triggers := machines
	if len(f.Routes) > 0 {
		triggers++
		limit := GatewayTimeout
		if f.Streaming {
			limit = 15 * time.Minute
		}
		if f.Timeout > limit {
			report("timeout %s is longer than the gateway waits (%s)", f.Timeout, limit)
		}
	}
	if f.Queue != "" {
		triggers++
		q, ok := queues[f.Queue]
		switch {
		case !ok:
			report("consumes the unknown queue %s", f.Queue)
		case q.Visibility < visibilityFactor*f.Timeout:
			report("queue %s hides messages for %s, less than %d times the timeout", q.Name, q.Visibility, visibilityFactor)
		}
		if f.BatchSize < 1 || f.BatchSize > 10 {
			report("batch size %d is outside 1 to 10", f.BatchSize)
		}
	}
	if f.Every > 0 {
		triggers++
		if f.Every%time.Minute != 0 {
			report("a schedule runs in whole minutes, not %s", f.Every)
		}
	}
	if triggers != 1 {
		report("needs exactly one of routes, queue, schedule and machine, has %d", triggers)
	}
	if f.Timeout <= 0 || f.Timeout > 900*time.Second || f.MemoryMB < 128 {
		report("timeout %s or memory %d MB is outside Lambda's range", f.Timeout, f.MemoryMB)
	}
	for _, g := range f.Grants {
		if !resources[g.Kind][g.Name] {
			report("grant on the unknown %s %s", g.Kind, g.Name)
		}
		for _, a := range g.Actions {
			if strings.Contains(a, "*") {
				report("grant %s on %s is a wildcard", a, g.Name)
			}
		}
	}
	return errs
}

// definitionFile is a plain file name: the definitions lie side by side in one folder.
var definitionFile = regexp.MustCompile(`^[a-z0-9-]+\.asl\.json$`)

func validateMachine(m StateMachine, t Topology) (errs []error) {
	report := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("machine "+m.Name+": "+format, args...))
	}
	if !definitionFile.MatchString(m.Definition) {
		report("%q is not the name of a definition", m.Definition)
	}
	if len(m.Invokes) == 0 {
		report("invokes no function")
	}
	for _, name := range m.Invokes {
		f, ok := t.FunctionNamed(name)
		if !ok {
			report("invokes the unknown function %s", name)
		}
		// A template in which the machine needs the function and the function's start of the machine needs the machine has no order.
		for _, g := range f.Grants {
			if g.Kind == OnMachine && g.Name == m.Name && slices.Contains(g.Actions, "states:StartExecution") {
				report("function %s both starts it and is invoked by it", name)
			}
		}
	}
	return errs
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, Any}

// node is one resource of the tree that API Gateway would build.
type node struct {
	children map[string]*node
	variable string // name of the one variable child
	methods  map[string]string
}

func validateRoutes(t Topology) (errs []error) {
	root := &node{}
	for _, f := range t.Functions {
		for _, r := range f.Routes {
			if err := root.add(f.Name, r); err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", r.Method, r.Path, err))
			}
		}
	}
	return errs
}

func (n *node) add(function string, r Route) error {
	if !slices.Contains(methods, r.Method) {
		return errors.New("unknown method")
	}
	if r.Handler == "" || r.Auth == "" || r.Summary == "" {
		return errors.New("handler, auth and summary are required")
	}
	if !strings.HasPrefix(r.Path, "/") || (len(r.Path) > 1 && strings.HasSuffix(r.Path, "/")) {
		return errors.New("a path starts with / and does not end with one")
	}
	parts := strings.Split(strings.TrimPrefix(r.Path, "/"), "/")
	if r.Path == "/" {
		parts = nil
	}
	for i, part := range parts {
		greedy := strings.HasSuffix(part, "+}")
		if greedy && i != len(parts)-1 {
			return fmt.Errorf("%s must be the last segment", part)
		}
		if part == "" {
			return errors.New("empty segment")
		}
		if strings.HasPrefix(part, "{") {
			if n.variable != "" && n.variable != part {
				return fmt.Errorf("%s conflicts with %s: a level has one variable child", part, n.variable)
			}
			n.variable = part
		}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[part] == nil {
			n.children[part] = &node{}
		}
		n = n.children[part]
	}
	if other, taken := n.methods[r.Method]; taken {
		return fmt.Errorf("is served by %s already", other)
	}
	if n.methods == nil {
		n.methods = map[string]string{}
	}
	n.methods[r.Method] = function
	return nil
}
