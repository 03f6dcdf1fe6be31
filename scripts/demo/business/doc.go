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
//	POST /approvals                        signed questions of the hub (core §6.4)
//
// People log in to it, too: a local agent opens the consent page, where the person whose account it is lets it in or not (agent §2).
// The page needs no script. Its server alone knows the Client Token, and sends the browser to the agent's loopback listener or nowhere.
//
//	GET  /agent/authorize?authorization_id=   who asks for what; a login first
//	POST /agent/authorize                     approve, or deny
//	POST /agent/login, POST /agent/logout     of this business; the hub knows no people
//
// What was verified is recorded for a person, or a test, to look at.
package business
