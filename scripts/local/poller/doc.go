// Package poller starts functions that no request starts: [SQS] is the event source mapping between a queue and a
// function, [Schedule] the EventBridge rule (architecture §4). Both send the same JSON events as AWS does.
//
// The queue is a real SQS API behind the SDK's client, so the same poller works against the stand-ins and against AWS. It
// keeps the contract of ReportBatchItemFailures: what the function does not list as failed is deleted, and any
// answer that is not clear deletes nothing. A message that stays comes back when its visibility timeout ends; the poller never
// shortens it, as AWS does not.
//
// Run ends with its context: nothing new starts, running invocations get their grace, then their contexts end too.
// Run returns when the last of them has returned, so no goroutine outlives it.
package poller
