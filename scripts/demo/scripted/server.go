package scripted

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bailing/shared/clock"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 32 << 20

// Options configure the server. The zero value asks for no key.
type Options struct {
	Key   string      // required as a bearer token when not empty
	Model string      // the name that GET /v1/models lists; default "demo". Requests may name any model.
	Clock clock.Clock // for [[sleep]] and the member created; default: the system's
}

type server struct{ o Options }

// New returns the server as a handler for the root of a host.
func New(o Options) http.Handler {
	if o.Model == "" {
		o.Model = "demo"
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	s := &server{o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.authorized(s.complete))
	mux.HandleFunc("GET /v1/models", s.authorized(s.models))
	return mux
}

func (s *server) authorized(next http.HandlerFunc) http.HandlerFunc {
	want := sha256.Sum256([]byte("Bearer " + s.o.Key))
	return func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if s.o.Key != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			writeError(w, http.StatusUnauthorized, "missing or wrong API key")
			return
		}
		next(w, r)
	}
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": s.o.Model, "object": "model", "created": s.o.Clock.Now().Unix(), "owned_by": "bailing"}},
	})
}

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			writeError(w, http.StatusRequestEntityTooLarge, "request is larger than 32 MiB")
			return
		}
		writeError(w, http.StatusBadRequest, "request is not a chat-completions request: "+err.Error())
		return
	}
	if len(req.Messages) == 0 {
		writeError(w, http.StatusBadRequest, "messages is empty")
		return
	}
	if req.Model == "" {
		req.Model = s.o.Model
	}
	t := lastTurn(req.Messages)
	act := play(t, req.Tools)
	if act.sleep > 0 {
		if err := clock.Sleep(r.Context(), s.o.Clock, act.sleep); err != nil {
			return // the caller has gone
		}
	}
	switch {
	case act.status != 0:
		writeError(w, act.status, fmt.Sprintf("scripted status %d", act.status))
	case act.malformed:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":`)
	default:
		c := s.completion(&req, t, act)
		if req.Stream {
			c.stream(w, req.StreamOptions.IncludeUsage)
		} else {
			writeJSON(w, http.StatusOK, c.whole())
		}
	}
}

// completion is an answer before it is laid out as one object or as a stream.
type completion struct {
	id, model string
	created   int64
	text      string
	calls     []toolCall
	usage     usage
}

func (s *server) completion(req *request, t turn, act action) *completion {
	c := &completion{model: req.Model, created: s.o.Clock.Now().Unix(), text: act.text}
	// A call's id must differ from those of earlier rounds and stay the same when the request is repeated.
	place := fmt.Sprintf("%d/%d/%s", t.index, t.round, t.text)
	for i, call := range act.calls {
		id := "call_" + digest(place, fmt.Sprint(i), call.name, call.arguments)
		c.calls = append(c.calls, toolCall{ID: id, Type: "function", Function: function{Name: call.name, Arguments: arguments(call.arguments)}})
	}
	c.id = "chatcmpl-" + digest(place, act.text, fmt.Sprint(len(act.calls)))
	c.usage = count(req, c)
	return c
}

func (c *completion) finishReason() string {
	if len(c.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (c *completion) whole() any {
	message := map[string]any{"role": "assistant", "content": c.text}
	if len(c.calls) > 0 {
		message["tool_calls"] = c.calls
		if c.text == "" {
			message["content"] = nil
		}
	}
	return map[string]any{
		"id": c.id, "object": "chat.completion", "created": c.created, "model": c.model, "usage": c.usage,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": c.finishReason()}},
	}
}

// stream writes the answer as server-sent events: a role, the text word by word, each call in two pieces, the end.
func (c *completion) stream(w http.ResponseWriter, withUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	event := func(choices []any, more map[string]any) {
		chunk := map[string]any{"id": c.id, "object": "chat.completion.chunk", "created": c.created, "model": c.model, "choices": choices}
		for k, v := range more {
			chunk[k] = v
		}
		b, err := json.Marshal(chunk)
		if err != nil {
			panic(err) // plain strings and numbers always encode
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
		_ = flush() // a recorder or a proxy may not support it
	}
	delta := func(d map[string]any, finish any) {
		event([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, word := range strings.SplitAfter(c.text, " ") {
		if word != "" {
			delta(map[string]any{"content": word}, nil)
		}
	}
	for i, call := range c.calls {
		piece := func(v map[string]any) { v["index"] = i; delta(map[string]any{"tool_calls": []any{v}}, nil) }
		piece(map[string]any{"id": call.ID, "type": "function", "function": map[string]any{"name": call.Function.Name, "arguments": ""}})
		piece(map[string]any{"function": map[string]any{"arguments": string(call.Function.Arguments)}})
	}
	delta(map[string]any{}, c.finishReason())
	if withUsage {
		event([]any{}, map[string]any{"usage": c.usage})
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	_ = flush()
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": status}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the caller has gone
}
