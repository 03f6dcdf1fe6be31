//go:build race

package canonical

// raceEnabled: the race detector changes what escapes to the heap.
const raceEnabled = true
