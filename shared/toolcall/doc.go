// Package toolcall is the governed call: the one path on which a model's wish becomes a request to a business system
// (core §5; architecture §3). Jobs use it now; executors and agents will use the same one.
//
//	known tool -> object arguments -> schema -> configuration and pause -> subject -> journal -> limits -> approval
//	  -> RESERVE -> one signed HTTP request -> COMPLETE
//
// Each gate can only refuse. A refusal is an [Outcome] that says why, leaves an audit record, and sends nothing. The audit
// record of a call is durable before its request leaves; when it cannot be written the request is not sent.
//
// A request that was attempted and whose answer did not arrive whole is never reported as "not sent": the outcome is
// reconciliation_required, and nothing repeats it by itself, not even a read (core §5.9).
//
// Calls with side effects, of tools that are neither read-only nor idempotent, go through the journal (core §5.8). RESERVE is one
// transaction {fence, the job names this call as open, journal entry, audit record}; COMPLETE is one {fence, no call is open,
// entry completed, outcome, audit record}. So the states of an entry are
//
//	            answered and stored
//	dispatching ──────────────────► completed   the same call again is answered from the entry
//	     │
//	     └────────────────────────► uncertain   the job is frozen: it ends, and a person reconciles
//	        no trustworthy answer
//
// and an entry that is still dispatching when another worker claims the job freezes it too, whether or not the request left.
// A person closes either ([Reconciler]): as closed_happened or closed_not_happened, from which the same call is answered in a
// rerun. Neither is ever dispatched again (D30). Entries are never purged (I1).
//
// An approval is asked for after the limits were charged; the permits go back, since nothing is dispatched (D10). An approved ticket is
// consumed by RESERVE, or by the transaction that begins a call without a journal: whatever refuses the call before that leaves the ticket
// approved and unused (I3). A call that the hub makes itself because it was approved ([Due]) is put off for what can pass ([Deferred]).
package toolcall
