// Package stack is the whole product on one machine: the AWS stand-ins, every function of the topology behind an API
// Gateway front, its queue and schedule pollers, and on request a demo business with a scripted model.
//
// It is the topology's second host, beside the CDK stack: tables, queues, routes and schedules are created from
// topology.System, and functions get the same events through the same JSON. With a directory everything acknowledged
// survives the process; without one the stack lives in memory. Functions run in this process, or wherever a [Builder] runs them.
package stack
