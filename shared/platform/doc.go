// Package platform is what a function stands on: configuration from the environment, logs, metrics, and the wiring of
// stores, queues and clients to AWS (architecture §2).
//
// A function builds one [Platform] when it starts and takes from it only what it uses; each part is a method of its own, so
// that the linker leaves the others out of its binary. Nothing here decides anything about the product.
//
// The same wiring runs against AWS and against the stand-ins of awslocal: the endpoint is configuration.
package platform
