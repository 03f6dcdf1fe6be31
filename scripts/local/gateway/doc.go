// Package gateway is the local stack's API Gateway: an http.Handler that turns real HTTP requests into the proxy events
// of a REST API with the binary media type */*, invokes functions with them, and turns their answers back
// (architecture §4, D20, D24).
//
// It is deliberately as strict as the service, so that what works here works deployed: its route tree, its limits and
// the answers it gives itself, its 29 seconds, what it does to headers. It knows nothing about the product: which function
// serves a route comes from the topology, and everything passes through JSON.
//
// The answers of its own, with Content-Type application/json:
//
//	404 {"error":"not found"}                          no such resource or method (the response that the deployment maps)
//	400 {"message":"Bad Request"}                      a body that cannot be read
//	403 {"message":"Forbidden"}                        a path outside the stage
//	413 {"message":"Request Too Long"}                 body over 10 MiB, or an event over Lambda's limit
//	431 {"message":"Request Header Fields Too Large"}  request line and header values over 10,240 bytes
//	502 {"message":"Internal server error"}            the function failed, or its answer is none
//	503 {"message":"Service Unavailable"}              after Shutdown
//	504 {"message":"Endpoint request timed out"}       no answer within 29 s; the function goes on
//
// An invocation belongs to the Gateway, not to the request: it goes on when the client leaves, and Shutdown waits for it.
//
// A streaming function's answer reaches the client piece by piece, each flushed. Its limits are the service's, and one of this host:
//
//	16 KiB  within which status, headers and the zero bytes behind them must be there; else 502
//	15 min  for the whole answer
//	5 min   without a byte from the function, from the request on
//	30 s    for a client to take one piece; one that does not is taken for gone
//
// Until the head of the answer is sent, what goes wrong is 502 or 504 as above; afterwards the connection is cut, so that no client
// takes half an answer for a whole one. Nothing is kept but the piece that is on its way: a slow client holds the function's stream
// back, never its work. When the client is gone the stream is read to its end and dropped.
package gateway
