// Package account holds the accounts of administrators and their sessions (core §0.2, §10.1).
//
//	account.go    accounts, sessions, identities; rules for names
//	password.go   hashing with argon2id, generated passwords
//	throttle.go   failed logins of one address and user name
//	login.go      login, and the bootstrap administrator
//	session.go    what a cookie authenticates, renewal, logout
//	change.go     an administrator gets another password, by the old one
//	manage.go     list, save and delete accounts
//	roster.go     what may not happen to the last administrator, to oneself, and to one's betters
//	body.go       reading members of a request
//	service.go    what the commands need, and what they ask of a store
//
// A session is a random token of which only the SHA-256 is stored. Its row carries the epoch of its account. The account
// gets a new epoch with each new password and when it is disabled, and every request reads both rows, so all of these, and
// deleting or demoting somebody, bite on the next request, without a search for sessions.
//
// The roster is one row that names every account and says who may manage accounts. Every save and every deletion of an account
// writes it in the same transaction, so that of two administrators who remove each other one fails, of two first logins one
// creates the bootstrap administrator, and nobody manages accounts by permissions that were taken away meanwhile.
//
// Passwords, tokens and hashes are in no list, log, error and audit record (I10). Nothing here does I/O.
package account
