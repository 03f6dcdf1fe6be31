// Package sqs is a strict stand-in for Amazon SQS standard queues over the AWS JSON 1.0 protocol, for tests and the local
// stack. Unmodified aws-sdk-go-v2 clients use it. What it does not implement it refuses with an error that names it.
//
// # What is here
//
// CreateQueue, GetQueueUrl, ListQueues, GetQueueAttributes, SetQueueAttributes, PurgeQueue, DeleteQueue, SendMessage(Batch),
// ReceiveMessage, DeleteMessage(Batch), ChangeMessageVisibility(Batch); redrive to a dead-letter queue. No FIFO queues,
// message groups, system attributes on send, tags, permissions, encryption settings or message move tasks.
//
// # Life of a message
//
//	send ──delay──▶ visible ──receive──▶ in flight ──delete──▶ gone
//	                  ▲                     │
//	                  └──visibility over────┘   the receive after maxReceiveCount moves it to the dead-letter queue instead
//
// # Where AWS leaves room, and what this package does
//
//   - Messages are received in the order in which they became visible first: a queue of AWS only tends to that.
//   - A receipt handle names one receive of one message. Deleting with the handle of an earlier receive succeeds, and the
//     message stays, because somebody else holds it now. Deleting with the last handle works also after the visibility
//     timeout, until the message is received again.
//   - A message that moves to a dead-letter queue keeps its id, its sent time and its receive count.
//   - A queue name can be used again, and a queue purged again, at once; AWS wants 60 s between.
//   - A fault of kind Duplicate hands the messages out and leaves a twin of each in the queue, visible at once and with the same
//     message id, so that a duplicate delivery happens whatever the first receiver does. Twins do not survive a restart.
//
// # Durability
//
// A send, a delete and every change of a queue are acknowledged when the journal has them on stable storage. A receive
// is written to the journal without waiting for stable storage: receive counts survive kill -9, so a message that kills its
// receiver each time still reaches the dead-letter queue, and may lag after a loss of power. Visibility is not kept: after a restart
// every message in flight is visible.
//
// All time comes from the injected clock, long polls included.
package sqs
