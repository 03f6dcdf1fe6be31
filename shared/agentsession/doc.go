// Package agentsession is Agent Auth v1 (agent §2): a local agent is let in by a person on the business's own page, and holds a session
// that can be revoked at any moment.
//
//	agent     Create ──► the browser opens the business's page with the authorization id
//	business  Context, then Approve or Deny ──► the browser takes a code, or an error, to the agent's loopback listener
//	agent     Token (code, PKCE verifier) ──► access and refresh token ──► Token (refresh) ──► ... ──► Revoke
//	business  List, SetSubjectDisplay, RevokeSession, RevokeAuthorization
//
//	authorization   pending ─► approved ─► consumed          denied, expired, revoked and consumed are final;
//	                   ├─► denied  └─► revoked                expired is stored when somebody tries to decide
//	                   ├─► expired
//	                   └─► revoked
//	refresh token   active ─► used          a session that is revoked has no active token, and one whose token was used again has no
//	                   └─► replayed ◄─ used used one either: both follow from the session, see [RefreshToken.StateIn]
//
// # Rooms
//
//	service.go       the commands' ground: the business's token, codes of failures
//	create.go        agent §2.2      decide.go  §2.3 to §2.6      grant.go  §2.7, §2.8      authenticate.go  §1.2
//	revoke.go        §2.10, §2.11    list.go, cursor.go  §2.12    show.go   §2.9, §2.13     views.go  what is answered
//	types.go         records, lifetimes and states
//	body.go          the rules of every member     address.go, form.go  redirects, loopback and pages     token.go  tokens, PKCE, bearers
//	memory.go        whose a token is, which never changes
//	store.go         what the service needs of storage, with the condition of every write
//
// # What holds
//
//   - Codes, access and refresh tokens are kept as SHA-256 alone; errors and logs hold ids (I10).
//   - Reuse of a refresh token kills its session (I8). A repeated request of our own for a rotation is no reuse.
//   - Every change is one conditional write or transaction. Those of a request are conditional on its row, those of a session and its
//     tokens on the session's: nothing happens to a request that was decided, or to a session that was revoked, whatever runs beside.
//   - What was approved is part of what was requested and of what the client may use. It never grows.
//   - The client is read with every call, so that disabling it, or breaking its page, cuts off all its sessions at once.
//
// HTTP belongs to functions/agentauth: paths, methods, sizes of bodies, headers.
package agentsession
