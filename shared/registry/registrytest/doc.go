// Package registrytest helps to test what uses the registry: [Run] is the conformance suite of a registry.Store, and
// [Store] and [Sealer] are in-memory implementations, of which the store passes the suite.
package registrytest
