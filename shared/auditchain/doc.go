// Package auditchain makes an export of audit records of which every change shows.
//
// An export is lines of canonical JSON. Each carries its number, the hash of the line before it, and its own:
//
//	{"hash":H0,"header":{...},"prev":"0000...","seq":0}          what was exported, when, by whom
//	{"hash":H1,"prev":H0,"record":{...},"seq":1}                 one for each record
//	{"hash":Hn,"prev":...,"seq":n,"trailer":{"count":n-1,"final":...}}
//
// A hash is the SHA-256, in lower-case hexadecimal, of the line's canonical JSON without its member "hash". So a line that is
// changed, removed, added or moved breaks the chain where it stood, and a missing end is a missing trailer.
//
// The chain begins when records are exported: it shows what happened to the file since then, to anybody who knows the hash of its
// last line from somewhere else. Whoever can write the whole file anew can make another chain; that one has another last hash.
//
// Pages of one export are joined by writing one behind the other: a [Chain] goes on from where the last page ended.
package auditchain
