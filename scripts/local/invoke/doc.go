// Package invoke runs a function in this process the way Lambda runs it elsewhere: JSON bytes in and out, a context
// with the invocation's id and deadline, the platform's size limits, and nothing that a handler does can harm
// the caller.
//
// The gateway and the pollers of the local stack are its callers. It differs from Lambda in one point: code cannot be
// killed here, so an invocation past its deadline is told through its context, and is over when the handler returns. Its
// result no longer counts.
package invoke
