// Package provider is what the hub does with a tool provider beside calling its tools for a job: it reads the specification
// from its URL and checks who else may read it (core §4.2), refreshes what is stored (core §4.3), asks whether the business
// refuses a subject without rights (core §3.7), and makes one call for an administrator (core §10.3).
//
//	refresh   read ──► compile ──► diff ──► one conditional write {record, audit} ──► authorization probe
//	            │         │
//	            └─────────┴─ fails ──► one conditional write {what was seen, audit}; the earlier specification keeps serving
//
// A record says apart what is expected (SpecAccessPolicy) and what was seen (SpecAccessProbe). Every write is conditional on
// the revision that was read; a record whose source was changed meanwhile is left alone, since what was read is no longer
// its specification. A process that dies before the write has changed nothing but left content-addressed values behind. Of two
// that refresh one provider at once and read different texts, the second to write gives way, and has to read again. A finding is
// written even when finding it used up the time of its call.
//
// The kill switch does not stop these: they are an administrator's, or read only.
//
// Nothing here logs or stores a secret or the text of a specification; reasons are our words, never the business's.
package provider
