// Package fault lets a test break the AWS stand-ins on purpose: throttle a call, refuse it with a conflict,
// fail it before or after it took effect, delay it, deliver a message twice.
//
// A stand-in asks its [Injector] once for every operation it is about to run. The injector numbers the
// operations of each caller (the access key id that signed the request), so a test can first count the calls of a
// clean run and then kill each of them in turn, without listing any by hand.
package fault
