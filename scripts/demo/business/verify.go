package business

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// window is how far a signed timestamp may be from now; the end itself is outside (core §3.4).
const window = 300 * time.Second

// signed is what the signature of a tool call or a specification read covers, beside its timestamp (core §3.1).
type signed struct {
	method, pathWithQuery string
	body                  []byte
	onBehalfOf, jobID     string
}

// verifyTool checks a signature whose timestamp is in seconds.
func verifyTool(secret string, s signed, timestamp, signature string, now time.Time) bool {
	at, ok := digits(timestamp)
	if !ok || outside(now, time.Unix(at, 0)) {
		return false
	}
	body := sha256.Sum256(s.body)
	message := strings.Join([]string{
		timestamp, strings.ToUpper(s.method), s.pathWithQuery, hex.EncodeToString(body[:]), s.onBehalfOf, s.jobID,
	}, ".")
	return matches(secret, []byte(message), signature)
}

// verifyCallback checks a signature whose timestamp is in milliseconds (core §2.1).
func verifyCallback(secret string, body []byte, timestamp, signature string, now time.Time) bool {
	at, ok := digits(timestamp)
	if !ok || outside(now, time.UnixMilli(at)) {
		return false
	}
	return matches(secret, append([]byte(timestamp+"."), body...), signature)
}

// webhook is the headers of the Standard Webhooks style.
type webhook struct{ id, timestamp, signature string }

// verifyWebhook checks a signature of that style, whose timestamp is in seconds and whose key is the bytes of the secret.
func verifyWebhook(secret string, h webhook, body []byte, now time.Time) bool {
	at, ok := digits(h.timestamp)
	if !ok || h.id == "" || secret == "" || outside(now, time.Unix(at, 0)) {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(h.id + "." + h.timestamp + "."))
	mac.Write(body)
	return hmac.Equal([]byte(h.signature), []byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))))
}

// digits reads a timestamp without sign, leading zeros or fraction: the text that is signed has one spelling only.
func digits(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

func outside(now, at time.Time) bool {
	d := now.Sub(at)
	return d >= window || d <= -window
}

// matches compares in constant time. Without a secret nothing matches: anybody could sign with an empty key.
func matches(secret string, message []byte, signature string) bool {
	if secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(message)
	return hmac.Equal([]byte(signature), []byte("sha256="+hex.EncodeToString(mac.Sum(nil))))
}
