// Package agentauth serves /agent-auth/v1: a local agent asks to be let in, a business lets it in on behalf of a person, and the session
// that comes of it lives, is listed and ends (agent §2).
//
//	agent      POST authorizations, POST token, GET session, POST revoke
//	business   GET authorizations/{id}, POST .../approve, .../deny, .../revoke,
//	           GET sessions, POST sessions/{id}/revoke, PUT sessions/{id}/subject-display
//
// A handler looks at the path, then at the credential, reads the body, calls one command of package agentsession and writes what it
// answers; every rule about bodies, and every state, is decided there. Of a body that cannot be read, because it is too long or no
// JSON, the command is told nothing more (agent §1.3). The function is invoked for every method and path below /agent-auth/, so that
// what is refused is refused in this surface's form: {"error":"<code>"}, which no cache keeps (agent §1.1, §1.8).
//
// Credentials come from the Authorization header alone, exactly as agent §1.2 writes it. The limit on new authorizations counts by the
// address that the gateway saw, never by one that a header claims (D24). Codes, tokens and verifiers are in no log line and no error.
//
// A handler that dies leaves nothing half done: each command writes with one transaction. Sent again, a request meets what the first
// one did; for a refresh that is the end of the session (D26).
package agentauth
