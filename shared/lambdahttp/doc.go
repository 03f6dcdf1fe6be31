// Package lambdahttp is everything between a Lambda event of API Gateway's REST API and an http.Handler
// (architecture §2, §4; core §0.1).
//
//	event --Handler--> *http.Request --Mux--> http.HandlerFunc
//	        recover, ids, access log,         method and path exactly
//	        one response, size limit          as the topology lists them
//
// A function builds its router with [Mux] from its own entry in the topology, and gives it to [Handler], whose
// result goes to lambda.Start in a deployment and to the local gateway in development: both hosts run this code.
// Handlers read bodies with [ReadJSON], credentials with [BearerToken], and answer failures with [WriteError].
//
// Promises to handlers:
//
//   - The body is the exact bytes that the caller sent. r.URL.Path is decoded, r.URL.EscapedPath is as sent.
//     r.Host is the host that the caller addressed. r.RemoteAddr is the caller's IP address without a port, from
//     the gateway's request context only: X-Forwarded-For is data, never identity (D24).
//   - The context ends with the invocation and carries [RequestID] and [TraceID].
//   - A response behaves as in net/http: the first WriteHeader counts, headers freeze there, a handler that writes
//     nothing answers 200, and HEAD, 204 and 304 carry no body.
//
// Promises to callers: whatever goes wrong in here is a JSON answer. An event whose path or body cannot be decoded is 400;
// a panic, or an answer that does not fit into a Lambda response, is a 500 that shows only the request id, with
// the cause in the log. An invocation never fails because of a request.
//
// One line per request is logged, with ids, route and status; never query values, headers or bodies (I10).
//
// Only buffered answers live here: a streaming function cannot go through an http.ResponseWriter that is read after the end.
package lambdahttp
