// Package crashtest kills a process of the product at every call it makes, for tests.
//
// A [Victim] stands between one function and the world: every request to AWS, by the fault hook of the stand-ins, and every
// connection to anything else, by the dialer, is one step. A test first lets a victim live and counts its steps; then it
// starts a fresh world for each of them and kills the victim before the step, or after it took effect and before its answer
// arrived. Nobody lists steps by hand, so a new one is killed from the day it is added.
//
// A dead victim's requests reach nobody: what it would still do while it unwinds has no effect, as with a real kill.
// [Clock] lets the time pass that leases, retries and schedules need.
package crashtest
