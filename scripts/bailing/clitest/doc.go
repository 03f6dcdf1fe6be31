// Package clitest runs commands in tests: with a world of their own, against a stub of a hub, and compared with golden files.
package clitest
