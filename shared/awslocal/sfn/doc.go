// Package sfn is a strict stand-in for AWS Step Functions standard state machines over the AWS JSON 1.0 protocol, for tests and the
// local stack. Unmodified aws-sdk-go-v2 clients use it. What it does not implement it refuses with an error that names it.
//
// # What is here
//
// CreateStateMachine, UpdateStateMachine, DescribeStateMachine, StartExecution, DescribeExecution, StopExecution, SendTaskSuccess,
// SendTaskFailure. Of the Amazon States Language, in JSONPath, what a wait for a person needs: Task states that invoke a function,
// with or without a task token, and Succeed; Parameters with paths and the task token, ResultSelector, ResultPath, TimeoutSeconds,
// TimeoutSecondsPath, Retry and Catch. No other state, no express machines, history, versions, aliases, activities, heartbeats,
// jitter, logging or tags.
//
// # Life of a task
//
//	ready ──begin──▶ invoked ──answer──▶ done, or with a token: waiting ──SendTaskSuccess──▶ done
//	  ▲                 │                                          │
//	  └──back-off── failed: the function's error, States.Timeout, SendTaskFailure ──no retry left──▶ caught, or the execution fails
//
// Each attempt has a number of its own within its execution; a token carries it. A token that is answered while its function
// still runs ends the attempt, and what the function answers counts no more.
//
// # Tokens
//
// A token names its execution and attempt and is authenticated with a key that never leaves the service. One that was not made here
// is answered with InvalidToken, one of an execution that is forgotten with TaskDoesNotExist, and one of an attempt that is over in
// whatever way with TaskTimedOut.
//
// # Who invokes
//
// Functions are invoked through [Options].Invoke, or what SetInvoke sets later; until then tasks wait. After Start a goroutine does
// what is due, with as many invocations side by side as Options.Concurrency says. Without Start nothing happens by itself: a test or
// a simulator calls Step, which does the one thing that is due first, in the calling goroutine, and Next, which says when the
// next one is. Due things happen in the order of their times, and at the same time in the order of their executions' starts.
//
// # Where AWS leaves room, and what this package does
//
//   - A wake-up is exact on the injected clock; AWS adds a little.
//   - Ended executions are kept for 90 days, as in AWS, but the 10,000 that ended last at most. A name is free when its execution is
//     forgotten.
//   - Stopping an execution that has ended answers its end.
//   - The events of an execution are not counted; AWS ends one that has 25,000.
//   - The cause of a failed function is the JSON of its error, and its name is the error's type.
//   - An execution that was under way keeps the definition that it was started with, as in AWS.
//
// # Durability
//
// A start, a token's answer, a stop and every change of a machine are acknowledged when the journal has them on stable storage. What the
// machine does by itself is written without waiting: it survives kill -9, and after a loss of power the execution goes on from where the
// journal ends. An invocation that was cut off is made again, with the same token. Time-outs and back-offs are kept as moments,
// and those that passed meanwhile are due at once.
//
// All time comes from the injected clock.
package sfn
