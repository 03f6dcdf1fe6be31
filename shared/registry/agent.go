package registry

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds of a route's `agent_client` (agent §3.1, §3.4), in characters and entries.
const (
	maxInstructions    = 20_000
	maxActiveTools     = 12
	DefaultActiveTools = 8 // where a route names none
	maxSystemName      = 120
	maxSystemSummary   = 400
	maxSystemEntries   = 6
	maxSystemDomain    = 120
	maxSystemBoundary  = 160
)

// AgentClient is what a route offers to local agents, `agent_client` (agent §3.1). Absent members stay absent.
type AgentClient struct {
	// Enabled is the runtime switch; nil follows tools.agent_direct.enabled.
	Enabled         *bool       `json:"enabled,omitempty"`
	Instructions    string      `json:"instructions,omitempty"`
	ActiveToolLimit int         `json:"active_tool_limit,omitempty"` // 1 to 12; 0 = DefaultActiveTools
	SystemInfo      *SystemInfo `json:"system_info,omitempty"`
}

// SystemInfo describes the business system behind a route to people and agents (agent §3.4). Every text is one line, trimmed.
type SystemInfo struct {
	Name       string   `json:"name"`
	Summary    string   `json:"summary"`
	Domains    []string `json:"domains"`
	Boundaries []string `json:"boundaries"`
}

// ActiveTools is how many tools an agent of the route may have active at a time.
func (a *AgentClient) ActiveTools() int {
	if a == nil || a.ActiveToolLimit == 0 {
		return DefaultActiveTools
	}
	return a.ActiveToolLimit
}

// DirectEnabled reports whether agents may call the route's tools themselves (agent §3.1, check 5).
func (r *Route) DirectEnabled() bool {
	return r.Tools != nil && r.Tools.AgentDirect != nil && r.Tools.AgentDirect.Enabled
}

// RuntimeEnabled is the runtime switch of the route (agent §3.1): agent_client.enabled, and where that is absent whether direct
// tools are on.
func (r *Route) RuntimeEnabled() bool {
	if r.AgentClient != nil && r.AgentClient.Enabled != nil {
		return *r.AgentClient.Enabled
	}
	return r.DirectEnabled()
}

func (o *object) agentClient(name string) *AgentClient {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	a := &AgentClient{
		Instructions:    c.text("instructions", maxInstructions),
		ActiveToolLimit: c.integer("active_tool_limit", 0, 1, maxActiveTools),
		SystemInfo:      c.systemInfo("system_info"),
	}
	if _, given := c.get("enabled"); given {
		on := c.boolean("enabled", false)
		a.Enabled = &on
	}
	c.refuse("artifact_upload")
	o.adopt(c.done())
	return a
}

func (o *object) systemInfo(name string) *SystemInfo {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	info := &SystemInfo{
		Name:       c.line("name", maxSystemName),
		Summary:    c.line("summary", maxSystemSummary),
		Domains:    c.lines("domains", maxSystemEntries, maxSystemDomain),
		Boundaries: c.lines("boundaries", maxSystemEntries, maxSystemBoundary),
	}
	o.adopt(c.done())
	return info
}

// line is a required text of one line, trimmed, of 1 to max characters.
func (o *object) line(name string, max int) string {
	v, ok := o.get(name)
	if !ok {
		o.fail(name, "is required")
		return ""
	}
	s, wrong := oneLine(v, max)
	if wrong != "" {
		o.fail(name, wrong, max)
	}
	return s
}

// lines is a required list, which may be empty, of at most count texts as line reads them.
func (o *object) lines(name string, count, max int) []string {
	v, ok := o.get(name)
	if !ok {
		o.fail(name, "is required; it may be an empty list")
		return nil
	}
	if v.Kind() != canonical.Array || v.Len() > count {
		o.fail(name, "must be a list of at most %d texts", count)
		return nil
	}
	out := make([]string, 0, v.Len())
	for _, e := range v.Elems() {
		s, wrong := oneLine(e, max)
		if wrong != "" {
			o.fail(name, "has an entry that "+wrong, max)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// oneLine trims a text, or says which rule it breaks; the words may name the limit.
func oneLine(v canonical.Value, max int) (s, wrong string) {
	if v.Kind() != canonical.String || textlimit.Blank(v.Text()) {
		return "", "must be a text of 1 to %d characters"
	}
	breaks := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
	if !utf8.ValidString(v.Text()) || strings.ContainsFunc(v.Text(), breaks) {
		return "", "must be one line of at most %d characters, without control characters"
	}
	if s = textlimit.Trim(v.Text()); !textlimit.Fits(s, max) {
		return "", "must have at most %d characters"
	}
	return s, ""
}
