package model

import (
	"strings"
	"testing"
	"time"
)

func TestHTTPErrorSortsStatuses(t *testing.T) {
	t.Parallel()
	for status, transient := range map[int]bool{
		500: true, 501: true, 502: true, 503: true, 504: true, 529: true, 429: true,
		301: false, 400: false, 401: false, 403: false, 404: false, 408: false, 413: false, 422: false, 499: false,
	} {
		if e := HTTPError(status, "", ""); e.Transient != transient || e.Status != status {
			t.Errorf("status %d: transient %v, status %d; want %v", status, e.Transient, e.Status, transient)
		}
	}
}

func TestHTTPErrorText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, body, key, want string }{
		{"status and body", "overloaded", "", "LLM 503: overloaded"},
		{"empty body", "", "k", "LLM 503"},
		{"blank body", " \n ", "k", "LLM 503"},
		{"500 characters are shown", strings.Repeat("x", 500), "", "LLM 503: " + strings.Repeat("x", 500)},
		{"the 501st is not", strings.Repeat("x", 501), "", "LLM 503: " + strings.Repeat("x", 500)},
		{"characters are UTF-16 units", strings.Repeat("😀", 251), "", "LLM 503: " + strings.Repeat("😀", 250)},
		{"control characters become spaces", "a\x00b\x1bc", "", "LLM 503: a b c"},
		{"broken UTF-8 is replaced", "a\xffb", "", "LLM 503: a\uFFFDb"},
		{"our key is removed", "bad key abcd-1234!", "abcd-1234", "LLM 503: bad key [redacted]!"},
		{"our key across the cut is removed", strings.Repeat("x", 495) + "abcd-1234", "abcd-1234", "LLM 503: " + strings.Repeat("x", 495) + "[reda"},
		{"our key with escaped slashes is removed", `{"k":"a\/b\/c"}`, `a/b/c`, `LLM 503: {"k":"[redacted]"}`},
		{"our key with escaped quotes is removed", `{"k":"ab\"cd"}`, `ab"cd`, `LLM 503: {"k":"[redacted]"}`},
		{"another key is removed", "Incorrect API key provided: sk-proj-abc***xyz.", "k9", "LLM 503: Incorrect API key provided: [redacted]"},
		{"a bearer token is removed", `header "Authorization: Bearer abc.def" refused`, "k9", `LLM 503: header "Authorization: [redacted]" refused`},
	} {
		if got := HTTPError(503, c.body, c.key).Public; got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<tool_call>{}</tool_call>", "ok\n<tool_calls>", "<function_call>", "<function_calls><invoke name=\"a\">", "<invoke", "<|tool_call|>",
		"<|tool_calls_section_begin|>", "<TOOL_CALL>", "<TOOLCALL>[]", "<function=order_get>", "<｜tool▁calls▁begin｜>",
		"<|python_tag|>x", `[TOOL_CALLS][{"name":"x"}]`, "<|channel|>commentary", "<minimax:tool_call>",
	} {
		if !Violation(text) {
			t.Errorf("%q is not withheld", text)
		}
	}
	for _, text := range []string{
		"", "Your order is on its way.", "a < b and c > d", "tool_call without a bracket", "<b>invoke</b>", "see [tool] calls", "<table>", "std::function<int>",
	} {
		if Violation(text) {
			t.Errorf("%q is withheld", text)
		}
	}
}

func TestClampTimeout(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]time.Duration{
		-1: 120 * time.Second, 0: 120 * time.Second, time.Second: time.Second, 840 * time.Second: 840 * time.Second, 841 * time.Second: 840 * time.Second,
	} {
		if got := ClampTimeout(in); got != want {
			t.Errorf("ClampTimeout(%v) = %v, want %v", in, got, want)
		}
	}
}
