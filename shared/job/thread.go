package job

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// Thread is the queue of jobs that must run one after another.
type Thread struct {
	Key       string
	Version   int64    // 0 = not stored yet
	Head      string   // job id, "" when nothing is in flight
	Waiting   []string // job ids behind the head, oldest first
	SessionID string

	// Uncounted are those of its jobs that were queued again for an approved call: they take no place that a new job could have.
	Uncounted []string
}

// InFlight counts the jobs that are not terminal, against the quota of [MaxInFlight].
func (t Thread) InFlight() int {
	n := len(t.Waiting) - len(t.Uncounted)
	if t.Head != "" {
		n++
	}
	return n
}

// Leave takes the head out of the thread and makes the next job head; next is "" when none waits.
func (t Thread) Leave() (after Thread, next string) {
	t.Uncounted = slices.DeleteFunc(slices.Clone(t.Uncounted), func(id string) bool { return id == t.Head })
	if len(t.Waiting) > 0 {
		next, t.Waiting = t.Waiting[0], t.Waiting[1:]
	}
	t.Head = next
	return t, next
}

// sessionKeyMax bounds the metadata value that names a session, in characters (core §1.5).
const sessionKeyMax = 191

// session is what a route's session policy makes of a submission (core §1.5).
type session struct {
	scope     string // names the thread within its route
	shared    bool   // all clients of the route share the thread
	id        string // "" when the thread remembers or a new one is made
	remembers bool   // the thread keeps the session id for later jobs
	resumes   bool   // continue is true whether or not the thread exists
}

// resolveSession applies the policy. A policy that needs a key, and finds none in the metadata, acts as "new".
func resolveSession(r *registry.Route, requestID string, metadata canonical.Value) (session, error) {
	fresh := session{scope: "req:" + requestID}
	switch r.SessionPolicy {
	case registry.SessionFixed:
		return session{scope: "__fixed__", shared: true, id: r.SessionFixedID, remembers: true}, nil
	case registry.SessionPerKey:
		value, err := sessionKey(metadata, r.SessionKeyField)
		if err != nil || value == "" {
			return fresh, err
		}
		return session{scope: "key:" + value, remembers: true}, nil
	case registry.SessionPassthrough:
		field := r.SessionKeyField
		if field == "" {
			field = "session_id"
		}
		value, err := sessionKey(metadata, field)
		if err != nil || value == "" {
			return fresh, err
		}
		return session{scope: "session:" + value, id: value, remembers: true, resumes: true}, nil
	default:
		return fresh, nil
	}
}

// sessionKey is the string or number under field; "" when it is absent or of another kind.
func sessionKey(metadata canonical.Value, field string) (string, error) {
	v, ok := metadata.Get(field)
	if !ok {
		return "", nil
	}
	var text string
	switch v.Kind() {
	case canonical.String:
		text = v.Text()
	case canonical.Number:
		text = v.Number()
	}
	if !textlimit.Fits(text, sessionKeyMax) {
		return "", apierr.Newf(apierr.Invalid, "metadata.%s is longer than %d characters", field, sessionKeyMax)
	}
	return text, nil
}

// threadKey names the thread row. Unless the policy shares the thread, the owner is part of it: a client that guesses
// another one's session key must not end up in its conversation.
func threadKey(routeKey, owner string, s session) string {
	if s.shared {
		owner = "*"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{routeKey, owner, s.scope}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// threadID is the integer that the contract shows for a thread: 52 bits of its key, so that it is exact in a double.
func threadID(key string) int64 {
	sum := sha256.Sum256([]byte(key))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 12)
}
