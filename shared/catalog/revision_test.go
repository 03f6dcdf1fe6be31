package catalog_test

import (
	"encoding/json"
	"slices"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// access sees everything that needs no policy.
func access() catalog.Access {
	return catalog.Access{Route: "depot-desk", Permission: "full", Direct: catalog.Direct{Enabled: true}}
}

// setup is everything that a revision is made from.
type setup struct {
	*world
	erp, wms       *registry.Provider
	erpTool, other capability.Tool
	access         catalog.Access
}

// revision is that of a setup that was changed.
func revision(t *testing.T, change func(*setup)) string {
	t.Helper()
	s := &setup{world: newWorld(t), access: access(), other: read("gate_log")}
	s.erpTool = write("stock_set", ruled, func(t *capability.Tool) { t.Guidance = capability.NewGuidance("Count first.") })
	s.access.HasSubject = true
	s.access.Audience = json.RawMessage(`{"enabled":true,"clients":["desk"]}`)
	s.access.Direct.WriteTools = []string{"stock_set", "stock_move"}
	s.erp, s.wms = s.offer("erp"), s.offer("wms")
	s.sources[1].Allow = []string{"depot.read", "gate.*"}
	change(s)
	if s.erp.CatalogHash != "" {
		s.erp.CatalogHash = s.values.put([]capability.Tool{s.erpTool})
	}
	s.wms.CatalogHash = s.values.put([]capability.Tool{s.other})
	got := s.surface(s.access).Revision
	if !textlimit.Hex64(got) {
		t.Errorf("%q is no revision", got)
	}
	return got
}

func TestRevisionChangesWithEachOfItsInputs(t *testing.T) {
	t.Parallel()
	seen := map[string]string{revision(t, func(*setup) {}): "nothing"}
	for rule, change := range map[string]func(*setup){
		"route":                     func(s *setup) { s.access.Route = "yard-desk" },
		"permission":                func(s *setup) { s.access.Permission = "readwrite" },
		"permission below writes":   func(s *setup) { s.access.Permission = "readonly" },
		"audience":                  func(s *setup) { s.access.Audience = json.RawMessage(`{"enabled":true,"clients":["yard"]}`) },
		"audience gone":             func(s *setup) { s.access.Audience = nil },
		"audience that is no JSON":  func(s *setup) { s.access.Audience = json.RawMessage(`{`) },
		"direct off":                func(s *setup) { s.access.Direct.Enabled = false },
		"a write tool more":         func(s *setup) { s.access.Direct.WriteTools = append(s.access.Direct.WriteTools, "stock_drop") },
		"a write tool less":         func(s *setup) { s.access.Direct.WriteTools = []string{"stock_set"} },
		"forced approval":           func(s *setup) { s.access.Direct.ForceApproval = []string{"stock_set"} },
		"forced approval of others": func(s *setup) { s.access.Direct.ForceApproval = []string{"stock_move"} },
		"a source less":             func(s *setup) { s.sources = s.sources[:1] },
		"provider gone":             func(s *setup) { delete(s.providers, "wms") },
		"provider disabled":         func(s *setup) { s.wms.Enabled = false },
		"base URL":                  func(s *setup) { s.erp.BaseURL = "https://erp2.example" },
		"specification text":        func(s *setup) { s.erp.SpecHash = "another" },
		"specification gone":        func(s *setup) { s.erp.SpecHash, s.erp.CatalogHash = "", "" },
		"allow list":                func(s *setup) { s.sources[1].Allow = []string{"depot.read"} },
		"name":                      func(s *setup) { s.other.Name = "gate_logs" },
		"method":                    func(s *setup) { s.erpTool.Method = "PUT" },
		"path":                      func(s *setup) { s.erpTool.Path = "/stock" },
		"scope":                     func(s *setup) { s.erpTool.Scope = "depot.stock.write" },
		"risk":                      func(s *setup) { s.erpTool.Risk = capability.RiskHigh },
		"confirm flag":              func(s *setup) { s.erpTool.ConfirmRequired = true },
		"no rule":                   func(s *setup) { s.erpTool.ConfirmWhen = nil },
		"parameter of a rule":       func(s *setup) { s.erpTool.ConfirmWhen[0].Param = "count" },
		"operator of a rule":        func(s *setup) { s.erpTool.ConfirmWhen[0].Op = ">=" },
		"value of a rule":           func(s *setup) { s.erpTool.ConfirmWhen[0].Value = json.RawMessage("6") },
		"label of a rule":           func(s *setup) { s.erpTool.ConfirmWhen[0].Label = "many" },
		"subject flag":              func(s *setup) { s.erpTool.RequiresSubject = true },
		"readonly":                  func(s *setup) { s.erpTool.Readonly = true },
		"idempotent":                func(s *setup) { s.erpTool.Idempotent = true },
		"schema":                    func(s *setup) { s.erpTool.InputSchema = json.RawMessage(`{"type":"object","properties":{"bay":{}}}`) },
		"hidden part of the schema": func(s *setup) {
			s.erpTool.InputSchema = json.RawMessage(`{"type":"object","properties":{"bay":{"type":"integer","default":1}},"required":["bay"]}`)
		},
		"location of a parameter": func(s *setup) { s.erpTool.ParamIn = map[string]capability.Location{"bay": capability.InPath} },
		"name of a parameter":     func(s *setup) { s.erpTool.ParamIn = map[string]capability.Location{"bays": capability.InBody} },
		"description":             func(s *setup) { s.erpTool.Description = "Sets the count." },
		"truncation":              func(s *setup) { s.erpTool.DescriptionTruncated = true },
		"guidance":                func(s *setup) { s.erpTool.Guidance.Text = "Count twice." },
		"guidance was longer":     func(s *setup) { s.erpTool.Guidance.SourceChars++ },
		"guidance had more bytes": func(s *setup) { s.erpTool.Guidance.SourceBytes++ },
		"guidance was cut":        func(s *setup) { s.erpTool.Guidance.Truncated = true },
		"no guidance":             func(s *setup) { s.erpTool.Guidance = nil },
		"all scopes":              func(s *setup) { s.sources[1].Allow = []string{"*"} },
		"all scopes, tools exchanged": func(s *setup) {
			s.sources[1].Allow = []string{"*"}
			s.erpTool, s.other = s.other, s.erpTool
		},
		"no scope":                     func(s *setup) { s.sources[1].Allow = []string{"none"} },
		"no scope, provider disabled":  func(s *setup) { s.sources[1].Allow, s.wms.Enabled = []string{"none"}, false },
		"names that begin alike":       func(s *setup) { s.access.Direct.WriteTools = []string{"stock_set", "a", "bc"} },
		"names that begin alike, also": func(s *setup) { s.access.Direct.WriteTools = []string{"stock_set", "ab", "c"} },
	} {
		got := revision(t, change)
		if earlier, same := seen[got]; same {
			t.Errorf("%s and %s have the same revision", rule, earlier)
		}
		seen[got] = rule
	}
}

func TestRevisionDoesNotChangeOtherwise(t *testing.T) {
	t.Parallel()
	want := revision(t, func(*setup) {})
	for rule, change := range map[string]func(*setup){
		"secret":                            func(s *setup) { s.erp.Secret, s.erp.SecretMask = "sealed", "ab…" },
		"timeout":                           func(s *setup) { s.erp.TimeoutMS = 9000 },
		"rate limit":                        func(s *setup) { s.erp.RateLimitPerMin = 1 },
		"payload log":                       func(s *setup) { s.erp.LogPayload = true },
		"provider's text":                   func(s *setup) { s.erp.Description = "The ERP" },
		"subject field":                     func(s *setup) { s.sources[0].SubjectField = "operator" },
		"order of sources":                  func(s *setup) { slices.Reverse(s.sources) },
		"order of scopes":                   func(s *setup) { slices.Reverse(s.sources[1].Allow) },
		"order of names":                    func(s *setup) { slices.Reverse(s.access.Direct.WriteTools) },
		"audience as written":               func(s *setup) { s.access.Audience = json.RawMessage(` {"clients": ["desk"], "enabled": true} `) },
		"a limit of the tool":               func(s *setup) { s.erpTool.RateLimitPerMin = 7 },
		"timeout of the tool":               func(s *setup) { s.erpTool.TimeoutMs = 7 },
		"prompt":                            func(s *setup) { s.erpTool.ConfirmPrompt = "Sure?" },
		"sensitive":                         func(s *setup) { s.erpTool.Sensitive = true },
		"no subject, and nothing needs one": func(s *setup) { s.access.HasSubject = false },
	} {
		if got := revision(t, change); got != want {
			t.Errorf("%s changes the revision", rule)
		}
	}
}

// The older list and the one that it stands for are one policy (agent §5.2).
func TestRevisionSeesTheResolvedPolicy(t *testing.T) {
	t.Parallel()
	a := revision(t, func(s *setup) { s.access.Direct.Unattended = []string{"stock_move"} })
	b := revision(t, func(s *setup) { s.access.Direct.ForceApproval = []string{"stock_set"} })
	if a != b {
		t.Error("two revisions")
	}
}

func TestRevisionsOfCallersDifferOnlyBySubject(t *testing.T) {
	t.Parallel()
	for needs, same := range map[bool]bool{false: true, true: false} {
		with := revision(t, func(s *setup) { s.other.RequiresSubject = needs })
		without := revision(t, func(s *setup) { s.other.RequiresSubject = needs; s.access.HasSubject = false })
		if (with == without) != same {
			t.Errorf("a tool needs a subject: %v, same revision: %v", needs, with == without)
		}
	}
}
