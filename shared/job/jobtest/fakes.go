package jobtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"bailing/shared/job"
	"bailing/shared/model"
	"bailing/shared/outbound"
)

// Message is what was put on the queue.
type Message struct {
	JobID string
	Delay time.Duration
}

// Queue remembers messages. It is safe for concurrent use.
type Queue struct {
	mu       sync.Mutex
	messages []Message
	fail     error
}

// Enqueue remembers the message, or fails as told.
func (q *Queue) Enqueue(_ context.Context, jobID string, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fail != nil {
		return q.fail
	}
	q.messages = append(q.messages, Message{jobID, delay})
	return nil
}

// Fail makes every further message fail with err; nil ends that.
func (q *Queue) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail = err
}

// Take removes and returns the messages in the order in which they came.
func (q *Queue) Take() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.messages
	q.messages = nil
	return m
}

// Notice is what was put on the callbacks queue.
type Notice struct {
	Key   job.OutboxKey
	Delay time.Duration
}

// Notices remembers messages of the callbacks queue. It is safe for concurrent use.
type Notices struct {
	mu       sync.Mutex
	messages []Notice
	fail     error
}

// Notify remembers the message, or fails as told.
func (n *Notices) Notify(_ context.Context, k job.OutboxKey, delay time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return n.fail
	}
	n.messages = append(n.messages, Notice{k, delay})
	return nil
}

// Fail makes every further message fail with err; nil ends that.
func (n *Notices) Fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = err
}

// Take removes and returns the messages in the order in which they came.
func (n *Notices) Take() []Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.messages
	n.messages = nil
	return m
}

// Reply answers one request to the model.
type Reply func(model.Request) (model.Response, error)

// Model answers from a script and remembers what it was asked. It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	script   []Reply
	requests []model.Request
	endpoint model.Endpoint
	timeout  time.Duration
}

// TokensPerReply is the usage that each reply of this package reports.
const TokensPerReply = 10

// Then adds replies to the script.
func (m *Model) Then(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, replies...)
}

// Requests are the requests so far.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Last is the endpoint and the timeout of the last request.
func (m *Model) Last() (model.Endpoint, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.endpoint, m.timeout
}

// Complete answers with the next reply. Running past the end of the script is a permanent failure that says so.
func (m *Model) Complete(_ context.Context, e model.Endpoint, r model.Request, timeout time.Duration) (model.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.endpoint, m.timeout = e, timeout
	if len(m.script) == 0 {
		m.mu.Unlock()
		return model.Response{}, &model.Error{Public: "the script of the model has ended"}
	}
	next := m.script[0]
	m.script = m.script[1:]
	m.mu.Unlock()
	return next(r)
}

// Say is an answer in text.
func Say(text string) Reply { return answer(model.Message{Content: text}) }

// Wish is one call that the model asks for.
type Wish struct{ Tool, Args string }

// Call asks for calls. Their ids are unique within the conversation.
func Call(wishes ...Wish) Reply {
	return func(r model.Request) (model.Response, error) {
		m := model.Message{}
		for i, w := range wishes {
			id := fmt.Sprintf("call_%d_%d", len(r.Messages), i)
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id, Name: w.Tool, Arguments: w.Args})
		}
		return answer(m)(r)
	}
}

// Fail is a failed request.
func Fail(e *model.Error) Reply {
	return func(model.Request) (model.Response, error) { return model.Response{}, e }
}

func answer(m model.Message) Reply {
	m.Role = model.RoleAssistant
	return func(r model.Request) (model.Response, error) {
		return model.Response{Message: m, Model: r.Model, Usage: model.Usage{TotalTokens: TokensPerReply}}, nil
	}
}

// Business answers the hub's tool calls and remembers them. Without an Answer it says 200 {"ok":true}. It is safe for
// concurrent use.
type Business struct {
	mu     sync.Mutex
	sent   []outbound.Request
	answer func(outbound.Request) (*outbound.Response, error)
}

// Answer decides about every further request.
func (b *Business) Answer(f func(outbound.Request) (*outbound.Response, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

// Respond makes every further answer this one.
func (b *Business) Respond(status int, body string) {
	b.Answer(func(outbound.Request) (*outbound.Response, error) { return Response(status, body), nil })
}

// Response is a whole JSON answer.
func Response(status int, body string) *outbound.Response {
	h := http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}}
	return &outbound.Response{Status: status, Header: h, Body: []byte(body)}
}

// Sent are the requests so far.
func (b *Business) Sent() []outbound.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

// Do takes a request.
func (b *Business) Do(_ context.Context, r outbound.Request) (*outbound.Response, error) {
	b.mu.Lock()
	b.sent = append(b.sent, r)
	f := b.answer
	b.mu.Unlock()
	if f == nil {
		return Response(200, `{"ok":true}`), nil
	}
	return f(r)
}
