package conformance_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// question is a ticket as the recordings know it.
type question struct {
	job, request, hash string
	script             string // the calls of the job, when no recording shows them
}

// scripts are the inputs of jobs that were not recorded, by their recorded request ids.
var scripts = map[string]string{
	"req-mx3g5aev-x5qfh": `[[begin]][[tool pay {"amount":70,"to":"signed"}]]`,
	"req-mx3g5arr-xq0ns": `[[begin]][[tool pay {"amount":80,"to":"stale"}]]`,
	"req-mx3g5ayz-5n6hn": `[[begin]][[tool transfer {"amount":1001}]]`,
}

// pace ends the script of a job that is to be met while it goes on after its approval: the model's fourth answer, the first one after
// the approved call, takes until the model's clock is moved.
const pace = `[[round]][[say It waits.]][[round]][[round]][[sleep 1000]][[say Paid.]]`

// questionsOf are the recorded tickets, by number.
func questionsOf(all []recording) map[string]question {
	found := map[string]question{}
	note := func(body json.RawMessage) {
		var d struct {
			ApprovalID json.Number `json:"approval_id"`
			JobID      string      `json:"job_id"`
			RequestID  string      `json:"request_id"`
			ArgsHash   string      `json:"args_hash"`
		}
		var text string
		if json.Unmarshal(body, &text) == nil {
			body = json.RawMessage(text)
		}
		if json.Unmarshal(body, &d) == nil && d.ArgsHash != "" && found[d.ApprovalID.String()].job == "" {
			found[d.ApprovalID.String()] = question{d.JobID, d.RequestID, d.ArgsHash, scripts[d.RequestID]}
		}
	}
	for _, rec := range all {
		switch {
		case rec.Received != nil && rec.Received.Path == "/approvals":
			note(rec.Received.Body)
		case strings.HasPrefix(rec.ID, "decision-") && rec.Response != nil:
			note(rec.Request.Body)
		}
	}
	return found
}

var numberedPath = regexp.MustCompile(`approvals/(\d+)/`)

// ticket is our ticket of a recorded one, whose job is run now if it was not yet; ok is false for a number that no ticket had.
func (r *replay) ticket(recorded string) (id, hash string, ok bool) {
	q, ok := r.questions[recorded]
	if !ok {
		return "", "", false
	}
	ours := r.job(q.job)
	if ours == "" {
		ours = r.submit(r.tokens["<CLIENT_TOKEN:ref-app>"], object{
			"request_id": q.request, "route": "ref_tools", "input": q.script, "metadata": object{"operator_uid": "u_42"},
		})["job_id"].(string)
		r.bind(q.job, ours)
	}
	var detail map[string]any
	r.until("ticket "+recorded, func() bool {
		for _, e := range r.audit(ours) {
			if e["event"] == "tool_approval_pending" {
				detail, _ = e["detail"].(map[string]any)
				return true
			}
		}
		return false
	})
	number, _ := detail["approval_id"].(float64) // 52 bits
	hash, _ = detail["args_hash"].(string)
	id = strconv.FormatInt(int64(number), 10)
	if r.ids[recorded] == "" {
		r.bind(recorded, id)
	}
	return id, hash, true
}

