// Package handlers finds where the HTTP handlers that the topology names are written, by reading the source of the
// functions. The program beside it prints what it finds; the layout test of the module asks that nothing is missing.
package handlers
