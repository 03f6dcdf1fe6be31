package signature

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Limits of visitor tickets (core §3.6).
const (
	TicketLifetime  = 7200 * time.Second // what issuers use unless told otherwise
	maxUIDBytes     = 64                 // when issuing
	maxUIDUnits     = 64                 // when verifying, in UTF-16 units
	maxTicketBytes  = 4096               // far above any payload with an acceptable uid
	maxTicketExpiry = 253402300799       // the last second of the year 9999
)

// Ticket is what a verified visitor ticket says.
type Ticket struct {
	UID     string // trimmed, never empty
	Expires time.Time
}

// IssueTicket makes a visitor ticket for uid, which is 1 to 64 bytes of UTF-8 with something but white space in it; otherwise
// [ErrMalformed]. expires is kept in whole seconds.
func IssueTicket(clientToken, uid string, expires time.Time) (string, error) {
	if len(uid) > maxUIDBytes || !utf8.ValidString(uid) || textlimit.Blank(uid) {
		return "", ErrMalformed
	}
	payload := canonical.AppendString([]byte(`{"uid":`), uid)
	payload = strconv.AppendInt(append(payload, `,"exp":`...), expires.Unix(), 10)
	text := base64.RawURLEncoding.EncodeToString(append(payload, '}'))
	return "v1." + text + "." + hex.EncodeToString(sum(clientToken, text)), nil
}

// VerifyTicket checks a visitor ticket of the client whose token is given: form and payload ([ErrMalformed]), MAC over the payload
// text as received ([ErrBadSignature]), and that it has not expired: it lives through the instant it names ([ErrStale]).
func VerifyTicket(clientToken, ticket string, now time.Time) (Ticket, error) {
	rest, ok := strings.CutPrefix(ticket, "v1.")
	payload, mac, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || len(ticket) > maxTicketBytes || !isBase64URL(payload) || !isHexDigest(mac) {
		return Ticket{}, ErrMalformed
	}
	if err := compare(clientToken, payload, mac); err != nil {
		return Ticket{}, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return Ticket{}, ErrMalformed
	}
	v, err := canonical.Parse(raw, canonical.Limits{})
	if err != nil {
		return Ticket{}, ErrMalformed
	}
	t, err := readTicket(v)
	if err != nil {
		return Ticket{}, err
	}
	if t.Expires.UnixMilli() < now.UnixMilli() {
		return Ticket{}, ErrStale
	}
	return t, nil
}

func readTicket(v canonical.Value) (Ticket, error) {
	id, _ := v.Get("uid")
	exp, _ := v.Get("exp")
	uid := textlimit.Trim(id.Text())
	sec, ok := exp.Int64()
	if uid == "" || !utf8.ValidString(uid) || !textlimit.Fits(uid, maxUIDUnits) || !ok || sec < 0 {
		return Ticket{}, ErrMalformed
	}
	return Ticket{uid, time.Unix(min(sec, maxTicketExpiry), 0).UTC()}, nil
}

func isBase64URL(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

func isHexDigest(s string) bool { return textlimit.Hex64(s) }
