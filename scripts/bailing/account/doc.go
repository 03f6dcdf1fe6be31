// Package account holds the commands about who asks a hub: login, logout, whoami, password, and `bailing admin ...` for the
// accounts of administrators (core §10.1). Passwords are never on the command line, where other users of the machine read them.
package account
