// Package agentclienttest is a stand-in for the Agent Auth surface of a hub (agent §2), for tests of its clients: it keeps
// authorizations and sessions in memory, counts how often each refresh token is presented, and misbehaves on demand.
package agentclienttest
