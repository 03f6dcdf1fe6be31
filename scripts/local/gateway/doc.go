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
// Streaming functions are refused by New.
package gateway
