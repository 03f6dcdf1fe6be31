// Package hub is how the commands reach a hub: which hub and as whom (profiles and the environment), one request at a time, and
// an error that says what to do for every answer that is no result.
//
// A profile is one file, readable for its owner only, with the address of a hub and the session of an administrator (core §10.1).
// The environment wins over it. A session is only ever sent to the hub that gave it.
package hub
