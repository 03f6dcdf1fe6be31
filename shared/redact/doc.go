// Package redact hides personal data and credentials in what is shown or logged (core §11.7).
//
// It is the last line of defence: what must not be seen is not recorded in the first place. Numbers, booleans and null
// stay, whatever their name: a count called "tokens" is not a secret.
package redact
