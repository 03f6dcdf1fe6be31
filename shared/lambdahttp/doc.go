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
// # Long calls
//
// An endpoint may take longer than the 29 s of a buffered answer (architecture §3). Its function is a streaming one: made with
// [Streaming] in place of [Handler], run by [Start]. The endpoint is the same http.HandlerFunc. It calls [Passed] when every gate has
// passed, and says there what a failure looks like from then on.
//
//	request ──► endpoint, in a goroutine of its own ──► returns before the commit: its own status, headers and body
//	                 │
//	                 └── Passed, and 15 s since the request began ──► commit: 200 application/json and a line feed,
//	                                                                  a line feed every 15 s, then the body
//
// After the commit everything is a 200 with valid JSON: the endpoint's body, or what its late function makes of an error, a panic, an answer
// too large, or one that is no JSON. An endpoint that never calls Passed answers plainly, however long it takes.
//
//   - The stream ends after the endpoint has returned, never before: Lambda freezes a function whose answer has ended. Its context
//     ends [SendMargin] before the invocation, so that what was saved by then can be sent; a call whose time limit does
//     not fit before that deadline is not begun (toolcall.ErrNoTime).
//   - When the client leaves, nothing changes for the endpoint: nobody tells the function, and what the call does is saved as ever. Closing the
//     stream early waits for the endpoint too. The client asks again, and finds the outcome, or that it is in progress.
//   - When the function is killed (its time, its memory, a deployment), the client gets an answer that is cut: white space is no JSON, so
//     it cannot be taken for one. What is true then is what was saved: after RESERVE, a call whose outcome nobody knows.
//   - When the same request runs twice, beside itself or later, these are two requests here. That only one of them dispatches is the
//     endpoint's promise (idempotency keys, the journal, locks); nothing of a request is kept in here after its stream.
//   - A client that reads slowly, or not at all, holds back the stream and not the endpoint. White space is made when it is asked for,
//     and bytes that were missed are not made up for.
package lambdahttp
