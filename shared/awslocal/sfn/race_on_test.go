//go:build race

package sfn_test

// powerRounds are fewer where each takes ten times as long.
const powerRounds = 100
