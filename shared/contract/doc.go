// Package contract holds the artefacts that describe the hub to its callers, as the bytes that the runs function
// serves: the client-api v1 pack (core §1.8), the JSON Schemas of the configuration objects (core §10.4), and the
// OpenAPI document of the whole HTTP surface.
//
//	client-api/v1/   GET /contracts/client-api/v1/{file}    frozen: changes only with the contract's major version
//	schemas/         GET /schemas/{path}                    one file per configuration object
//	openapi.json     GET /openapi.json                      one operation per route of package topology
//
// The files are data, written by hand; no code in this package interprets them, and nothing else belongs here. What
// keeps them true are tests: the published vectors must get the verdicts they name, every example must satisfy its
// schema, and the OpenAPI document must list exactly the routes of the topology. A new route therefore starts in
// topology and is not green before it is described in openapi.json.
//
// Package contracttest, beside this one, checks real answers of the functions against the same files.
package contract
