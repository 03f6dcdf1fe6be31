// Package waits starts and ends the executions of Step Functions in which approvals wait for their decision.
//
// The ticket's row is the truth, and an execution its clock: losing one delays a notification or an end until the sweeper comes
// by, and decides nothing. So both operations may be repeated, by anybody and at any time, and what finds the wait over
// already has succeeded.
package waits
