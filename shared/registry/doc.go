// Package registry holds the configuration of the hub: execution targets, model credentials, tool providers, routes
// and clients (core §10.4), with the rules that a record must keep before it is stored.
//
//	types.go      the records, as they are stored
//	object.go     reading members of a request with their types and bounds
//	target.go ... one file per record: its rules, its list form, its save command
//	ratelimits.go which policy decides how often a tool may be called
//	setup.go ...  what connects local agents, as narrow projections of routes and clients
//	delete.go     deletions, and what keeps a record from being deleted
//	revision.go   what a save expects to replace
//	service.go    what the commands need, and how they write
//
// Configuration is read from the store on every request and never cached (architecture §3): disabling an object bites
// on the next one. A save is a full replacement: absent members take their defaults, except secrets and the
// specification, which stay. It is one transaction of the record, of what is keyed by it, and of its audit record,
// conditional on the revision that was read; two saves at the same time are therefore one after the other. A save that names the
// revision it was made from is refused when another one came first.
//
// Secrets are sealed before they reach a record; tokens are found by their hash. Lists show the mask that was made when
// a secret was saved, so that no list opens a secret (I10).
//
// A route, client or provider that asks for a feature this version does not execute (budgets, knowledge, memory,
// artifact uploads, ...) is refused when it is saved. Ignoring such a member would look like protection that is not there.
//
// Nothing here does I/O: storage, encryption, the specification compiler and the outbound address rules are handed in
// by [Options].
package registry