// decision sends a recorded decision about our ticket. What the recorder got wrong on purpose stays wrong.
func (r *replay) decision(rec recording) {
	recorded := numberedPath.FindStringSubmatch(rec.Request.Path)[1]
	body := r.bodyOf(rec)
	path := rec.Request.Path
	if id, hash, ok := r.ticket(recorded); ok {
		q := r.questions[recorded]
		r.finished(r.ids[q.job], r.admin)
		body = strings.NewReplacer(`"approval_id":`+recorded+`,`, `"approval_id":`+id+`,`, q.job, r.ids[q.job], q.hash, hash).Replace(body)
		path = strings.Replace(path, "/"+recorded+"/", "/"+id+"/", 1)
	}
	var headers []string
	for name, value := range r.signedAnew(rec, body) {
		headers = append(headers, name, r.fill(value))
	}
	want, err := decode(rec.Response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.compareAnswer(rec.ID, *rec.Response, want, r.do(rec.Request.Method, path, body, headers...))
}

// pending compares the list of what waits, as far as it tells of recorded jobs: the recorder's hub had others before.
func (r *replay) pending(rec recording) {
	var recorded, ours []map[string]any
	got := r.send(rec)
	for _, list := range []struct {
		body json.RawMessage
		to   *[]map[string]any
	}{{rec.Response.Body, &recorded}, {got.body, &ours}} {
		d := json.NewDecoder(bytes.NewReader(list.body))
		d.UseNumber()
		if err := d.Decode(list.to); err != nil {
			r.t.Fatalf("%s: %v: %s", rec.ID, err, cut(list.body))
		}
		for _, entry := range *list.to { // the text repeats the intent, with its job
			text, _ := entry["intent_json"].(string)
			entry["intent_json"], _ = decode([]byte(text))
		}
	}
	var want []any
	for _, entry := range recorded {
		if number := fmt.Sprint(entry["id"]); r.questions[number].job != "" {
			r.ticket(number)
			want = append(want, entry)
		}
	}
	ours = slices.DeleteFunc(ours, func(entry map[string]any) bool { return r.recorded[fmt.Sprint(entry["id"])] == "" })
	got.body = []byte(asJSON(r.t, ours))
	r.compareAnswer(rec.ID, *rec.Response, want, got)
}

// signedAnew are the headers of a decision; a signature is made for this body and by this clock.
func (r *replay) signedAnew(rec recording, body string) map[string]string {
	headers := map[string]string{}
	for name, value := range rec.Request.Headers {
		headers[name] = value
	}
	now := time.Now()
	var timestamp string
	switch rec.ID {
	case "decision-signed":
		timestamp = strconv.FormatInt(now.UnixMilli(), 10)
	case "decision-signed-stale":
		timestamp = strconv.FormatInt(now.Add(-6*time.Minute).UnixMilli(), 10)
	case "decision-signed-seconds":
		timestamp = strconv.FormatInt(now.Unix(), 10)
	default:
		return headers
	}
	mac := hmac.New(sha256.New, []byte(r.tokens["<CLIENT_TOKEN:ref-app>"]))
	io.WriteString(mac, timestamp+"."+body)
	headers["x-bailing-timestamp"], headers["x-bailing-signature"] = timestamp, "sha256="+hex.EncodeToString(mac.Sum(nil))
	return headers
}

// askedAbout compares what the business was told about a call that waits.
func (r *replay) askedAbout(rec recording) {
	var body struct {
		ApprovalID json.Number `json:"approval_id"`
		JobID      string      `json:"job_id"`
	}
	if err := json.Unmarshal(rec.Received.Body, &body); err != nil {
		r.t.Fatal(err)
	}
	if _, _, ok := r.ticket(body.ApprovalID.String()); !ok {
		r.t.Fatalf("%s: no such ticket", rec.ID)
	}
	r.compareDelivered(rec, r.business.first(r.hub, r.ids[body.JobID], "/approvals"))
}

// approvedCall compares the call that was made because somebody approved it.
func (r *replay) approvedCall(rec recording) {
	ours := r.ids[rec.Received.Headers["x-bailing-job-id"]]
	r.compareCall(rec, r.business.first(r.hub, ours, rec.Received.Path), ours)
}

// first waits for the first request about a job to an address, and answers with it.
func (b *business) first(h *hub, job, uri string) (found call) {
	h.t.Helper()
	h.until(fmt.Sprintf("a request to %s", uri), func() bool {
		for _, c := range b.of(job) {
			if c.uri == uri && c.method == http.MethodPost {
				found = c
				return true
			}
		}
		return false
	})
	return found
}

// renumber puts the numbers of our tickets into recorded text.
func (r *replay) renumber(text string) string {
	for recorded := range r.questions {
		if ours := r.ids[recorded]; ours != "" {
			text = strings.NewReplacer("/approvals/"+recorded+"/", "/approvals/"+ours+"/", "biz-"+recorded+"-", "biz-"+ours+"-").Replace(text)
		}
	}
	return text
}
