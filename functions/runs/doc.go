// Package runs serves the business API: submitting and reading jobs, health, version, and the contract's artefacts
// (core §1).
//
// A handler decodes the request, calls one command of package job, and maps the result. What a submission must keep and
// what an owner may see is decided there.
package runs
