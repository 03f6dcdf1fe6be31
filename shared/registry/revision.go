package registry

import (
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// revisionOf is the revision of a record that administrators see: the SHA-256, in lower-case hexadecimal, of the canonical JSON
// of the whole record (agent §10.1). Equal content has the equal revision, and what is meant is content: a save that changes
// nothing conflicts with nobody.
func revisionOf(record any) (string, error) {
	b, err := json.Marshal(record)
	if err != nil {
		return "", fmt.Errorf("registry: revision: %w", err)
	}
	v, err := canonical.Parse(b, canonical.Limits{MaxBytes: canonical.MaxMaxBytes, MaxDepth: canonical.MaxMaxDepth})
	if err != nil {
		return "", fmt.Errorf("registry: revision: %w", err)
	}
	return v.Hash(), nil
}

// configuration is the part of a provider that saves decide. What the hub found out by itself is left out, so that a refresh
// between reading a provider and saving it is no conflict; a specification that was sent inline is configuration.
func (p *Provider) configuration() Provider {
	c := *p
	c.CatalogHash, c.CatalogVersion, c.SpecRefreshedAt = "", 0, time.Time{}
	c.SpecAccessProbe, c.AuthzProbe, c.RefreshTriedAt = nil, nil, time.Time{}
	if c.SpecSource == SpecURLSource {
		c.SpecHash = ""
	}
	return c
}

// expectation is what a save expects to replace: the member `expected_revision`.
type expectation struct {
	set      bool
	revision string // "": nothing
}

// expectation reads `expected_revision`: absent or null expects nothing in particular, "" that there is no such record yet, and
// anything else is the `revision` that a list showed.
func (o *object) expectation() expectation {
	// An entry of a list can be sent back as it is: its revision is a fact that the hub computes.
	o.readOnly("revision")
	v, ok := o.get("expected_revision")
	if !ok {
		return expectation{}
	}
	if v.Kind() != canonical.String || v.Text() != "" && !textlimit.Hex64(v.Text()) {
		o.fail("expected_revision", `must be the revision that a list showed, or "" for a record that must be new`)
		return expectation{}
	}
	return expectation{set: true, revision: v.Text()}
}

// CodeRevisionConflict is the `reason` of a save whose expected_revision is not the stored one.
const CodeRevisionConflict = "revision_conflict"

// met is nil when the stored record is the expected one. revision 0 is a record that is not stored.
func (e expectation) met(revision int64, record any) error {
	if !e.set {
		return nil
	}
	stored := ""
	if revision != 0 {
		var err error
		if stored, err = revisionOf(record); err != nil {
			return err
		}
	}
	switch {
	case stored == e.revision:
		return nil
	case stored == "":
		return e.conflict("the record does not exist any more; nothing was saved")
	case e.revision == "":
		return e.conflict("the record exists already; nothing was saved")
	}
	return e.conflict("the record has changed since it was read; nothing was saved, read it again")
}

func (expectation) conflict(text string) error {
	return apierr.New(apierr.Conflict, text).With("reason", CodeRevisionConflict)
}
