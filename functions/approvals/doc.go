// Package approvals serves those who decide about calls: the decision itself, and the arguments that it is about (core §6.5, D31).
//
// Three proofs open both routes, and each is about one ticket: the server token; the token of an enabled client that owns the job;
// and a signature of the body, in the headers of core §2.1, with the secret that signs the job's callbacks. A token comes in the
// Authorization header, or in the query, which some approval systems cannot avoid. Who proves nothing learns nothing: an unknown
// ticket and a foreign one are the same 401. Only a client that is known hears that a number belongs to no ticket.
//
// A handler decodes the request, calls one command of package approval, and maps the result. What a decision must match is decided
// there, and that of two decisions one wins. A decision that comes twice is answered as the first one was (I9); dying anywhere leaves
// it to the sender to send it again.
package approvals
