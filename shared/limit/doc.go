// Package limit takes permits from rate-limit buckets that many processes share (architecture §3, D4, D10).
//
// A bucket lives in the store; package ratelimit decides what its content means. The reader of a request brings the
// buckets along with its own batched read, so that all gates are decided before any is charged. Charging is one
// conditional write per bucket; a writer that lost the race decides again from the row that the failed write returned.
//
// Only the process that took a permit gives it back, at most once, when nothing was done with it. After a crash the
// permit stays spent until its window has passed: the limit errs towards refusing.
package limit
