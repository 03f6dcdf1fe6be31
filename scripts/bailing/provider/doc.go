// Package provider holds the commands about tool providers: `bailing provider ...`.
//
// lint and diff work on specifications alone, with the compiler of the hub itself; list, tools, refresh, probe, and diff with a
// provider's name ask a hub through its admin API (core §10.3), whose address and token come from the environment.
package provider
