package scripted

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/shared/clock"
)

func TestScriptPlaysRoundByRound(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.say("user", `ignored [[say Let me]] [[say look.]] [[tool order_get {"order_no":"a]]b","x":[[1]]}]] [[tool ticket_create]] [[round]] [[tool broken {"a":]] [[round]] [[say All done.]]`)
	first := chat.next()
	if first.content != "Let me look." || len(first.calls) != 2 {
		t.Fatalf("first round: %s", first.raw)
	}
	if f := first.calls[0].Function; f.Name != "order_get" || f.Arguments != `{"order_no":"a]]b","x":[[1]]}` {
		t.Errorf("first call: %+v", f)
	}
	if f := first.calls[1].Function; f.Name != "ticket_create" || f.Arguments != "{}" {
		t.Errorf("second call: %+v", f)
	}
	chat.result(first.calls[0], "{}")
	chat.result(first.calls[1], "{}")
	chat.say("user", "You have 3 calls left.") // a note of the caller between rounds
	second := chat.next()
	if len(second.calls) != 1 || second.calls[0].Function.Arguments != `{"a":` || second.content != "" {
		t.Fatalf("second round: %s", second.raw)
	}
	if second.calls[0].ID == first.calls[0].ID || first.calls[0].ID == first.calls[1].ID {
		t.Error("ids of calls repeat")
	}
	chat.result(second.calls[0], "arguments are not an object")
	chat.say("system", "You have 2 calls left.")
	if last := chat.next(); last.content != "All done." || last.finish != "stop" {
		t.Errorf("last round: %s", last.raw)
	}
	chat.say("user", "hello")
	if r := chat.next(); !strings.Contains(r.content, "demo model") {
		t.Errorf("a new turn: %s", r.raw)
	}
}

func TestScriptThatEndsWithACallIsPutIntoWords(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.say("user", `[[tool order_get {"order_no":"SO-1"}]]`)
	chat.result(chat.next().calls[0], `{"order_no":"SO-1","status":"shipped"}`)
	if r := chat.next(); r.content != "Order SO-1 is shipped." {
		t.Errorf("got %s", r.raw)
	}
}

func TestEmptyAnswersKeepTheScriptGoing(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.say("user", `[[empty]][[round]][[empty]][[round]][[say at last]]`)
	for range 2 {
		if r := chat.next(); r.status != 200 || r.content != "" || len(r.calls) != 0 {
			t.Fatalf("want an empty answer, got %s", r.raw)
		}
		chat.say("user", "Please answer.")
	}
	if r := chat.next(); r.content != "at last" {
		t.Errorf("got %s", r.raw)
	}
}

func TestFailingDirectives(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 429, 500, 599} {
		chat := newChat(t)
		chat.say("user", "[[status "+plain(float64(status))+"]]")
		for range 2 { // a retry gets the same
			if r := chat.next(); r.status != status || !strings.Contains(r.raw, `"error"`) {
				t.Errorf("status %d: got %d %s", status, r.status, r.raw)
			}
		}
	}
	chat := newChat(t)
	chat.say("user", "[[malformed]]")
	if r := chat.next(); r.status != 200 || json.Valid([]byte(r.raw)) {
		t.Errorf("malformed: %d %s", r.status, r.raw)
	}
}

func TestTextThatOnlyLooksLikeAScript(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[[", "[[ ]]", "[[wiki]]", "[[status 200]]", "[[status x]]", "[[sleep -1]]", "[[sleep 900001]]", "[[tool]]", "[[say x"} {
		if rounds := parseScript(text); rounds != nil {
			t.Errorf("%q is a script of %d rounds, want none", text, len(rounds))
		}
	}
	if rounds := parseScript("[[wiki]] [[sleep 900000]]"); len(rounds) != 1 || rounds[0].sleep != 15*time.Minute {
		t.Errorf("a script beside a link: %+v", rounds)
	}
}

func TestSleepWaitsOnTheClock(t *testing.T) {
	t.Parallel()
	manual := &signalClock{Manual: clock.NewManual(time.Unix(0, 0)), waiting: make(chan time.Duration, 1)}
	done := make(chan *httptest.ResponseRecorder)
	go func() {
		w := httptest.NewRecorder()
		body := `{"messages":[{"role":"user","content":"[[sleep 1500]][[say slow]]"}]}`
		New(Options{Clock: manual}).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		done <- w
	}()
	if d := <-manual.waiting; d != 1500*time.Millisecond {
		t.Errorf("waits %v, want 1.5 s", d)
	}
	select {
	case <-done:
		t.Fatal("answered before the time had passed")
	default:
	}
	manual.Advance(1500 * time.Millisecond)
	if w := <-done; !strings.Contains(w.Body.String(), `"slow"`) {
		t.Errorf("got %s", w.Body)
	}
}

type signalClock struct {
	*clock.Manual
	waiting chan time.Duration
}

func (c *signalClock) After(d time.Duration) <-chan time.Time {
	ch := c.Manual.After(d)
	c.waiting <- d
	return ch
}

func FuzzScript(f *testing.F) {
	for _, s := range []string{`[[say a]][[round]][[tool x {"a":"]]"}]]`, `[[tool x {bad]] [[status 500]]`, `[[[[say]]]]`, `where is order SO-1001`, `refund €1,5 SO-1`} {
		f.Add(s)
	}
	h := New(Options{Clock: clock.NewManual(time.Unix(0, 0))})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "sleep") {
			return // a manual clock never wakes it
		}
		body, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}, "tools": json.RawMessage(demoTools)})
		if err != nil {
			t.Fatal(err)
		}
		run := func() string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(string(body))))
			b, _ := io.ReadAll(w.Result().Body)
			return string(b)
		}
		first := run()
		if !strings.Contains(text, "malformed") && !json.Valid([]byte(first)) {
			t.Errorf("%q: answer is not JSON: %s", text, first)
		}
		if again := run(); again != first {
			t.Errorf("%q: two answers", text)
		}
	})
}
