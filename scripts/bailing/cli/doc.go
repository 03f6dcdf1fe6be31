// Package cli is what the commands of the command line have in common: the tree of commands with its help, flags that may stand
// anywhere, streams that tests replace, exit statuses, and plain output that fits the terminal.
//
// Exit statuses:
//
//	0    what was looked at is fine
//	1    it is not: errors in a specification, weaker protection, a refused refresh
//	2    the command could not do its work: wrong usage, unreadable input, a hub that does not answer
//	130  interrupted
//
// Results go to standard output, everything else to standard error. With --json standard output is one JSON document or empty.
//
// Text of a specification or a hub is not trusted: [Clean] takes out what could steer a terminal.
package cli
