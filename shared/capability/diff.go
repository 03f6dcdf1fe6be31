package capability

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"bailing/shared/canonical"
)

// Diff is what a refreshed specification changes in the tools that a provider offers (core §4.3). Its lists are sorted by name
// and never nil.
type Diff struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []Change `json:"changed"` // in method, path, scope or governance: the fingerprint of core §4.3
	// NowIdempotent are tools whose calls are from now on repeated without the protection of the journal.
	NowIdempotent []string `json:"now_idempotent"`
	Other         []string `json:"other"` // changed in anything else: inputs, timeouts, limits, texts
}

// Change is a tool whose fingerprint changed.
type Change struct {
	Tool     string        `json:"tool"`
	Fields   []FieldChange `json:"fields"`   // in the order of core §4.3
	Weakened []Weakening   `json:"weakened"` // the changes that lower protection; never nil
}

// FieldChange is one member of the fingerprint. Booleans read "true" and "false", rules are JSON.
type FieldChange struct {
	Field string `json:"field"`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// Weakening names a change that lowers protection.
type Weakening string

// The changes that lower protection. A person should look at them before calls are made.
const (
	RiskLowered         Weakening = "risk_lowered"
	ConfirmationDropped Weakening = "confirmation_dropped"
	RuleRemoved         Weakening = "confirm_rule_removed" // or replaced by another one
	SubjectDropped      Weakening = "subject_dropped"
	SensitiveDropped    Weakening = "sensitive_dropped"
	BecameReadonly      Weakening = "became_readonly"
	BecameIdempotent    Weakening = "became_idempotent" // beside a change of the fingerprint; see [Diff.NowIdempotent]
)

// DiffCatalogs compares two catalogues of a provider by the names of their tools. Either may be nil: no tools.
func DiffCatalogs(was, now *Catalog) Diff {
	d := Diff{Added: []string{}, Removed: []string{}, Changed: []Change{}, NowIdempotent: []string{}, Other: []string{}}
	before, after := was.byName(), now.byName()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			d.Removed = append(d.Removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		a, b := before[name], after[name]
		if a == nil {
			d.Added = append(d.Added, name)
			continue
		}
		fields := changedFields(a, b)
		switch {
		case len(fields) > 0:
			d.Changed = append(d.Changed, Change{Tool: name, Fields: fields, Weakened: weakened(a, b)})
		case !sameStored(a, b):
			d.Other = append(d.Other, name)
		}
		if b.Idempotent && !a.Idempotent {
			d.NowIdempotent = append(d.NowIdempotent, name)
		}
	}
	return d
}

func (c *Catalog) byName() map[string]*Tool {
	tools := make(map[string]*Tool)
	if c == nil {
		return tools
	}
	for i := range c.Tools {
		tools[c.Tools[i].Name] = &c.Tools[i]
	}
	return tools
}

// fingerprint is what core §4.3 compares, in its order.
func fingerprint(t *Tool) [9]FieldChange {
	flag := func(name string, on bool) FieldChange { return FieldChange{Field: name, Now: strconv.FormatBool(on)} }
	return [9]FieldChange{
		{Field: "method", Now: t.Method}, {Field: "path", Now: t.Path}, {Field: "scope", Now: t.Scope},
		{Field: "risk", Now: string(t.Risk)}, flag("confirm_required", t.ConfirmRequired),
		{Field: "confirm_when", Now: rulesText(t.ConfirmWhen)}, flag("requires_subject", t.RequiresSubject),
		flag("sensitive", t.Sensitive), flag("readonly", t.Readonly),
	}
}

func changedFields(was, now *Tool) (changed []FieldChange) {
	a, b := fingerprint(was), fingerprint(now)
	for i, f := range b {
		if f.Now != a[i].Now {
			changed = append(changed, FieldChange{Field: f.Field, Was: a[i].Now, Now: f.Now})
		}
	}
	return changed
}

// weakened lists what protects less than before, each by itself: whether another protection makes up for it is for a person
// to judge.
func weakened(was, now *Tool) []Weakening {
	found := []Weakening{}
	add := func(w Weakening, lower bool) {
		if lower {
			found = append(found, w)
		}
	}
	add(RiskLowered, riskRank(now.Risk) < riskRank(was.Risk))
	add(ConfirmationDropped, was.ConfirmRequired && !now.ConfirmRequired)
	add(RuleRemoved, lostRule(was.ConfirmWhen, now.ConfirmWhen))
	add(SubjectDropped, was.RequiresSubject && !now.RequiresSubject)
	add(SensitiveDropped, was.Sensitive && !now.Sensitive)
	add(BecameReadonly, !was.Readonly && now.Readonly)
	add(BecameIdempotent, !was.Idempotent && now.Idempotent)
	return found
}

func riskRank(r Risk) int { return slices.Index([]Risk{RiskLow, RiskMedium, RiskHigh}, r) }

// lostRule reports whether a condition for approval is gone. Labels and order do not matter: any rule that hits asks for it.
func lostRule(was, now []Rule) bool {
	kept := make(map[string]bool)
	for _, r := range now {
		kept[conditionText(r)] = true
	}
	return slices.ContainsFunc(was, func(r Rule) bool { return !kept[conditionText(r)] })
}

func conditionText(r Rule) string {
	r.Label = ""
	return rulesText([]Rule{r})
}

// rulesText is the rules as canonical JSON, so that spelling makes no difference.
func rulesText(rules []Rule) string {
	if len(rules) == 0 {
		return "[]"
	}
	return string(canonicalText(rules))
}

// canonicalText is v as canonical JSON. What is compared comes from the compiler or from storage, so that it has a JSON form.
func canonicalText(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	parsed, err := canonical.Parse(text, canonical.Limits{MaxBytes: len(text), MaxNodes: len(text), MaxDepth: maxStoredDepth})
	if err != nil {
		return text
	}
	return parsed.Canonical()
}

func sameStored(a, b *Tool) bool { return bytes.Equal(canonicalText(a), canonicalText(b)) }

// ChangedNames are the names in Changed, as the answer to a refresh lists them (core §4.3).
func (d Diff) ChangedNames() []string {
	names := make([]string, 0, len(d.Changed))
	for _, c := range d.Changed {
		names = append(names, c.Tool)
	}
	return names
}

// Empty reports whether nothing changed.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.NowIdempotent)+len(d.Other) == 0
}

// Hash8 tells diffs apart in the key of an alert, `spec_change_<provider>_<hash8>` (core §11.9): the first eight hexadecimal
// digits of the SHA-256 of the diff's canonical JSON.
func (d Diff) Hash8() string {
	sum := sha256.Sum256(canonicalText(d))
	return hex.EncodeToString(sum[:4])
}

// WeakenedTools are the names of the tools with less protection than before, sorted; never nil.
func (d Diff) WeakenedTools() []string {
	out := slices.Clone(d.NowIdempotent)
	for _, c := range d.Changed {
		if len(c.Weakened) > 0 {
			out = append(out, c.Tool)
		}
	}
	slices.Sort(out)
	return append([]string{}, slices.Compact(out)...)
}
