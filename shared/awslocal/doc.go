// Package awslocal is a strict stand-in for the AWS services that the product uses: DynamoDB, SQS, S3 and Step Functions, all on one
// port, over the AWS wire protocols. Unmodified aws-sdk-go-v2 clients use it. Tests run it in memory, often on a manual clock and with
// injected faults; the local stack runs it in a directory, where it survives kill -9 with nothing acknowledged lost.
//
// # Rooms
//
//	dynamodb/      tables, expressions, transactions, indexes
//	sqs/           standard queues
//	s3/            buckets and objects
//	sfn/           state machines that invoke functions and wait for task tokens
//	wal/           the append-only log that makes each of them durable
//	fault/         what a test breaks on purpose
//	wire/          what SQS and S3 share at the HTTP boundary
//	awslocaltest/  starts a server in a test
//
// This package composes them: it opens the logs, dispatches requests by protocol, sweeps expired items once a second, and ends
// everything on Close.
//
// # Promises
//
//   - What a service answers is what AWS documents; what is not implemented is refused with an error that names it.
//   - No signature is verified, and no permission is checked. The access key id tells callers apart, for faults only.
//   - All time comes from the injected clock.
//   - One process at a time uses a directory; a second one is refused with an error that names the lock.
//
// It is for tests and the local stack, and is never linked into a Lambda.
package awslocal
