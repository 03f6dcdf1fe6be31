// Package sweeper runs once a minute and repairs what a lost message or a dead worker left behind (core §7.5): it sends
// the message of a runnable job again, takes jobs back whose lease ran out, and ends those that nobody took. It does the same
// for callbacks and deliveries, and sends the messages of those that waited longer than a queue holds one (D7).
//
// Two sweeps may run side by side, and one may die anywhere: every row is moved by a conditional write of its own.
package sweeper
