// Command bench prints what the product costs on this machine, each number beside a baseline of the same run: absolute
// times say more about the machine than about the product (architecture §7).
//
// Pure work is measured in medians of alternating runs.
//
// Governed calls and callbacks are made by the packages toolcall and delivery themselves, over the stand-ins in memory and
// the guarded client, to the demo business over loopback; limits are off. Their baseline, measured in turns with them, is
// the last of these requests, signature and all, sent again and again to the same business by net/http alone: it reads and
// writes no store, and keeps its connections, where the product opens one for each request so that none is sent twice.
// Client, stand-ins and business share the machine's processors, so what more calls at a time gain depends on how many
// there are.
//
// The two numbers of the whole product come from the local stack, in memory, with its demo business and scripted model in
// the same process: what they are compared with, a bare server that decodes and encodes JSON, bounds what this machine could
// do at all.
package main
