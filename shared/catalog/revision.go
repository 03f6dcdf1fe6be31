package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// CatalogSchema names the legacy catalogue, and what a capability revision is made of.
const CatalogSchema = "bailing.agent-tool-catalog.v1"

type digest [sha256.Size]byte

// revision is the capability revision (agent §5.2): a hash of what decides the surface and of what agents see of it. Sets count
// without their order. A provider's secret, timeout and limits are no part of it: they change nothing that an agent plans with.
func (s *Surface) revision(access *Access) string {
	h := newHasher(CatalogSchema)
	h.text(access.Route)
	h.text(access.Permission)
	h.json(access.Audience)
	h.flag(access.Direct.Enabled)
	h.set(access.Direct.WriteTools)
	h.set(access.Direct.Forced())
	sources := slices.Clone(s.sources)
	slices.SortFunc(sources, func(a, b attachedSource) int { return strings.Compare(a.Provider, b.Provider) })
	h.count(len(sources))
	for _, source := range sources {
		h.source(&source)
	}
	h.count(len(s.Tools))
	h.b = slices.Grow(h.b, len(s.Tools)*(len(digest{})+16))
	for i := range s.Tools {
		h.text(s.Tools[i].Provider)
		h.b = append(h.b, s.Tools[i].facet.digest[:]...)
	}
	sum := h.sum()
	return hex.EncodeToString(sum[:])
}

func (h *hasher) source(s *attachedSource) {
	h.text(s.Provider)
	h.set(s.Allow)
	h.flag(s.provider != nil)
	if s.provider == nil {
		return
	}
	h.flag(s.provider.Enabled)
	h.text(s.provider.BaseURL)
	h.text(s.provider.SpecHash)
}

// toolDigest is a tool's part of the revision.
func toolDigest(t *capability.Tool, f *facet) digest {
	h := newHasher(capability.SchemaVersion)
	h.text(t.Name)
	h.text(t.Method)
	h.text(t.Path)
	h.text(t.Scope)
	h.text(string(t.Risk))
	h.flag(t.ConfirmRequired)
	h.count(len(t.ConfirmWhen))
	for _, rule := range t.ConfirmWhen {
		h.text(rule.Param)
		h.text(rule.Op)
		h.text(string(rule.Value))
		h.text(rule.Label)
	}
	h.flag(t.RequiresSubject)
	h.flag(t.Readonly)
	h.flag(t.Idempotent)
	h.text(string(t.InputSchema))
	h.count(len(t.ParamIn))
	for _, name := range slices.Sorted(maps.Keys(t.ParamIn)) {
		h.text(name)
		h.text(string(t.ParamIn[name]))
	}
	h.text(f.description)
	h.flag(f.truncated)
	h.text(string(f.schema))
	h.flag(t.Guidance != nil)
	if g := t.Guidance; g != nil {
		h.text(g.Text)
		h.flag(g.Truncated)
		h.count(g.SourceChars)
		h.count(g.SourceBytes)
	}
	return h.sum()
}

// hasher hashes a sequence of values so that no two sequences look alike: texts and lists bring their length.
type hasher struct{ b []byte }

func newHasher(schema string) *hasher {
	h := &hasher{make([]byte, 0, 1<<10)}
	h.text(schema)
	return h
}

func (h *hasher) sum() digest { return sha256.Sum256(h.b) }

func (h *hasher) count(n int) { h.b = binary.AppendUvarint(h.b, uint64(n)) }

func (h *hasher) text(s string) {
	h.count(len(s))
	h.b = append(h.b, s...)
}

func (h *hasher) flag(b bool) {
	if b {
		h.b = append(h.b, 1)
		return
	}
	h.b = append(h.b, 0)
}

func (h *hasher) set(texts []string) {
	sorted := slices.Compact(slices.Sorted(slices.Values(texts)))
	h.count(len(sorted))
	for _, s := range sorted {
		h.text(s)
	}
}

// json hashes what a document means. One that is absent is null; what is no JSON counts as it is written.
func (h *hasher) json(document json.RawMessage) {
	v, err := canonical.Parse(document, canonical.Limits{})
	switch {
	case len(document) == 0:
		h.text("null")
	case err != nil:
		h.text("no JSON: " + string(document))
	default:
		h.text(string(v.Canonical()))
	}
}
