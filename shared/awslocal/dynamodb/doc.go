// Package dynamodb is a strict stand-in for Amazon DynamoDB: the operations that bailing uses, over the AWS JSON 1.0
// protocol, so that an unmodified aws-sdk-go-v2 client talks to it. It is for tests and the local stack.
//
// # Operations
//
// CreateTable (PAY_PER_REQUEST), DescribeTable, ListTables, UpdateTable (to create one index), DeleteTable, UpdateTimeToLive,
// DescribeTimeToLive, PutItem, GetItem, UpdateItem, DeleteItem, Query, Scan, BatchGetItem, BatchWriteItem, TransactWriteItems and
// TransactGetItems.
// Any other operation, and any request member that the stand-in does not read, is refused with an error that names it:
// nothing is ever ignored in silence.
//
// # Promises
//
//   - Durability: an operation is acknowledged, and its effect seen by others, only after [Journal.Append] returned.
//     Writers that arrive while an append runs share the next one (commit.go).
//   - Isolation: all writes are decided one after the other, and a transaction becomes visible as a whole.
//   - Strictness: what DynamoDB refuses is refused, with its error code. Where the service leaves an order open (Scan,
//     BatchGetItem) the answer is ordered by a hash, so that nobody comes to rely on an order.
//   - Bounded memory: idempotency tokens are forgotten after ten minutes; expired items leave with [Service.Sweep].
//
// # Known differences
//
// Reads are always consistent. Signatures are not verified. ConsumedCapacity counts the table, not its indexes. Messages
// are close to the service's, codes are the same. A transaction meets a conflict only when a fault is injected. A table or
// index is ACTIVE when its creation is answered: there is no time in which it is CREATING, or the table UPDATING and in use.
//
// # Faults
//
// Every request asks the fault injector once. Throttle refuses the request, except for a BatchGetItem or BatchWriteItem of more
// than one item: that processes the first half (rounded up; tables by name, then request order) and returns the rest as
// unprocessed. Conflict concerns item writes and transactions, the operations that can conflict; others run normally.
//
// # Layout
//
// http.go and decode.go are the protocol, one file per family of operations follows (admin.go, updatetable.go, read.go, query.go,
// batch.go, transact.go, ttl.go); write.go decides a single write; table.go and state.go hold the data, commit.go makes it
// durable, record.go is the journal's format. Values, expressions and the sorted map are the packages attr, expr and
// ordered below this one.
package dynamodb
