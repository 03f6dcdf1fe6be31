// Package admin serves /admin/*: the kill switch, jobs with their traces, callbacks and dead letters (core §2.6), approvals, what runs and
// what is not ready, and reading and saving the registry (core §10.2 to §10.4).
//
// A handler decodes, calls one command of package registry, and maps the result; rules live there, keys and
// transactions in package store. [Handler.Handlers] is the only way in, and it authenticates every call but login and logout: the
// session of a cookie or the server token is an administrator, a live client token is refused with 403, anything else is 401.
// Each route needs the permission that package permission gives it. [who] tells a handler who calls, and [change] puts that
// into the audit record, which every successful write leaves in the transaction that does it.
//
// Answers never hold a secret, a sealed text or a hash, but where the contract asks for it: saving a client answers with its token,
// a reveal with what it names, a ticket with the arguments that a person is to approve, and saving a new administrator with a password that was generated.
package admin
