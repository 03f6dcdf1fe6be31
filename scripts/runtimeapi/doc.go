// Package runtimeapi runs a function as Lambda does: as processes of its built program, each behind a Runtime API of its own
// (architecture §4). What works here works deployed, as far as the program, its environment and the platform's limits go.
//
// One [Function] is one deployed function. It implements lambda.Handler, so that the gateway and the pollers of the local
// stack invoke it like a handler in their own process. [Host] makes one for each function of a topology.
//
//	Invoke ──► idle process, or a new one ──► GET  /2018-06-01/runtime/invocation/next            the event
//	                                          POST /2018-06-01/runtime/invocation/{id}/response   the answer, 202
//	                                          POST /2018-06-01/runtime/invocation/{id}/error      the function's error, 202
//	                                          POST /2018-06-01/runtime/init/error                 it cannot start, 202
//
// What it enforces:
//
//	event       6,291,456 bytes; larger ones never reach the program
//	response    6,291,556 bytes, streamed 209,715,200; a larger one is refused with 413 and fails the invocation
//	time        the function's timeout, after which the process is killed and the invocation fails; 10 s from start to first poll
//	one         invocation at a time in a process; parallel ones get processes of their own, up to a cap, and wait beyond it
//	freeze      a process stands still (SIGSTOP) from the moment it polls until it gets an event (SIGCONT)
//	environment what the deployment sets and what Lambda adds; nothing of the machine's own
//	order       a second answer, or a poll before the answer, is refused with 403; an unknown invocation with 400
//
// [Function.InvokeStream] passes an answer on while the program still sends it: a POST in chunks with the content type of an HTTP
// integration's stream, whose trailers may say that it failed. It may name its mode ("Lambda-Runtime-Function-Response-Mode: streaming");
// another one is refused with 400. A stream that breaks off, because its program ended or was killed, fails after a part of it.
//
// An invocation is over when its process polls again, ends, or is killed; an answer that was complete before counts in each
// case. A process that ended is replaced when the next invocation needs it.
//
// It differs from Lambda in this: no memory or CPU limit, no read-only file system, no extensions, no limit to a stream's bandwidth, no
// second attempt at a start that failed, and an invocation over the cap waits where Lambda would throttle it. What ends
// the caller's context kills the process too, because here that means that the host is stopping.
//
// Close kills every process and waits for it. On Linux the kernel kills them when this process dies without Close.
package runtimeapi
