// Package chance draws the random numbers of back-offs, jitter, marks and ticket numbers. They come from the generator of
// crypto/rand, which a test can seed (testing/cryptotest), so that the fault simulator replays a run exactly.
package chance
