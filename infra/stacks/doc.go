// Package stacks turns a topology into two CloudFormation stacks (architecture §4).
//
//	stateful    tables, queues with their dead-letter queues, the bucket, the key of envelope encryption, the server token.
//	            Everything in it is retained: deleting the stack deletes no data.
//	stateless   functions, their roles, triggers and logs, state machines, the REST API, alarms and the dashboard. It can be deleted and
//	            deployed again at any time.
//
// Nothing here lists a table, queue, function or route: they come from [topology.Topology]. What a deployment may choose
// is in [Options], and nowhere else.
//
// Promises:
//
//   - A role may do what the topology grants its function, write its own log, and read the server token if one of its routes
//     asks for a credential or it signs. No more: no managed policies, no wildcards but the objects of the bucket and the streams
//     of a log.
//   - The same topology, options and bootstraps give the same bytes. Constructs are created in the order of slices, never of
//     maps.
//   - No secret is in a template or in a function's environment.
package stacks
