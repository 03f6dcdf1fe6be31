package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// identities are members that hold an id: another one, but the same wherever the recorded one is.
var identities = []string{"job_id", "session_id", "session", "idempotency_key", "approval_id"}

// typeOnly are members whose value is a time, a measurement, a text for people, or a fact of the installation.
var typeOnly = []string{
	"created_at", "updated_at", "finished_at", "ts", "at", "spec_refreshed_at", "run_after", "duration_ms", "tokens", "thread_id", "title", "summary",
	"description", "token", "text", "message", "running", "waiting", "total", "name@app", "version@app", "backend",
}

// installed are members that say what is installed, or null.
var installed = []string{"commit", "branch", "build_time", "latest"}

// codes are the values of `error` that clients may compare; every other one is text (core §0.1).
var codes = []string{
	"unauthorized", "not found", "payload too large", "internal_error", "route_auto_no_match", "tool_execution_reconciliation_required",
}

// compare notes what differs between a recorded value and ours. path names the member, "" at the top.
func (r *replay) compare(id, path string, want, got any) {
	if slices.Contains(installed, path[strings.LastIndex(path, ".")+1:]) {
		return
	}
	if w, g := kind(want), kind(got); w != g {
		r.differ(id, "%s is %s, ours %s", or(path, "body"), w, g)
		return
	}
	switch want := want.(type) {
	case map[string]any:
		r.compareObjects(id, path, want, got.(map[string]any))
	case []any:
		r.compareLists(id, path, want, got.([]any))
	default:
		r.compareValues(id, path, fmt.Sprint(want), fmt.Sprint(got))
	}
}

func (r *replay) compareObjects(id, path string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch ours, ok := got[name]; {
		case isProse(id, name):
		case !ok:
			r.differ(id, "no %s", join(path, name))
		default:
			r.compare(id, join(path, name), want[name], ours)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok && !isProse(id, name) {
			value := ""
			if got[name] == nil {
				value = ", null"
			}
			r.differ(id, "%s added%s", join(path, name), value)
		}
	}
}

// isProse reports members of schemas and manifests that only describe, and the address that a document has.
func isProse(id, name string) bool {
	artefact := strings.HasPrefix(id, "schema-") || strings.HasPrefix(id, "contract-")
	return artefact && slices.Contains([]string{"$id", "title", "description", "$comment"}, name) || id == "version" && name == "runtime"
}

// compareLists pairs objects that have a name by it, and everything else by its place.
func (r *replay) compareLists(id, path string, want, got []any) {
	if slices.Contains([]string{"added", "removed", "changed"}, path) {
		r.compareTools(id, path, want, got)
		return
	}
	byName := map[string]any{}
	for _, v := range got {
		byName[nameOf(v)] = v
	}
	if len(want) > 0 && nameOf(want[0]) != "" {
		for _, v := range want {
			name := nameOf(v)
			if strings.HasPrefix(name, "demo") {
				continue // of the recorder's installation
			}
			if byName[name] == nil {
				r.differ(id, "no %s", join(path, name))
				continue
			}
			r.compare(id, path+"[]", v, byName[name])
		}
		return
	}
	if len(want) != len(got) {
		r.differ(id, "%s has %d entries, ours %d", path, len(want), len(got))
		return
	}
	for i := range want {
		r.compare(id, path+"[]", want[i], got[i])
	}
}

func nameOf(v any) string {
	o, _ := v.(map[string]any)
	for _, member := range []string{"app_id", "route_key", "name"} {
		if name, ok := o[member].(string); ok {
			return name
		}
	}
	return ""
}

func (r *replay) compareValues(id, path, want, got string) {
	last := path[strings.LastIndex(path, ".")+1:]
	parent := strings.TrimSuffix(path, "."+last)
	switch {
	case slices.Contains(identities, last), last == "id" && (strings.HasPrefix(id, "decision-") || strings.HasPrefix(id, "approval-admin-")):
		switch {
		case r.ids[want] == "" && r.recorded[got] == "":
			r.bind(want, got)
		case r.ids[want] != got:
			r.differ(id, "%s: another one than before", path)
		}
	case last == "timestamp", last == "x-bailing-timestamp":
		if !seconds.MatchString(got) {
			r.differ(id, "%s is not in seconds", path)
		}
	case path != "response.text" && slices.Contains(typeOnly, last), slices.Contains(typeOnly, last+"@"+parent):
	case last == "error" && !slices.Contains(codes, want):
	case last == "request_id" && strings.HasPrefix(id, "run-bad-json"):
	case strings.HasPrefix(path, "http_errors."), strings.HasPrefix(path, "compatibility"):
	case path == "input_preview": // the replay separates and paces the calls of a script, see job
		if !strings.HasPrefix(want, strings.ReplaceAll(strings.TrimSuffix(got, pace), "[[round]]", "")) {
			r.differ(id, "%s %s, ours %s", path, want, got)
		}
	case path == "status" && live(want) && live(got) && r.live(id):
	case r.fill(r.renumber(want)) != got:
		r.differ(id, "%s %s, ours %s", path, want, got)
	}
}

// live reports states that depend on how fast the hub is: between a submission and the next request a job may run and end.
func live(status string) bool { return slices.Contains([]string{"queued", "running", "done"}, status) }

// live reports recordings that met a job on its way.
func (r *replay) live(id string) bool { return id == "run-dup-same" }

// compareAudit compares the audit records of a job: which events there are, and what each holds.
func (r *replay) compareAudit(id string, want, got any) {
	w, g := byEvent(want), byEvent(got)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		switch {
		case len(g[name]) == 0:
			r.differ(id, "no %s", name)
		case len(g[name]) > len(w[name]):
			r.differ(id, "more of %s", name)
		case len(g[name]) < len(w[name]):
			r.differ(id, "fewer of %s", name)
		}
		recorded, ours := w[name], g[name]
		if name == "callback" {
			ours = ofAttempt(ours, recorded[0])
		}
		for i := range min(len(recorded), len(ours)) {
			if !strings.HasPrefix(name, "tool_") && name != "callback" { // their details are an operator's view, not contract (core, Appendix C)
				delete(recorded[i], "detail")
				delete(ours[i], "detail")
			}
			r.compare(id, name, recorded[i], ours[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if len(w[name]) == 0 {
			r.differ(id, "%s added", name)
		}
	}
}

// ofAttempt is the event that tells of the same attempt as the recorded one.
func ofAttempt(events []map[string]any, recorded map[string]any) []map[string]any {
	attempt := func(e map[string]any) any {
		detail, _ := e["detail"].(map[string]any)
		return detail["attempt"]
	}
	return slices.DeleteFunc(slices.Clone(events), func(e map[string]any) bool { return attempt(e) != attempt(recorded) })
}

func byEvent(list any) map[string][]map[string]any {
	events := map[string][]map[string]any{}
	all, _ := list.([]any)
	for _, v := range all {
		o, _ := v.(map[string]any)
		name, _ := o["event"].(string)
		events[name] = append(events[name], o)
	}
	return events
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "text"
	case []any:
		return "list"
	}
	return "object"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
