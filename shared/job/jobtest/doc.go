// Package jobtest is a hub in a test: the real store over the AWS stand-ins in memory, with a clock that stands still, a
// model that follows a script, a business that answers what it is told, and a queue that remembers. Only tests import it.
//
// Records are written straight through the store: what the administrator's commands would refuse is for package registry
// to test. Everything that a test does not set has a default that works, so that a test names only what it is about.
package jobtest
