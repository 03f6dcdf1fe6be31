package operate

import (
	"strings"
	"testing"
)

const (
	agentSessionID   = "6f1c2f5e-8c3b-4c5a-9d7e-0a1b2c3d4e5f"
	agentSessionJSON = `{"session_id":"` + agentSessionID + `","client_app_id":"depot-agent","device_label":"Yard \u001b[2Jlaptop","subject_display":null,"subject_display_status":"missing",` +
		`"principal":{"id":"op-15","roles":[]},"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],"state":"active","created_at":"2026-03-10T11:00:00.000Z",` +
		`"access_expires_at":"2026-03-10T11:15:00.000Z","refresh_expires_at":"2026-04-09T11:00:00.000Z","last_seen_at":"2026-03-10T11:59:00.000Z"}`
)

func TestAgentSessionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	const list = "GET /admin/api/agent-clients/sessions"
	for _, query := range []string{"?limit=20&state=active", "?limit=5&offset=1&state=all&client_app_id=depot-agent"} {
		h.Set(list+query, 200, `{"list":[`+agentSessionJSON+`],"total":3,"truncated":true}`)
	}
	s.Want(0, "yard-2:op-15", "agent sessions list")
	s.Want(0, "There are 2 more", "agent sessions list")
	s.Want(0, "Older sessions were not looked at", "agent sessions list")
	s.Want(0, `"total": 3`, "agent sessions list --json --client depot-agent --state all --limit 5 --offset 1")
	h.Set(list+"?limit=20&state=revoked", 200, `{"list":[],"total":0}`)
	s.Want(0, "No sessions.", "agent sessions list --state revoked")

	revoke := "/admin/api/agent-clients/sessions/" + agentSessionID + "/revoke"
	h.Set("POST "+revoke, 200, `{"ok":true,"session_id":"`+agentSessionID+`","revoked":true}`)
	command := "agent sessions revoke " + strings.ToUpper(agentSessionID)
	s.Want(2, "say --yes", command)
	s.Answer("y")
	s.Want(0, "Revoked. Its next call fails.", command)
	h.Set("POST "+revoke, 200, `{"ok":true,"session_id":"`+agentSessionID+`","already_revoked":true}`)
	s.Want(0, "It was revoked before.", command+" --yes")
	h.Set("POST "+revoke, 404, `{"error":"there is no such session"}`)
	s.Want(2, "the hub has no session", command+" --yes")
}

func TestAgentSessionsAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	for _, tc := range []struct{ args, want string }{
		{"agent sessions list x", "takes no arguments"}, {"agent sessions list --state live", "--state is active, expired, revoked or all"},
		{"agent sessions list --limit 0", "--limit is at least 1"}, {"agent sessions revoke", "the id of one session"}, {"agent sessions revoke x", "is no id of a session"},
		{"agent sessions revoke ../clients --yes", "is no id of a session"},
	} {
		s.Want(2, tc.want, tc.args)
	}
	if len(h.Asked()) > 0 {
		t.Errorf("%v", h.Asked())
	}
	for _, command := range []string{"agent", "agent sessions", "agent sessions list", "agent sessions revoke"} {
		s.Want(0, "Usage", command+" --help")
	}
}
