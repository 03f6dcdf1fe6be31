// Package specfile reads a specification for the author's commands: from a file, standard input or a URL, the last as a hub
// reads it (core §3.5, §4.2). It finds the lines that diagnostics speak of, and can make a preview in which every operation is
// enabled.
package specfile
