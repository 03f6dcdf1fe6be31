// Package start holds `bailing init`, which walks from nothing to a first answered job: the hub and who asks it, a model,
// optionally the tools of a business, a route, a client, and a job that is waited for.
//
// Each step looks at what is there, does only what lacks, and says so. Running it again changes nothing that is right already.
package start
