// Package config holds the commands about configuration: `bailing client|route|provider|target|credential ...` for single
// objects, and apply and export for all of them in one file.
//
//	kind.go      the kinds: how their objects are called, what the hub computes, what a member means that is left out
//	object.go    one object, its members in order; what differs between two
//	yaml.go      YAML in and out, as the JSON that it means
//	file.go      the file: its form, references to secrets and specifications
//	plan.go      what to do so that a hub has what a file says
//	apply.go     doing it: in the order of dependencies, each write conditional on what was compared
//
// A file replaces each object that it names as a whole, as saves of the admin API do (core §10.3): a member that is left out
// takes its default. Secrets are never in a file; what a hub has stays unless a reference gives another one.
package config
