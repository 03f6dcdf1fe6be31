// Package agentclient is the client side of Agent Auth (agent §2): what a program on a person's machine needs to act at a hub in
// that person's name. The person consents in a browser on the business's own page; the program gets a session that can be revoked,
// and never a password.
//
//	Login   --create--> hub        a state and a PKCE challenge go along, the verifier stays here
//	        --browser--> business  the person consents
//	        <--redirect-- browser  to a listener on 127.0.0.1: the one-time code and the state
//	        --exchange--> hub      code and verifier become the tokens of a session
//	AccessToken                    the stored access token, refreshed before it expires
//	Renew                          after a 401: a token that is not the refused one
//	Session                        what the hub says about the session
//	Logout                         ends it, at the hub and here
//
// [Hub] speaks the wire and remembers nothing. [Client] keeps one session in a [Store]: [FileStore] is a file that only its owner can
// read, [MemoryStore] forgets everything with the process.
//
// # One refresh at a time
//
// A refresh token is good for one use, and a second use ends the session (agent §2.8, I8). Refreshes therefore run under the lock
// of the store, which holds between goroutines and between processes, and what is stored is read again under it: whoever comes second
// finds the new tokens there.
//
// Before a refresh token is sent, the store says so ([Credentials.RefreshStarted]). What follows:
//
//	the hub answers with tokens      they replace the old ones, as a whole
//	the hub says invalid_grant       the session has ended; what is stored is deleted, and the person logs in again
//	the request never left, or was   nothing happened; the token stays good
//	refused before it was read
//	no answer, or one that says      nobody knows whether the token was used. The next caller sends it once more: if it was not
//	nothing                          used the session goes on, else the hub ends the session
//
// The last row is also what a process leaves behind that dies between the answer of the hub and the write: the new tokens existed in
// its memory only. The session is lost then. The next caller learns it as [ErrSessionLost], and the person logs in again.
//
// # Answers are judged
//
// Every answer is bounded, read strictly and compared with the rules of agent §13.1 and §13.2; what breaks one is a [RuleError] that
// names the rule. Members that are not known are ignored. No redirect is followed. A hub is https, or http on 127.0.0.1 or [::1].
// Nothing here logs, and no error contains a code, a token or a verifier (I10).
//
// It knows the wire alone: it imports no other package of the hub but pure ones, and runs where there is no hub.
package agentclient
