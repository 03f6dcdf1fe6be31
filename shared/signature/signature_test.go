package signature

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// goldenFile mirrors testdata/vectors.json.
type goldenFile struct {
	Secret      string
	ClientToken string `json:"client_token"`
	Tools       []struct {
		ID         string
		Sec        int64 `json:"timestamp_sec"`
		Method     string
		Path       string `json:"path_with_query"`
		Body       string
		OnBehalfOf string `json:"on_behalf_of"`
		JobID      string `json:"job_id"`
		Canonical  string `json:"canonical_string"`
		Signature  string
	} `json:"tool_signatures"`
	Callbacks []struct {
		ID        string
		Millis    int64  `json:"timestamp_ms"`
		Body      string `json:"raw_body"`
		Signature string
	} `json:"callback_signatures"`
	Tickets []struct {
		ID, UID, Ticket string
		Exp             int64
		GoOrder         string `json:"ticket_go_key_order"`
	}
	Keys []struct {
		ID         string
		JobID      string `json:"job_id"`
		Tool       string
		ArgsHash   string `json:"args_hash"`
		OnBehalfOf string `json:"on_behalf_of"`
		Key        string `json:"idempotency_key"`
	} `json:"idempotency_key"`
	ToolTokens []struct {
		ID          string
		ServerToken string `json:"server_token"`
		JobID       string `json:"job_id"`
		ClaimToken  string `json:"claim_token"`
		ToolToken   string `json:"tool_token"`
	} `json:"tool_token"`
}

