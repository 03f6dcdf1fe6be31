// Package canonical holds JSON the way the contract means it: read strictly, kept immutable, written in one form.
//
// A document goes through three steps, each of which other parts of the hub depend on byte for byte:
//
//	source bytes --Parse--> Value --AppendCompact--> request body      (JSON.stringify form, core §5.2)
//	                          |
//	                          +--AppendCanonical--> hash, approval card (sorted keys, core §5.7)
//
// [Parse] refuses what two readers could understand differently: duplicate keys, invalid UTF-8, trailing data,
// numbers that no double can hold (D17). Whatever it accepts keeps its meaning: integer literals beyond 2^53
// keep their digits (D16), lone surrogates survive, members keep their order.
//
// # How a value is kept
//
// A document is its compact text plus one small entry for each container that is not empty. Numbers and strings
// are brought into their final spelling while reading, so writing is copying. An entry holds the length of its
// container's text and the number of entries inside, which makes stepping over a container one addition; two
// flags say whether the text below it already is in property order and in canonical order, so that only objects
// that need sorting are taken apart. A [Value] is a pointer and two numbers; it keeps its whole document alive.
//
// Finding duplicate keys in a large object sorts it, so a document keeps that order for writing. Sorting is by radix, as
// deep as is worth it: a document chosen to be slow, whatever its shape, takes a few times as long as checking its
// grammar and a few times its size (architecture §7).
//
// Nothing here does I/O, and no error text quotes the document: arguments may be secret (I10).
package canonical
