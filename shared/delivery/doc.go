// Package delivery tells business systems how their jobs ended: the job's callback (core §2.4) and the webhook of its route
// (core §2.5). Whatever happens, such a message is delivered, or it waits as a dead letter with its reason (I6).
//
// The transaction that ends a job also writes a row for each target, with the exact bytes that every attempt will send
// ([Compose]). From there on the row is the truth, and a message of the callbacks queue is only a hint that it is due:
//
//	              2xx
//	pending ──claim──► attempt ──┬──────────────────────────────► delivered
//	   ▲                         ├─ 408, 425, 429, 5xx, no answer ► pending, due later
//	   │                         └─ any other status, blocked,
//	   │ replay                     or the last attempt failed ───► dead ──resolve──► dead, resolved
//	   └───────────────────────────────────────────────────────────┘└──resend, 2xx──► delivered
//
// A claim is a conditional write with a lease and a number that only rises; what an attempt learned is saved under that
// number, so two attempts of one row never overlap and a late one changes nothing. A worker that dies after its request was
// answered and before that was saved leads to a second request with the same webhook-id: receivers tolerate duplicates
// (core §2.3), and nothing else could be exactly once.
//
// Attempts follow a schedule of [MaxAttempts] (D7). A delay that the queue can hold travels as a message; a longer one is only in the row, and
// [Sweeper] sends the message when it is due. The same sweep replaces messages that were lost.
//
// Each attempt is signed anew with the present token of the client that owns the job, else with the server token (core §2.2),
// in both styles (D7). Of the receiver's answer only the status and Retry-After count. Attempts of different rows share
// nothing but the worker's concurrency, and each is bounded by [AttemptTimeout]: a receiver that hangs delays its own rows.
//
// Storage is package store, the queue package queue. The package keeps I6, and with the guarded client I7.
package delivery
