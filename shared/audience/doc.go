// Package audience answers two questions about a request from what its submitter says of the person behind it: does a route admit
// it, and which route does `route: "auto"` mean (core §1.3, §1.4; agent §3.1).
//
//	metadata ──► [Resolve] ──► [Principal] ──► [Policy.Admit] ──► admitted, or the one [Reason] why not
//	                                │
//	input, metadata ──► [SearchText]└──► [Decide] ──► the best route, a tie, or none
//
// Jobs and agents use the same evaluation; they differ only in where the principal comes from. A principal is asserted: by the
// client's backend, by a verified ticket, or by the session of an agent. It never comes from a model.
//
// Characters are UTF-16 units (core §0). Nothing here does I/O, and every function is safe for concurrent use.
package audience
