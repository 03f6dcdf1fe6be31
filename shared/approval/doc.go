// Package approval is the ticket: the frozen question to a person whether one call of a tool may be made, with exactly these
// arguments (core §6.1 to §6.3).
//
//	governed call ──needs approval──► pending ──► approved ──► used
//	                                     │
//	                                     ├──► denied
//	                                     └──► expired
//
// What lives here is the record, what it freezes, and how it is made. Whether a call needs one is decided by the tool's rules
// (package capability); the governed call looks tickets up and reports them (package toolcall, which imports this one);
// storage is package store. So far tickets are only created: every ticket is pending until its deadline.
//
// A ticket authorises exactly the bytes in its intent (I3): they are complete, whatever their size, and their hash is the one
// by which the call is journalled. Every ticket has a deadline (I5). What a sensitive tool was asked to do is stored sealed
// (I10).
package approval
