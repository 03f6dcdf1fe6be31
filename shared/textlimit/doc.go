// Package textlimit counts, cuts and classifies text by the contract's rules, which are ECMAScript's: a "character" is a
// UTF-16 code unit, white space is what String.prototype.trim removes (agent §1.4, core Appendix E 7 and 8).
//
// Every function accepts any string. A surrogate in three-byte form (WTF-8, as package canonical decodes lone
// surrogates) counts one unit; a byte that belongs to nothing counts one unit, because a decoder would show it as
// one U+FFFD. The predicates for names are written out by hand: they run on every request, and a regular
// expression would cost more than the rest of the check. Nothing here knows where a limit applies; callers bring the
// numbers.
package textlimit
