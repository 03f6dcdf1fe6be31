// Package bailing is the root of the module; it holds no code, only the test that keeps the layout.
//
//	functions/   one folder per Lambda: its handlers, and bootstrap/ with its main
//	shared/      what more than one function uses, one idea per package
//	infra/       the CDK app; it alone imports CDK
//	events/      sample Lambda events
//	scripts/     programs for people: the local stack, the demo, benchmarks
//
// Which package may import which is a table in layout_test.go; docs/architecture.md explains it.
package bailing
