// Package outbound is the only way a request leaves the product: tool calls, callbacks, approval notices,
// specification reads, probes and model calls all go through one [Client].
//
// # What it promises
//
// Invariant I7 (core §2.8): no request goes to an address that was not permitted at connect time, and no
// redirect is followed. For each connection the client
//
//  1. refuses a URL that is not plain http or https with an ordinary host ([CheckURL] gives the same answer
//     when a URL is saved),
//  2. resolves the host once and checks every address that came back against the ranges of [Classify]; one
//     denied address refuses the whole answer,
//  3. dials one of the addresses that it checked, never the name, so a second DNS answer has no effect,
//  4. compares the connected peer with the address it dialled before a byte of the request is written.
//
// The table of hostile spellings (egress_*_test.go) holds the tricks against these steps, one row each, before
// listeners that must hear nothing.
//
// An operator opens private networks with a [Policy] (BAILING_EGRESS_ALLOW). Proxy settings of the environment,
// cookies, HTTP/2 and transparent decompression are all off.
//
// The request line carries the URL's path and query byte for byte, because the caller may have signed them.
//
// One send: a request marked OneSend travels on a connection of its own, which net/http never retries. Without
// the mark a request that has a body is not retried either; one without a body may be repeated by net/http when
// a kept-alive connection turns out to be dead, which is why everything that may act at the far end is marked.
//
// # Outcomes
//
// A [Response] means: status, headers and the whole body, or its first MaxResponse bytes, arrived. Anything else
// is an [*Error] that says in which phase the attempt ended, whether a connection was ever made, and whether a
// byte of the request may have left; that is the evidence for decisions D13 and D30. Text of errors names host
// and phase, never path, query, header or body.
//
// # What may not live here
//
// Signing, retry policies, and what a status means to a caller.
package outbound
