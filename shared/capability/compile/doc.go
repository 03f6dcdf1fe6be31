// Package compile turns an OpenAPI document with x-agent-capability into the tools of package capability, and tells the
// document's author what to change where it cannot (core §4.4 to §4.8, D15, D37). It is the only place that links a
// YAML parser; only functions that save or refresh a provider import it.
//
//	bytes --load--> document (JSON, or YAML that was weighed before it is parsed; duplicate keys and limits refused)
//	   for each enabled operation, and only for those:
//	     gate       first matching filter of core §4.4 ends it
//	     inputs     path-level and operation parameters, JSON body; local $ref resolved, allOf merged
//	     texts      name, short description, usage guidance
//	     flags      risk, subject, execution, approval rules
//	     checks     the constraints of core §4.7
//	--> a tool, or at least one error diagnostic
//	   of any operation, or at the top: the endpoint for the authorization probe (core §3.7)
//
// Promises: an enabled operation never vanishes silently, and neither does one of its inputs, without a diagnostic that says
// so; the same bytes give the same catalogue; cost is linear in the bytes accepted (every reference is resolved once
// and shared, expansion is bounded by what is written out, and a work budget ends what would still be dear); hostile input
// ends in a diagnostic, never in a panic.
//
// Diagnostics point to the value that its author edits, behind references where these lead to it. They quote names from
// the document, cut short, never default or example values.
package compile
