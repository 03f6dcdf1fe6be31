// Package storetest proves what the product relies on of its store, on any backend that speaks DynamoDB and S3: the strict
// stand-ins of this repository, an emulator, or AWS itself. Each subtest is one promise, named after it.
//
// A backend may be fresh for every subtest or one for all of them: the suite draws its own ids and never assumes that a
// table is empty. It only looks at what callers can see; the few rows that the store itself would never write (another
// schema version, a damaged object) are planted through the clients of the [Backend].
//
// How the store behaves while requests fail belongs to the tests of package store: only a stand-in fails on demand.
package storetest
