// Package job is the life of a job: launching it exactly once per request id, keeping its thread in order, claiming it
// with a fencing token, and bringing it to a terminal state whatever dies in between (core §1, §7.5; architecture §3).
//
//	                 launch gates
//	POST /run ──┬──────────────────────────────────────► rejected
//	            │                       retry, yield,
//	            │                     ┌─ lost lease ─┐
//	            └──► queued ──claim──►│   running    ├──► done
//	                   │              └──────────────┘──► error
//	                   └─ nobody took it for 30 minutes ─► error
//
// An administrator may queue an ended job again ([Rerunner]); it goes through the same states, and ends once more.
//
// So does an approval ([DueTicket]): the job is marked, queued again if it has ended, and does not end before the approved call was made or it is
// on record why not.
//
// A thread is a queue of at most [MaxInFlight] jobs with one head; only the head may be claimed. The transaction that
// finishes the head makes the next job head. Messages on the jobs queue are hints that carry an id: a lost one is
// repaired by [Sweeper], a second one finds nothing to claim.
//
// The transaction that ends a job also writes the outbox: a row for each receiver that has to be told (package delivery).
//
// Every write of a worker is conditional on the claim number that it was given. A claim only rises, so a worker that was
// presumed dead cannot change the job after another one took it over.
//
// Running a claimed job (model rounds and governed calls) is package jobrun; storage is package store. Neither is
// imported here. Whom a route admits, and which route "auto" means, is decided by package audience. The package keeps I5, and I9
// for request ids.
package job
