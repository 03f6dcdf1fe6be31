package business

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// ApprovalsPath takes the hub's questions whether a call may be made.
const ApprovalsPath = "/approvals"

// Question is a call that waits for a person of this business, as the hub asked (core §6.4).
type Question struct {
	ApprovalID int64           `json:"approval_id"`
	JobID      string          `json:"job_id"`
	RequestID  string          `json:"request_id"`
	Tool       string          `json:"tool"`
	Method     string          `json:"method"`
	Path       string          `json:"path"`
	Reason     string          `json:"reason"`
	Args       json.RawMessage `json:"args"`
	ArgsHash   string          `json:"args_hash"`
	Decision   string          `json:"decision_path"`

	WebhookID string    `json:"-"`
	At        time.Time `json:"-"`
}

// Questions lists the last 1000 questions with a good signature, oldest first.
func (b *Business) Questions() []Question {
	b.records.mu.Lock()
	defer b.records.mu.Unlock()
	return slices.Clone(b.records.questions)
}

func (r *records) addQuestion(q Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.questions = keep(r.questions, q)
}

// question takes a signed approval request of the hub.
func (b *Business) question(w http.ResponseWriter, r *http.Request) {
	body, id, ok := b.fromHub(w, r)
	if !ok {
		return
	}
	var q Question
	if err := json.Unmarshal(body, &q); err != nil || q.ApprovalID == 0 {
		fail(w, http.StatusBadRequest, "this is no approval request")
		return
	}
	q.WebhookID, q.At = id, b.o.Clock.Now()
	b.records.addQuestion(q)
	send(w, reply{http.StatusOK, map[string]any{"ok": true}})
}

// Answer is what the hub said to a decision.
type Answer struct {
	Status     int    `json:"-"` // of HTTP
	State      string `json:"status"`
	Idempotent bool   `json:"idempotent"`
	Rerun      bool   `json:"rerun"`
}

// Decide tells the hub what an approver of this business decided about a question. The body is signed with the secret by which the
// hub signs its callbacks, which proves who decides (core §6.5). decisionID names the decision: sending it again changes nothing.
func (b *Business) Decide(ctx context.Context, hub string, q Question, decisionID, decision, approver string) (Answer, error) {
	body, err := json.Marshal(map[string]any{
		"kind": "tool_approval_decision", "schema_version": "bailing.approval-decision.v1", "approval_id": q.ApprovalID, "job_id": q.JobID,
		"request_id": q.RequestID, "args_hash": q.ArgsHash, "decision_id": decisionID, "decision": decision, "approver": approver,
	})
	if err != nil {
		return Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hub+q.Decision, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	at := strconv.FormatInt(b.o.Clock.Now().UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(b.callbackSecret()))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Bailing-Timestamp", at)
	req.Header.Set("X-Bailing-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: res.StatusCode}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return a, nil
}
