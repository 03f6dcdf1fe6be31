// Package capability is a governed tool: what it is, which arguments it takes, what request a call becomes, and what a
// model reads of the answer (core §3.3, §4.6, §4.8, §5.5, §5.10).
//
//	OpenAPI document --compile.Compile--> Catalog          once, when a provider is saved or refreshed
//	Catalog --stored by content hash--> workers            JSON, no OpenAPI or YAML on this path
//	Tool.ValidateArgs -> Tool.BuildRequest -> (sign, send) -> ShapeResult
//
// Around it: what a tool's author says beyond the short description is [Guidance]; a refreshed catalogue is compared with
// the one before by [DiffCatalogs] (core §4.3); [Catalog.AuthzProbe] and [Catalog.ProbeTool] say what the authorization
// probe asks (core §3.7); [BuiltinNames] are names that jobs keep for the hub's own tools (core §9).
//
// The compiler is package compile, the only place that links a YAML parser: functions on the hot path import this
// package and stay small.
//
// What lives here is pure: no I/O, no clock, no AWS. Governance headers, signatures, limits, approvals and the
// journal are put around a call by package toolcall. A [Tool] is read-only once it is in a [Catalog], and safe for
// concurrent use.
//
// Promises: an argument that the tool does not declare never reaches a business (no undeclared member, query name or
// header); the path that is signed is the path that is sent; an argument cannot leave its path segment, add a header,
// or replace a governance header; nothing here prints argument values (I10), only their names.
package capability
