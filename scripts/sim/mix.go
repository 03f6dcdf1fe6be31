package sim

import (
	"time"
)

// mix is how likely each fault is in a schedule.
type mix struct {
	name    string
	workers int // invocations of one queue side by side
	cold    float64
	skew    time.Duration // of the clocks of functions
	jump    float64       // of a clock, a minute
	early   int           // sweeps by a clock that jumped, while workers are busy

	crash    float64 // at a step
	throttle float64
	conflict float64
	fail     float64 // an error, before or after a request took effect
	drop     float64 // a request or its answer is lost
	delay    float64
	longest  time.Duration

	lose, twice, again float64 // messages

	refuse float64 // a connection
	broken float64 // a business, a receiver or a model does not do what it should

	sweep    float64 // a sweep although nothing is due, a minute
	operator float64 // acts, a minute
}

// newMix draws the faults of a schedule: the first is gentle, the second breaks mostly the hub, the third mostly the others.
func newMix(s *schedule, n int) mix {
	some := func(most float64) float64 { return most * s.rng.Float64() }
	m := mix{
		workers: 2 + s.rng.IntN(3), cold: some(0.2), skew: s.between(0, time.Second), sweep: 0.1, operator: 0.15,
		delay: some(0.02), longest: s.between(100*time.Millisecond, 10*time.Second),
		lose: some(0.05), twice: some(0.1), again: some(0.1), broken: some(0.1), refuse: some(0.02),
	}
	switch n % 3 {
	case 0:
		m.name = "gentle"
		m.crash, m.throttle, m.conflict, m.fail, m.drop = some(0.004), some(0.02), some(0.02), some(0.01), some(0.01)
	case 1:
		m.name = "the hub breaks"
		m.crash, m.throttle, m.conflict, m.fail, m.drop = 0.002+some(0.015), some(0.05), some(0.05), some(0.03), some(0.03)
		m.lose, m.twice, m.again = some(0.2), some(0.3), some(0.3)
		m.jump, m.early = 0.3, s.rng.IntN(4)
	case 2:
		m.name = "the others break"
		m.crash, m.throttle, m.conflict, m.fail, m.drop = some(0.003), some(0.01), some(0.01), some(0.01), some(0.01)
		m.broken, m.refuse, m.delay, m.longest = 0.1+some(0.4), some(0.1), some(0.05), s.between(time.Second, 60*time.Second)
		m.operator = 0.5
	}
	return m
}

// draw decides the fault of a step.
func (w *world) draw(st *step) fault {
	m := w.mix
	r := w.rng.Float64()
	is := func(p float64) bool {
		r -= p
		return r < 0
	}
	either := func(a, b fault) fault { return pick(w.schedule, a, b) }
	if st.by != w.nobody && !st.by.told && is(m.crash) {
		return either(crashBefore, crashAfter)
	}
	switch st.kind {
	case toAWS:
		switch {
		case is(m.throttle):
			return throttle
		case is(m.conflict) && isDynamoDB(st.key):
			return conflict
		case is(m.fail):
			return either(errorBefore, errorAfter)
		case is(m.drop):
			return either(lost, answerLost)
		}
	case toConnect:
		if is(m.refuse) {
			return refused
		}
	}
	return none
}

func isDynamoDB(key string) bool { return len(key) > 9 && key[:9] == "dynamodb " }
