//go:build race

package compile

// RaceDetector multiplies what the tests of cost measure, and the compiler has one goroutine.
const RaceDetector = true
