// Package jobrun runs one claimed job of the llm target (core §11.2): it rebuilds the conversation from the saved rounds,
// asks the model, makes the governed calls that it wants, and finishes the job.
//
//	load rounds ─► unfinished calls of the last round ─► model round ─► save ─► calls ─► ... ─► finish
//
// Everything that decides what happens next is derived from the saved rounds, so a worker that dies or runs out of time is
// continued by the next one where it stopped: a model round is saved before its calls run, and each call's outcome is
// saved when it is known. Nothing is kept in memory between two workers.
//
// Calls that a person approved come before everything else: each becomes a round of its own, with the arguments that its ticket froze.
//
// A job whose last side-effecting call has no known outcome makes no further call and asks no model: it ends, and a person
// reconciles it. Whoever claims such a job finds the call named in its row and does only that (I4, core §5.8).
//
// Before a model round or a call the remaining time of the invocation is compared with the timeout that it may need; if it
// is too short, or the hub is paused, the job goes back to the queue.
package jobrun
