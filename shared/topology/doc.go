// Package topology describes the deployed system once, as plain data: tables and indexes, queues and redrive,
// the object bucket, the state machine, and each function with its exact HTTP routes, events, memory, timeout and permissions
// (architecture §4).
//
// Everything that hosts or documents the system is derived from it: infra turns it into CloudFormation,
// scripts/local into a running stack, the OpenAPI document is checked against it, and the functions build their
// routers from it. Nothing else lists a route or a table.
//
// [Validate] holds the rules that a deployment would otherwise discover late: API Gateway allows one variable child
// per level of the resource tree, a queue's visibility timeout must outlast six runs of its function, and every
// grant must name something that exists.
package topology
