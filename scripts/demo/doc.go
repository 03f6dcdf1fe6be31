// Command demo runs the main jobs once and shows every step of them: `make demo`.
//
// It starts a fresh stack in memory and refreshes the order system as an operator would: the hub reads its specification from a URL
// that only the hub may read, and asks whether a stranger would be let in. Then it submits three jobs as a business system would:
// one looks an order up and opens a ticket, one asks for a refund, which waits for a person, one meets a business that fails. It
// prints the signed requests that the order system verified, the answers, the timelines and the callbacks. It exits with a status other than 0 when any of it
// is not as it should be, and then shows the logs. With -bootstraps the functions are built programs behind a Lambda
// Runtime API instead of handlers in this process.
package main
