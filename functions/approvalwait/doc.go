// Package approvalwait holds the tasks of the state machine in which an approval waits (architecture §3, "An approval"). The
// machine, infra/machines/approval.asl.json, invokes it in this order:
//
//	notify      tell the business, once, what waits for a decision
//	remaining   say how many seconds are left until the deadline
//	hold        keep the task token in the ticket's row; whoever decides answers it
//	expire      end a ticket whose deadline has passed
//
// The machine is the ticket's clock and no more: the row is the truth, in every order of events. Each task may run twice, late, or
// beside itself. An error asks the machine to invoke again, after a pause that it chooses.
//
// A task about a ticket that does not exist is done: there is nothing to try again for.
//
// The input of a task is not a request of anybody outside: only the machine may invoke this function.
package approvalwait
