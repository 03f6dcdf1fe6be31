// Package jobworker consumes the jobs queue: one message, one job, run by package jobrun.
//
// A message whose job was run, or cannot be claimed, is done. A message is reported as failed only when the job's state
// could not be saved, or the message is none of ours; it then comes again and ends in the dead-letter queue. The job is
// safe either way: its row, not the message, says what it still needs.
package jobworker
