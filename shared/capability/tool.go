package capability

import "encoding/json"

// SchemaVersion names the form of a compiled tool (core §4.6).
const SchemaVersion = "bailing.tool-definition.v1"

// SourceOpenAPI is the only source of tools so far.
const SourceOpenAPI = "openapi"

// Location says where an argument travels in the request.
type Location string

// The locations of core §4.5.
const (
	InQuery  Location = "query"
	InPath   Location = "path"
	InHeader Location = "header"
	InBody   Location = "body"
)

// Risk is the declared or derived risk level of a tool.
type Risk string

// The risk levels of core §4.6.
const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Rule is one approval rule (core §4.7): the call needs approval when the argument at Param compares to Value as Op says.
type Rule struct {
	Param string          `json:"param"` // dotted path through declared object properties
	Op    string          `json:"op"`    // > >= < <= == != in contains exists
	Value json.RawMessage `json:"value,omitempty"`
	Label string          `json:"label,omitempty"` // at most 120 UTF-16 units
}

// RateLimit is the exact window that a tool declares: at most Count calls in Window (1s, 1m, 1h or 1d).
type RateLimit struct {
	Count  int64  `json:"count"`
	Window string `json:"window"`
}

// Outcome tells people what a call leads to; it governs nothing.
type Outcome struct {
	Result     string `json:"result,omitempty"`     // at most 300 UTF-16 units
	SideEffect string `json:"sideEffect,omitempty"` // none, read, write, notify or external
}

// Tool is one operation of a business as a model may call it (core §4.6, `bailing.tool-definition.v1`). It travels as
// JSON and comes back equal.
type Tool struct {
	SchemaVersion   string              `json:"schemaVersion"`
	Name            string              `json:"name"` // ^[A-Za-z_][A-Za-z0-9_]{0,63}$
	Source          string              `json:"source"`
	Method          string              `json:"method"` // upper case
	Path            string              `json:"path"`   // template below the provider's base URL
	Description     string              `json:"description"`
	Scope           string              `json:"scope"` // printable ASCII: it travels in a header
	Risk            Risk                `json:"risk"`
	ConfirmRequired bool                `json:"confirmRequired"`
	RateLimitPerMin int64               `json:"rateLimitPerMin"` // 0 is unlimited; RateLimit has the exact window
	RateLimit       *RateLimit          `json:"rateLimit,omitempty"`
	RequiresSubject bool                `json:"requiresSubject"`
	Sensitive       bool                `json:"sensitive"`
	Readonly        bool                `json:"readonly"`
	Idempotent      bool                `json:"idempotent"`
	TimeoutMs       int64               `json:"timeoutMs"` // 0 is the provider's timeout; at most 600000
	ConfirmWhen     []Rule              `json:"confirmWhen,omitempty"`
	ConfirmPrompt   string              `json:"confirmPrompt"` // at most 200 UTF-16 units
	Context         []string            `json:"context"`       // at most 50
	Outcome         *Outcome            `json:"outcome,omitempty"`
	Extensions      json.RawMessage     `json:"extensions"`  // object of x-bailing-* and x-business-* members
	InputSchema     json.RawMessage     `json:"inputSchema"` // one object schema, every $ref resolved
	ParamIn         map[string]Location `json:"paramIn"`

	// DescriptionTruncated says that Description was cut to 500 code points (core §4.8).
	DescriptionTruncated bool `json:"descriptionTruncated,omitempty"`
	// Guidance is what to read before using the tool; nil when Description says it all.
	Guidance *Guidance `json:"guidance,omitempty"`
	// BodyType is the content type of the request body when it is not application/json (D38).
	BodyType string `json:"bodyType,omitempty"`

	prepared *preparation
}

// Severity of a [Diagnostic].
type Severity string

// An error keeps the operation from becoming a tool; a warning does not.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Diagnostic tells the author of a specification what to change (core §4.7, D37).
type Diagnostic struct {
	Severity   Severity `json:"severity"`
	Path       string   `json:"path"` // "METHOD /path", or "-" for the whole document
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Suggestion string   `json:"suggestion,omitempty"`
	Pointer    string   `json:"pointer,omitempty"` // JSON pointer to the operation or the offending value
}

// Catalog is a compiled specification. It is stored content-addressed as JSON and loaded without the document.
type Catalog struct {
	Tools       []Tool       `json:"tools"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Hash        string       `json:"hash"` // lower-case hex SHA-256 of the source document's bytes
	AuthzProbe  *AuthzProbe  `json:"authzProbe,omitempty"`
}

// Tool is the tool called name, or nil.
func (c *Catalog) Tool(name string) *Tool {
	for i := range c.Tools {
		if c.Tools[i].Name == name {
			return &c.Tools[i]
		}
	}
	return nil
}

// Failed reports whether the document as a whole was refused, so that an earlier catalogue should be kept.
func (c *Catalog) Failed() bool {
	for _, d := range c.Diagnostics {
		if d.Severity == SeverityError && d.Path == DocumentPath {
			return true
		}
	}
	return false
}

// DocumentPath is the path of a diagnostic about the whole document.
const DocumentPath = "-"

// SideEffecting reports whether a call may change the business: the tool is neither read-only nor idempotent. Such calls are
// journalled, dispatched at most once and carry an idempotency key (core §5.3).
func (t *Tool) SideEffecting() bool { return !t.Readonly && !t.Idempotent }

// AlwaysNeedsApproval reports whether every call of the tool needs a person's approval (core §6.1).
func (t *Tool) AlwaysNeedsApproval() bool { return t.Risk == RiskHigh || t.ConfirmRequired }

// NeedsApproval reports whether some call of the tool may need approval: always, or by one of its rules. It is the
// `approval_required` of the tool projection (agent §5.1).
func (t *Tool) NeedsApproval() bool { return t.AlwaysNeedsApproval() || len(t.ConfirmWhen) > 0 }

// sendsBody reports whether calls carry a JSON body: every method but GET does, `{}` if need be (core §3.3).
func (t *Tool) sendsBody() bool { return t.Method != "GET" }

// UnmarshalJSON reads a stored tool and makes its schema compile once, at the first call.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type stored Tool
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*t = Tool(s)
	t.Prepare()
	return nil
}
