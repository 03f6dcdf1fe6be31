package signature

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestGoldenTickets(t *testing.T) {
	t.Parallel()
	g := goldens(t)
	if len(g.Tickets) != 2 {
		t.Fatalf("%d vectors, want 2", len(g.Tickets))
	}
	for _, c := range g.Tickets {
		expires := time.Unix(c.Exp, 0)
		got, err := IssueTicket(g.ClientToken, c.UID, expires)
		if err != nil || got != c.Ticket {
			t.Errorf("%s: %q, %v; want %q", c.ID, got, err, c.Ticket)
		}
		for order, ticket := range map[string]string{"uid first": c.Ticket, "exp first": c.GoOrder} {
			v, err := VerifyTicket(g.ClientToken, ticket, expires)
			if err != nil || v.UID != c.UID || !v.Expires.Equal(expires) {
				t.Errorf("%s, %s: %v, %v", c.ID, order, v, err)
			}
		}
	}
}

// mac signs a payload that no issuer would write.
func mac(payload string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(payload))
	return "v1." + text + "." + hex.EncodeToString(sum("tok", text))
}

func TestTicketPayloads(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1760000000000)
	sixtyFour := strings.Repeat("员", 64)
	for _, c := range []struct {
		rule, payload string
		uid           string
		want          error
	}{
		{"further members are ignored", `{"uid":"a","exp":1760000000,"x":[]}`, "a", nil},
		{"uid is trimmed", `{"uid":" \u3000a ","exp":1760000000}`, "a", nil},
		{"64 characters of any width", `{"uid":"` + sixtyFour + `","exp":1760000000}`, sixtyFour, nil},
		{"65 characters", `{"uid":"` + sixtyFour + `x","exp":1760000000}`, "", ErrMalformed},
		{"63 characters and one of two units", `{"uid":"` + strings.Repeat("a", 63) + `😀","exp":1760000000}`, "", ErrMalformed},
		{"blank uid", `{"uid":" ","exp":1760000000}`, "", ErrMalformed},
		{"a lone surrogate", `{"uid":"a\ud800","exp":1760000000}`, "", ErrMalformed},
		{"no uid", `{"exp":1760000000}`, "", ErrMalformed},
		{"uid is a number", `{"uid":7,"exp":1760000000}`, "", ErrMalformed},
		{"no exp", `{"uid":"a"}`, "", ErrMalformed},
		{"exp is text", `{"uid":"a","exp":"1760000000"}`, "", ErrMalformed},
		{"exp is a fraction", `{"uid":"a","exp":1760000000.5}`, "", ErrMalformed},
		{"exp is negative", `{"uid":"a","exp":-1}`, "", ErrMalformed},
		{"exp beyond int64", `{"uid":"a","exp":99999999999999999999}`, "", ErrMalformed},
		{"exp in milliseconds is far away", `{"uid":"a","exp":1760000000000}`, "a", nil},
		{"expired by a second", `{"uid":"a","exp":1759999999}`, "", ErrStale},
		{"an array", `["a",1760000000]`, "", ErrMalformed},
		{"not JSON", `uid=a`, "", ErrMalformed},
		{"duplicate members", `{"uid":"a","uid":"b","exp":1760000000}`, "", ErrMalformed},
	} {
		v, err := VerifyTicket("tok", mac(c.payload), now)
		if !errors.Is(err, c.want) || v.UID != c.uid {
			t.Errorf("%s: %q, %v; want %q, %v", c.rule, v.UID, err, c.uid, c.want)
		}
	}
}

func TestTicketLivesThroughTheInstantItNames(t *testing.T) {
	t.Parallel()
	ticket := mac(`{"uid":"a","exp":1760000000}`)
	if _, err := VerifyTicket("tok", ticket, time.UnixMilli(1760000000000)); err != nil {
		t.Errorf("at exp: %v", err)
	}
	if _, err := VerifyTicket("tok", ticket, time.UnixMilli(1760000000001)); !errors.Is(err, ErrStale) {
		t.Errorf("one millisecond later: %v", err)
	}
}

func TestTicketForm(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	good := mac(`{"uid":"a","exp":1760000000}`)
	parts := strings.Split(good, ".")
	for rule, c := range map[string]struct {
		ticket string
		want   error
	}{
		"empty":             {"", ErrMalformed},
		"another version":   {"v2." + parts[1] + "." + parts[2], ErrMalformed},
		"no MAC":            {"v1." + parts[1], ErrMalformed},
		"empty payload":     {"v1.." + parts[2], ErrMalformed},
		"four parts":        {good + "." + parts[2], ErrMalformed},
		"padding":           {"v1." + parts[1] + "=." + parts[2], ErrMalformed},
		"upper-case MAC":    {"v1." + parts[1] + "." + strings.ToUpper(parts[2]), ErrMalformed},
		"trailing newline":  {good + "\n", ErrMalformed},
		"too long":          {mac(`{"uid":"a","exp":1760000000,"x":"` + strings.Repeat("x", 4096) + `"}`), ErrMalformed},
		"another MAC":       {"v1." + parts[1] + "." + strings.Repeat("0", 64), ErrBadSignature},
		"another payload":   {"v1.e30." + parts[2], ErrBadSignature},
		"impossible base64": {"v1.A." + hex.EncodeToString(sum("tok", "A")), ErrMalformed},
	} {
		if _, err := VerifyTicket("tok", c.ticket, now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", rule, err, c.want)
		}
	}
	if _, err := VerifyTicket("other", good, now); !errors.Is(err, ErrBadSignature) {
		t.Errorf("another client's token: %v", err)
	}
}

func TestIssueTicketLimits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	for rule, c := range map[string]struct {
		uid  string
		want error
	}{
		"64 bytes":     {strings.Repeat("a", 64), nil},
		"65 bytes":     {strings.Repeat("a", 65), ErrMalformed},
		"22 of three":  {strings.Repeat("员", 22), ErrMalformed},
		"empty":        {"", ErrMalformed},
		"blank":        {"  ", ErrMalformed},
		"not UTF-8":    {"a\xff", ErrMalformed},
		"with a quote": {`a"\`, nil},
	} {
		ticket, err := IssueTicket("tok", c.uid, now)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", rule, err, c.want)
		}
		if err == nil {
			if v, err := VerifyTicket("tok", ticket, now); err != nil || v.UID != c.uid {
				t.Errorf("%s: own ticket reads %q, %v", rule, v.UID, err)
			}
		}
	}
}

func FuzzVerifyTicket(f *testing.F) {
	now := time.Unix(1760000000, 0)
	f.Add(`{"uid":"a","exp":1760000000}`)
	f.Add(`{"exp":1e10,"uid":"\ud800"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, payload string) {
		if _, err := VerifyTicket("tok", payload, now); err == nil {
			t.Fatal("accepted without a MAC")
		}
		v, err := VerifyTicket("tok", mac(payload), now)
		if err == nil && (v.UID == "" || v.Expires.Before(now)) {
			t.Fatalf("accepted %q as %v", payload, v)
		}
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
	})
}