// goldens reads the vectors. The vectors named FROZEN and all others share one secret.
func goldens(t testing.TB) goldenFile {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var g goldenFile
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGoldenToolSignatures(t *testing.T) {
	t.Parallel()
	g := goldens(t)
	if len(g.Tools) != 12 {
		t.Fatalf("%d vectors, want 12", len(g.Tools))
	}
	for _, c := range g.Tools {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			call := ToolCall{c.Method, c.Path, []byte(c.Body), c.OnBehalfOf, c.JobID}
			if strings.Contains(c.ID, "SPEC") {
				call = SpecFetch(c.Path)
			}
			at := time.Unix(c.Sec, 999_000_000)
			got := SignTool(g.Secret, call, at)
			if want := (Headers{strconv.FormatInt(c.Sec, 10), c.Signature}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if text := call.canonical(got.Timestamp); text != c.Canonical {
				t.Errorf("signed text %q, want %q", text, c.Canonical)
			}
			if err := VerifyTool(g.Secret, call, got, at); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGoldenCallbackSignatures(t *testing.T) {
	t.Parallel()
	g := goldens(t)
	for _, c := range g.Callbacks {
		at := time.UnixMilli(c.Millis)
		got := SignCallback(g.Secret, []byte(c.Body), at)
		if want := (Headers{strconv.FormatInt(c.Millis, 10), c.Signature}); got != want {
			t.Errorf("%s: got %v, want %v", c.ID, got, want)
		}
		if err := VerifyCallback(g.Secret, []byte(c.Body), got, at); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	if len(g.Callbacks) != 3 {
		t.Errorf("%d vectors, want 3", len(g.Callbacks))
	}
}

// The windows differ: SDKs refuse a tool call at exactly 300 s, the hub accepts a decision at exactly 300 000 ms.
func TestWindows(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1760000000000)
	call := ToolCall{Method: "GET", Path: "/a"}
	tool, callback := SignTool("s", call, at), SignCallback("s", nil, at)
	for _, c := range []struct {
		rule           string
		off            time.Duration
		tool, callback error
	}{
		{"now", 0, nil, nil},
		{"299 s late", 299 * time.Second, nil, nil},
		{"299 s early", -299 * time.Second, nil, nil},
		{"300 s late", 300 * time.Second, ErrStale, nil},
		{"300 s early", -300 * time.Second, ErrStale, nil},
		{"300 001 ms late", 300_001 * time.Millisecond, ErrStale, ErrStale},
		{"300 001 ms early", -300_001 * time.Millisecond, ErrStale, ErrStale},
	} {
		if err := VerifyTool("s", call, tool, at.Add(c.off)); !errors.Is(err, c.tool) {
			t.Errorf("%s: tool call %v, want %v", c.rule, err, c.tool)
		}
		if err := VerifyCallback("s", nil, callback, at.Add(c.off)); !errors.Is(err, c.callback) {
			t.Errorf("%s: callback %v, want %v", c.rule, err, c.callback)
		}
	}
}

func TestTimestampsArePlainDigits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	for _, ts := range []string{"", " 1760000000", "1760000000 ", "+1760000000", "-1", "01760000000", "1760000000.0", "1.76e9", "0x68", "１７６０", "17600000000000000", "999999999999999999999999"} {
		h := Headers{ts, header("s", ts+".")}
		if err := VerifyCallback("s", nil, h, now); !errors.Is(err, ErrMalformed) {
			t.Errorf("callback at %q: %v", ts, err)
		}
		if err := VerifyTool("s", ToolCall{}, h, now); !errors.Is(err, ErrMalformed) {
			t.Errorf("tool call at %q: %v", ts, err)
		}
	}
}

// The commonest integration mistake (core Appendix E 10).
func TestSecondsAreNotMilliseconds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	if err := VerifyCallback("s", nil, Headers{"1760000000", header("s", "1760000000.")}, now); !errors.Is(err, ErrStale) {
		t.Errorf("a callback signed in seconds: %v", err)
	}
	if err := VerifyTool("s", ToolCall{}, Headers{"1760000000000", ""}, now); !errors.Is(err, ErrStale) {
		t.Errorf("a tool call signed in milliseconds: %v", err)
	}
}

func TestEveryPartOfAToolCallIsBound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	call := ToolCall{"POST", "/a?b=1", []byte(`{"x":1}`), "staff:1", "job-1"}
	h := SignTool("s", call, now)
	change := func(f func(*ToolCall)) ToolCall { c := call; f(&c); return c }
	for part, c := range map[string]ToolCall{
		"method":       change(func(c *ToolCall) { c.Method = "PUT" }),
		"path":         change(func(c *ToolCall) { c.Path = "/a?b=2" }),
		"body":         change(func(c *ToolCall) { c.Body = []byte(`{"x":2}`) }),
		"on behalf of": change(func(c *ToolCall) { c.OnBehalfOf = "" }),
		"job":          change(func(c *ToolCall) { c.JobID = "job-2" }),
	} {
		if err := VerifyTool("s", c, h, now); !errors.Is(err, ErrBadSignature) {
			t.Errorf("another %s: %v", part, err)
		}
	}
	if err := VerifyTool("s", call, Headers{"1760000001", h.Signature}, now); !errors.Is(err, ErrBadSignature) {
		t.Errorf("another time: %v", err)
	}
	if err := VerifyTool("t", call, h, now); !errors.Is(err, ErrBadSignature) {
		t.Errorf("another secret: %v", err)
	}
}

func TestSignatureHeaderForm(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1760000000000)
	good := SignCallback("s", nil, now)
	digits := strings.TrimPrefix(good.Signature, "sha256=")
	for rule, sig := range map[string]string{
		"empty": "", "no prefix": digits, "another algorithm": "sha512=" + digits, "upper case": "sha256=" + strings.ToUpper(digits),
		"short": "sha256=" + digits[:63], "long": good.Signature + "0", "not hexadecimal": "sha256=" + strings.Repeat("g", 64),
	} {
		if err := VerifyCallback("s", nil, Headers{good.Timestamp, sig}, now); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestAnEmptySecretVerifiesNothing(t *testing.T) {
	t.Parallel()
	now := time.Unix(1760000000, 0)
	ticket, err := IssueTicket("", "u", now)
	if err != nil {
		t.Fatal(err)
	}
	_, ticketErr := VerifyTicket("", ticket, now)
	for what, err := range map[string]error{
		"tool":       VerifyTool("", ToolCall{}, SignTool("", ToolCall{}, now), now),
		"callback":   VerifyCallback("", nil, SignCallback("", nil, now), now),
		"ticket":     ticketErr,
		"tool token": VerifyToolToken("", "j", "c", ToolToken("", "j", "c")),
	} {
		if !errors.Is(err, ErrBadSignature) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The expected value is HMAC-SHA256 of "msg_1.1760000000.{"a":1}", worked out with another implementation.
func TestStandardWebhook(t *testing.T) {
	t.Parallel()
	got := SignWebhook("bailing-test-secret", "msg_1", []byte(`{"a":1}`), time.UnixMilli(1760000000123))
	want := WebhookHeaders{"msg_1", "1760000000", "v1,Zd0n+PFx7is3p7nTLOWQ/vm6j94hhukbMTO0cKtPimI="}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGoldenKeysAndToolTokens(t *testing.T) {
	t.Parallel()
	g := goldens(t)
	for _, c := range g.Keys {
		if got := IdempotencyKey(c.JobID, c.Tool, c.ArgsHash, c.OnBehalfOf); got != c.Key {
			t.Errorf("%s: %s, want %s", c.ID, got, c.Key)
		}
	}
	for _, c := range g.ToolTokens {
		if got := ToolToken(c.ServerToken, c.JobID, c.ClaimToken); got != c.ToolToken {
			t.Errorf("%s: %s, want %s", c.ID, got, c.ToolToken)
		}
		if err := VerifyToolToken(c.ServerToken, c.JobID, c.ClaimToken, c.ToolToken); err != nil {
			t.Error(err)
		}
		if err := VerifyToolToken(c.ServerToken, c.JobID, c.ClaimToken+"x", c.ToolToken); !errors.Is(err, ErrBadSignature) {
			t.Errorf("another claim: %v", err)
		}
		if err := VerifyToolToken(c.ServerToken, c.JobID, "", ToolToken(c.ServerToken, c.JobID, "")); !errors.Is(err, ErrBadSignature) {
			t.Errorf("no claim: %v", err)
		}
		if err := VerifyToolToken(c.ServerToken, c.JobID, c.ClaimToken, "short"); !errors.Is(err, ErrMalformed) {
			t.Errorf("short token: %v", err)
		}
	}
	if len(g.Keys) != 2 || len(g.ToolTokens) != 1 {
		t.Error("vectors are missing")
	}
}

// Signatures as the reference hub sent them; present only beside the shared folder.
func TestRecordedSignatures(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../../shared/conformance/signing-vectors.jsonl")
	if err != nil {
		t.Skip("the shared folder is not beside the repository: ", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var c struct {
			From, Kind, Secret, Method, Body, Timestamp, Signature string
			Path                                                   string `json:"signed_path"`
			OnBehalfOf                                             string `json:"on_behalf_of"`
			JobID                                                  string `json:"job_id"`
			Matches                                                bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		ts, err := strconv.ParseInt(c.Timestamp, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		h := Headers{c.Timestamp, c.Signature}
		if c.Kind == "tool" {
			err = VerifyTool(c.Secret, ToolCall{c.Method, c.Path, []byte(c.Body), c.OnBehalfOf, c.JobID}, h, time.Unix(ts, 0))
		} else {
			err = VerifyCallback(c.Secret, []byte(c.Body), h, time.UnixMilli(ts))
		}
		if c.Matches && err != nil || !c.Matches && !errors.Is(err, ErrBadSignature) {
			t.Errorf("%s: %v, recorded matches=%v", c.From, err, c.Matches)
		}
	}
	if lines.Err() != nil || n == 0 {
		t.Errorf("%d lines, %v", n, lines.Err())
	}
}
