// Command routes prints the HTTP surface from the topology: method and path, the function that serves them, and the file
// and line of the handler. Run it in the root of the module; it exits with 1 when a handler cannot be found.
//
//	go run ./scripts/routes
package main
