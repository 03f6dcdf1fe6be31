package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Why something was not accepted.
var (
	ErrMalformed    = errors.New("signature or timestamp is malformed")
	ErrStale        = errors.New("timestamp is outside the accepted window")
	ErrBadSignature = errors.New("signature does not match")
)

// Windows of verification, in both directions.
const (
	ToolWindow     = 300 * time.Second // exclusive: at 300 s a call is stale (core §3.4)
	CallbackWindow = 300 * time.Second // inclusive: at 300 000 ms a decision is still accepted (core §2.1)
)

// Headers are the two header values that carry a signature.
type Headers struct {
	Timestamp string // X-Bailing-Timestamp: decimal digits
	Signature string // X-Bailing-Signature: "sha256=" and 64 lower-case hexadecimal digits
}

// ToolCall is what the signature of a tool call covers (core §3.1).
type ToolCall struct {
	Method     string // any case
	Path       string // path and query exactly as sent, without the provider's base URL
	Body       []byte // raw bytes; empty for GET
	OnBehalfOf string // X-Bailing-On-Behalf-Of, or empty
	JobID      string // X-Bailing-Job-Id, or empty
}

// SpecFetch is the signed form of reading a specification: a GET with the full path and query of its URL (core §3.5).
func SpecFetch(pathWithQuery string) ToolCall { return ToolCall{Method: "GET", Path: pathWithQuery} }

// canonical is the signed text (core §3.1).
func (c ToolCall) canonical(timestamp string) string {
	body := sha256.Sum256(c.Body)
	return strings.Join([]string{timestamp, strings.ToUpper(c.Method), c.Path, hex.EncodeToString(body[:]), c.OnBehalfOf, c.JobID}, ".")
}

// SignTool signs c at the given time, which is sent in whole seconds.
func SignTool(secret string, c ToolCall, at time.Time) Headers {
	ts := strconv.FormatInt(at.Unix(), 10)
	return Headers{ts, header(secret, c.canonical(ts))}
}

// VerifyTool checks a tool call or spec fetch as the published SDKs do: less than 300 s from now (core §3.4).
func VerifyTool(secret string, c ToolCall, h Headers, now time.Time) error {
	sec, err := parseTimestamp(h.Timestamp)
	if err != nil {
		return err
	}
	if distance(now.Unix(), sec) >= int64(ToolWindow/time.Second) {
		return ErrStale
	}
	return check(secret, c.canonical(h.Timestamp), h.Signature)
}

// SignCallback signs the body of a callback, delivery, approval request or alert at the given time, which is sent in milliseconds.
func SignCallback(secret string, body []byte, at time.Time) Headers {
	ts := strconv.FormatInt(at.UnixMilli(), 10)
	return Headers{ts, header(secret, ts+"."+string(body))}
}

// VerifyCallback checks a signed body as the hub does for approval decisions: at most 300 000 ms from now (core §2.1).
func VerifyCallback(secret string, body []byte, h Headers, now time.Time) error {
	ms, err := parseTimestamp(h.Timestamp)
	if err != nil {
		return err
	}
	if distance(now.UnixMilli(), ms) > CallbackWindow.Milliseconds() {
		return ErrStale
	}
	return check(secret, h.Timestamp+"."+string(body), h.Signature)
}

// WebhookHeaders are the values of webhook-id, webhook-timestamp and webhook-signature (D7).
type WebhookHeaders struct{ ID, Timestamp, Signature string }

// SignWebhook signs body after the Standard Webhooks specification, with the bytes of secret as key; id is the same for
// all attempts of one event, the timestamp is in seconds.
func SignWebhook(secret, id string, body []byte, at time.Time) WebhookHeaders {
	ts := strconv.FormatInt(at.Unix(), 10)
	mac := sum(secret, id+"."+ts+"."+string(body))
	return WebhookHeaders{id, ts, "v1," + base64.StdEncoding.EncodeToString(mac)}
}

func sum(secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}

const headerPrefix = "sha256="

func header(secret, text string) string { return headerPrefix + hex.EncodeToString(sum(secret, text)) }

// check compares got with the header value for text.
func check(secret, text, got string) error {
	digits, ok := strings.CutPrefix(got, headerPrefix)
	if !ok || !isHexDigest(digits) {
		return ErrMalformed
	}
	return compare(secret, text, digits)
}

// compare checks a lower-case hexadecimal digest in constant time. An empty secret would be a key that everybody knows.
func compare(secret, text, digits string) error {
	want := hex.EncodeToString(sum(secret, text))
	if !hmac.Equal([]byte(want), []byte(digits)) || secret == "" {
		return ErrBadSignature
	}
	return nil
}

// parseTimestamp reads plain decimal digits: SDKs parse the header to an integer and print it again, so no sign, leading
// zero, fraction or exponent may be in it (core §3.8). Sixteen digits are enough for milliseconds of any year to come.
func parseTimestamp(s string) (int64, error) {
	if len(s) == 0 || len(s) > 16 || s[0] == '0' && len(s) > 1 {
		return 0, ErrMalformed
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, ErrMalformed
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, ErrMalformed
	}
	return n, nil
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}
