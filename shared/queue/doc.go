// Package queue puts work on the SQS queues that the workers consume, and reads it back from their events: jobs on the one,
// attempts at callbacks on the other.
//
// A message carries only the name of a row: losing one is repaired from the row by the sweeper, receiving one twice finds
// nothing to claim (architecture §3).
package queue
