package auditexport

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/auditchain"
	"bailing/shared/job"
	"bailing/shared/textlimit"
)

// Cursor is where a page ended, and with which hash: opaque to callers. It opens nothing that its bearer may not export anyway. It does not
// prove that an export began: who makes one up reads records without being on record for it, as in the lists, and has no chain that begins.
type Cursor string

// cursorMax bounds the text of a cursor, in bytes.
const cursorMax = 2048

// phase is a part of an export, in their order.
type phase string

const (
	config    phase = "config"
	providers phase = "providers"
	jobs      phase = "jobs"
	ended     phase = "ended"
)

// place is what a cursor holds.
type place struct {
	Job   string `json:"job,omitempty"`
	Since int64  `json:"since,omitempty"` // milliseconds
	Until int64  `json:"until,omitempty"`
	Phase phase  `json:"phase"`
	Name  string `json:"name,omitempty"`  // the provider, or the job's place in the index, that was read last
	Open  bool   `json:"open,omitempty"`  // there is more of it
	After string `json:"after,omitempty"` // key of its last record
	Seq   int64  `json:"seq"`
	Prev  string `json:"prev"`
}

func (p *place) cursor(c auditchain.Chain) (Cursor, error) {
	p.Seq, p.Prev = c.Seq, c.Prev
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("auditexport: cursor: %w", err)
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(b)), nil
}

// parse reads a cursor that a caller sent back. Every name in it is checked: it becomes a key.
func (c Cursor) parse() (*place, auditchain.Chain, error) {
	fail := func() (*place, auditchain.Chain, error) { return nil, auditchain.Chain{}, ErrQuery }
	if len(c) > cursorMax {
		return fail()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil {
		return fail()
	}
	var p place
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if d.Decode(&p) != nil || d.More() || !p.valid() {
		return fail()
	}
	chain, err := auditchain.Resume(p.Seq, p.Prev)
	if err != nil {
		return fail()
	}
	return &p, chain, nil
}

func (p *place) valid() bool {
	if len(p.After) > 256 {
		return false
	}
	if p.Job != "" {
		id, ok := textlimit.NormalizeUUID(p.Job)
		return ok && id == p.Job && p.Phase == jobs && p.Name == "" && p.Since == 0 && p.Until == 0
	}
	if p.Since < 0 || p.Until <= p.Since || p.Until > time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		return false
	}
	switch p.Phase {
	case config:
		return p.Name == ""
	case providers:
		return p.Name == "" && !p.Open || textlimit.ResourceName(p.Name)
	case jobs:
		_, err := job.ParseCursor(p.Name)
		return p.Name == "" && !p.Open || err == nil
	}
	return false
}
