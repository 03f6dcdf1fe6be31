// Package catalog is what a route offers: the tools of its sources, and for an agent the surface that its session may see, show,
// search and call (core §4.7, §5.1; agent §5).
//
//	Cache.Attach   sources -> providers -> compiled catalogues -> scopes     jobs and agents alike
//	NewSurface     subject -> direct policy -> names in order, revision      agents
//	Surface        Projections, Search, Detail, Counters, Find
//
// What is compiled is shared and never changed: catalogues are loaded by content address and kept, with everything that only
// depends on them (public schemas, the index for searches, each tool's part of the revision). A surface is a list of views of
// these tools, cheap enough to be made for every request, from rows that were read for it (architecture §3): disabling a
// provider or narrowing a policy bites at once.
//
// The capability revision changes whenever an agent could be shown something else, and for no other reason. Searches rank by
// text alone. They do so as ECMAScript would, by lower case and UTF-16 code units, so that every hub of the contract orders the
// same tools alike; which characters are letters, and what their lower case is, is as new as the Unicode tables of Go.
//
// Everything here is pure but [Values], through which catalogues are read. Nobody is asked here whether a route may be used.
package catalog
