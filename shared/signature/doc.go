// Package signature makes and checks every keyed digest of the contract. Each is HMAC-SHA256 over text that both sides
// build alike; what differs is the text, the unit of the timestamp, and the window.
//
//	what                    signed text                                     time          window
//	tool call, spec fetch   time.METHOD.path?query.sha256(body).subject.job seconds       under 300 s          core §3.1, §3.5
//	callback, decision      time.body                                       milliseconds  300 000 ms included  core §2.1
//	standard webhook        id.time.body                                    seconds       (receiver's)         D7
//	visitor ticket          base64url payload                               in payload    until exp            core §3.6
//	tool token              job.claim token                                 none          while claimed        core §7.6
//
// The idempotency key (core §5.7) lives here too: it is a plain hash, and travels beside these.
//
// Signing never fails. Verifying answers nil or one of three errors: [ErrMalformed] (not of the form at all), [ErrStale]
// (outside the window or expired), [ErrBadSignature]. Comparisons take constant time, an empty key verifies nothing, and no
// error text holds any part of the input. A valid signature says who sent a request, never that it is allowed.
//
// Nothing here reads a clock or a request: callers pass both.
package signature
