//go:build !race

package compile

const RaceDetector = false
