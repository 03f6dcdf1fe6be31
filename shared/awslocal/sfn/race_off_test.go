//go:build !race

package sfn_test

// powerRounds is how many executions lose their power.
const powerRounds = 1000
