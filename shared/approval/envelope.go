package approval

import (
	"strconv"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Versions of the decision envelope (core §6.5).
const (
	DecisionKind    = "tool_approval_decision"
	DecisionVersion = "bailing.approval-decision.v1"
)

const (
	// DecisionMax is the largest body of a decision, in bytes (core §6.5).
	DecisionMax = 64 << 10

	maxDecisionID = 128
	maxApprover   = 64   // UTF-16 units
	maxComment    = 1000 // UTF-16 units
	maxSaidAt     = 64   // UTF-16 units

	hashPrefix = "sha256:"
)

// Decision is what an envelope says about a ticket.
type Decision struct {
	Approved   bool
	DecisionID string
	Approver   string // who decided: the text, or the id of an approver that is an object
	Name       string // of an approver that is an object; ""
	Comment    string
	SaidAt     string
}

// Ruling is the decision as it is recorded; auth says how it was authenticated.
func (d Decision) Ruling(auth string) Ruling {
	return Ruling{Approved: d.Approved, DecisionID: d.DecisionID, By: d.Approver, Name: d.Name, Comment: d.Comment, SaidAt: d.SaidAt, Auth: auth}
}

// ParseDecision reads the envelope of a decision about t (core §6.5, D8). There are two forms. The long one has kind and schema_version,
// and a bare hash. The short one has neither, and its hash may carry the prefix "sha256:". In both, members that name the call
// must be the ticket's own: a decision about other arguments is none about these (I3).
//
// Members are looked at in the contract's order, so that the first that is wrong is the one that is named. Texts are trimmed, and a
// number counts as its digits. The errors are of code [apierr.Invalid] and never repeat what was sent.
func ParseDecision(t *Ticket, body canonical.Value) (Decision, error) {
	if body.Kind() != canonical.Object {
		return Decision{}, apierr.New(apierr.Invalid, "the body must be a JSON object")
	}
	r := envelopeReader{body: body}
	_, kinded := body.Get("kind")
	_, versioned := body.Get("schema_version")
	if kinded || versioned {
		r.equal("kind", DecisionKind, "must be "+DecisionKind)
		r.equal("schema_version", DecisionVersion, "must be "+DecisionVersion)
	}
	r.equal("approval_id", strconv.FormatInt(t.ID, 10), "is not the approval of the URL")
	r.equal("job_id", t.JobID, "is not the approval's")
	r.equal("request_id", t.RequestID, "is not the approval's")
	hash := r.text("args_hash")
	if !kinded && !versioned {
		hash = strings.TrimPrefix(hash, hashPrefix)
	}
	r.check(hash == t.ArgsHash, "args_hash", "is not the approval's")
	var d Decision
	decision := r.text("decision")
	d.Approved = strings.EqualFold(decision, string(Approved))
	r.check(d.Approved || strings.EqualFold(decision, string(Denied)), "decision", "must be approved or denied")
	d.DecisionID = r.text("decision_id")
	r.check(isDecisionID(d.DecisionID), "decision_id", "must have 1 to 128 letters, digits, dots, colons, hyphens and underscores")
	d.Approver, d.Name = r.approver()
	d.Comment = r.optional("comment", maxComment)
	d.SaidAt = r.optional("decided_at", maxSaidAt)
	if r.err != nil {
		return Decision{}, r.err
	}
	return d, nil
}

func isDecisionID(s string) bool {
	if s == "" || len(s) > maxDecisionID {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// envelopeReader keeps the first error.
type envelopeReader struct {
	body canonical.Value
	err  error
}

func (r *envelopeReader) check(ok bool, member, rule string) {
	if !ok && r.err == nil {
		r.err = apierr.New(apierr.Invalid, member+" "+rule)
	}
}

func (r *envelopeReader) equal(member, want, rule string) {
	r.check(r.text(member) == want, member, rule)
}

// text is a member's trimmed text; "" for one that is missing or null.
func (r *envelopeReader) text(member string) string {
	v, ok := r.body.Get(member)
	if !ok || v.Kind() == canonical.Null {
		return ""
	}
	s, ok := plain(v)
	r.check(ok, member, "must be a text")
	return s
}

// optional is a member's text, made fit to store and to show, and cut to max UTF-16 units.
func (r *envelopeReader) optional(member string, max int) string {
	return textlimit.Safe(strings.ToValidUTF8(r.text(member), "\uFFFD"), max)
}

// approver is the first of approver and operator that says something: a text, or an object with an id or a name (D8).
func (r *envelopeReader) approver() (id, name string) {
	for _, member := range []string{"approver", "operator"} {
		v, ok := r.body.Get(member)
		if !ok || v.Kind() == canonical.Null {
			continue
		}
		inner := envelopeReader{body: v}
		if v.Kind() == canonical.Object {
			id, name = inner.optional("id", maxApprover), inner.optional("name", maxApprover)
			r.check(inner.err == nil, member, "must have a text as id and as name")
		} else {
			id = r.optional(member, maxApprover)
		}
		if id == "" {
			id = name
		}
		if id != "" {
			return id, name
		}
	}
	r.check(false, "approver", "is required")
	return "", ""
}

// plain is the trimmed text of a string or a number.
func plain(v canonical.Value) (string, bool) {
	switch v.Kind() {
	case canonical.String:
		return textlimit.Trim(v.Text()), true
	case canonical.Number:
		return v.Number(), true
	}
	return "", false
}
