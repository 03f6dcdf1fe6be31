// Package clock is the one source of time in the project: every package that needs "now" or waits takes a
// [Clock], so that tests and the fault simulator decide how fast time passes.
//
// [System] is the machine's clock; [Manual] moves only when a test says so; [WithTimeout] gives a context a deadline on either.
// Nothing else lives here.
package clock
