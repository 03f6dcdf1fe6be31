// Package ratelimit decides whether one more call fits a limit of so many per window (core §5.6). It is arithmetic on a value:
// where buckets are kept, and how two writers of one bucket are told apart, is the store's business.
//
// A [Bucket] holds the calls of the last window, the window sliding with the clock. A policy of up to [ExactLimit] calls keeps
// each at its millisecond. A larger one keeps a count for each sixtieth of the window and treats every call as if it had come
// at the end of its sixtieth: a call counts up to 1/60 of the window too long, never too short. A bucket therefore
// stays below 10 KB whatever the policy.
//
//	next, permit, d := bucket.Take(now, policy)   // nothing is shared between bucket and next
//	if d.Allowed { store next; call; if nothing was dispatched { store next.Return(permit) } }
//
// Rules that hold whatever happens:
//   - a limit is never exceeded within any window; while clocks disagree, calls up to a window ahead still count, and a
//     clock that goes back by some time may shorten the memory of the window by as much;
//   - a policy may change from one call to the next: known calls are judged by the new policy, those already forgotten
//     because the old window was shorter are not invented;
//   - a permit is given back at most once: one that has left the window, or was merged by a policy change, stays spent.
package ratelimit
