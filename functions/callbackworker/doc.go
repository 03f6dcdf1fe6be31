// Package callbackworker consumes the callbacks queue: one message, one attempt at one callback or delivery, made by package
// delivery. The messages of a batch are attempted side by side, so that a receiver that hangs keeps no other waiting.
//
// A message whose attempt was made, or that is not due, is done. A message is reported as failed only when its row could
// not be read or saved, or when it is none of ours; it then comes again and ends in the dead-letter queue. The callback is
// safe either way: its row, not the message, says what is still to be done.
package callbackworker
