// Package approval is the ticket: the frozen question to a person whether one call of a tool may be made, with exactly these
// arguments (core §6.1 to §6.3).
//
//	governed call ──needs approval──► pending ──► approved ──► used
//	                                     │
//	                                     ├──► denied
//	                                     └──► expired
//
// A decision is recorded by [Clerk], in one transaction with what follows from it for the job. [Keeper] has the tasks of the execution that is
// the ticket's clock, and the sweep that repairs what an execution lost. The row is the truth in every order of events: a decision
// before the token is there, after the deadline, twice, or beside another one.
//
// Whether a call needs a ticket is decided by the tool's rules (package capability); the governed call makes tickets, reports and uses
// them (package toolcall, which imports this one); the worker makes approved calls (package jobrun); storage is package store.
//
// A ticket authorises exactly the bytes in its intent (I3): they are complete, whatever their size, and their hash is the one
// by which the call is journalled. It is used once, in the transaction that reserves the dispatch. Every ticket has a deadline, also one that is
// approved and unused (I5). What a sensitive tool was asked to do is stored sealed (I10).
package approval
