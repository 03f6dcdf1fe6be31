// Package business is a small order system, the other side of the demo: orders, tickets and refunds of a shop that
// publishes its API as governed tools and trusts nobody without a signature.
//
// It stands for the systems that customers own, so it shares no code with the hub. Its signature check is written from
// core §3.1 and §3.4 alone; agreeing with the hub's signer is the point of the demo. Like a careful business it keeps
// three questions apart:
//
//	authentic?   six-part signature, 300 s window          401 {"error":"bad signature"}
//	allowed?     the subject in X-Bailing-On-Behalf-Of     403 {"error":"forbidden"}
//	done before? X-Bailing-Idempotency-Key on writes       the first answer again
//
// Customers are u_42 (orders SO-1001 to SO-1004) and u_7 (SO-1005, SO-1006). What happens is kept in memory only.
//
//	GET  /orders/{order_no}                order_get
//	GET  /orders?status=&limit=            order_search
//	POST /tickets                          ticket_create
//	POST /refunds                          refund_create
//	GET  /reports/broken                   report_broken: always 500
//	GET  /.well-known/bailing/tools.json   the OpenAPI document, signed reads only (core §3.5)
//	POST /.well-known/bailing/authz-probe  would this subject be allowed? (core §3.7)
//	POST /callbacks                        signed callbacks of the hub (core §2.1)
//
// What was verified is recorded for a person, or a test, to look at.
package business
