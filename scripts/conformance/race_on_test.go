//go:build race

package conformance_test

// loadJobs is how many jobs the load test runs. The race detector makes each several times as slow.
const loadJobs = 300
