//go:build !race

package conformance_test

// loadJobs is how many jobs the load test runs.
const loadJobs = 1000
