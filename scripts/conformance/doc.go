// Package conformance looks at the whole hub from outside, over HTTP alone: as a client that keeps the contract and as one
// that does not. It holds tests only, so that a change anywhere which the outside world could notice fails here.
//
//	replay     exchanges recorded with the reference hub, sent again; what differs on purpose is the table `deliberate`;
//	           what it sent to business systems is compared with what a receiver gets that answers as the recorded one
//	clientapi  the vectors and schemas of client-api v1, as they are served
//	launch     concurrent replays of one request id, the order and the quota of a thread
//	probe      malformed requests, limits at and one past their value, text and numbers that must survive, egress; what the hub
//	           keeps of a tool provider, how it reads a specification and probes a business, and the calls made by hand
//	load       a thousand jobs, after which goroutines and memory are back where they were
//
// Each test starts a hub of its own in memory ([bailing/scripts/local/stack]) with the scripted model of the demo. The recordings
// live in the folder `shared` beside the repository; without it the replay is skipped. Nothing here knows the inside of a
// function, its tables or its queues: what cannot be seen over HTTP is tested where it lives.
package conformance
