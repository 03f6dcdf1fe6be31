package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// told reports recordings of what the hub sent to receivers, and of its audit records about that. Attempts are seconds apart, so these come
// after everything else: all schedules run at the same time.
func told(id string) bool {
	about := strings.HasPrefix(id, "cb-") || strings.HasPrefix(id, "delivery-")
	return about && !strings.HasSuffix(id, "-run")
}

var milliseconds = regexp.MustCompile(`^[1-9][0-9]{12}$`)

// delivered compares a callback, or the webhook of a route, as the receiver got it.
func (r *replay) delivered(rec recording) {
	base, n := attemptOf(rec.ID)
	var body struct {
		JobID string `json:"job_id"`
	}
	if json.Unmarshal(rec.Received.Body, &body) == nil && body.JobID != "" {
		if r.ids[body.JobID] == "" {
			r.submitReceived(rec)
		}
		r.told[base] = r.ids[body.JobID]
	}
	if n == 1 {
		r.first[base] = rec.Received.At
	}
	ours := r.told[base] // a redirected GET has no body to name its job
	r.until(rec.ID, func() bool { return len(r.business.of(ours)) >= n || r.over(ours) })
	calls := r.business.of(ours)
	if len(calls) < n {
		r.differ(rec.ID, "request not sent")
		return
	}
	if calls[n-1].body != calls[0].body || calls[n-1].header.Get("Webhook-Id") != calls[0].header.Get("Webhook-Id") {
		r.differ(rec.ID, "another body or webhook-id than in the first attempt")
	}
	pause := rec.Received.At.Sub(r.first[base]).Truncate(time.Second)
	if ours := calls[n-1].at.Sub(calls[0].at); ours < pause {
		r.differ(rec.ID, "%s after the first attempt, ours %s", pause, ours)
	}
	r.compareDelivered(rec, calls[n-1])
}

// attemptOf takes a recording's name apart: what it belongs to, and the number of its request, 1 for the only one.
func attemptOf(id string) (base string, n int) {
	n = 1
	if parts := recvSuffix.FindStringSubmatch(id); parts[1] != "" {
		n, _ = strconv.Atoi(parts[1][1:]) // digits
	}
	return recvSuffix.ReplaceAllString(id, ""), n
}

// submitReceived submits a job of which only the message about its end was recorded.
func (r *replay) submitReceived(rec recording) {
	var was struct {
		JobID        string  `json:"job_id"`
		RequestID    string  `json:"request_id"`
		Status       string  `json:"status"`
		InputPreview string  `json:"input_preview"`
		CallbackURL  *string `json:"callback_url"`
		Dispatch     struct {
			RouteKey string `json:"route_key"`
		}
	}
	if err := json.Unmarshal(rec.Received.Body, &was); err != nil {
		r.t.Fatal(err)
	}
	o := object{"request_id": was.RequestID, "route": was.Dispatch.RouteKey, "input": was.InputPreview}
	if was.CallbackURL != nil {
		o["callback_url"] = r.fill(*was.CallbackURL)
	} else { // the webhook of a route names neither the route's key nor the input
		o["route"], o["input"] = "ref_delivery", "hello"
		if was.Status == "error" {
			o["input"] = "[[status 400]]"
		}
	}
	r.bind(was.JobID, r.submit(r.tokens["<CLIENT_TOKEN:ref-app>"], o)["job_id"].(string))
}

// over reports that no further attempt will be made for a job.
func (r *replay) over(job string) bool {
	var log struct {
		Items []struct{ State string }
	}
	a := r.get("/admin/api/runs/"+job+"/deliveries", r.admin)
	if err := json.Unmarshal(a.body, &log); err != nil || a.status != http.StatusOK {
		r.t.Fatalf("deliveries of %s: %d %v %s", job, a.status, err, cut(a.body))
	}
	return len(log.Items) == 1 && log.Items[0].State != "pending"
}

// attempted waits until a job's audit records tell of as many attempts as the recorded ones.
func (r *replay) attempted(rec recording) {
	var events []struct {
		Event  string
		Detail struct{ Attempt int }
	}
	if err := json.Unmarshal(rec.Response.Body, &events); err != nil {
		r.t.Fatal(err)
	}
	attempts := events[len(events)-1].Detail.Attempt
	ours := r.ids[uuidForm.FindString(rec.Request.Path)]
	r.until(rec.ID, func() bool {
		n := 0
		for _, e := range r.audit(ours) {
			if e["event"] == "callback" {
				n++
			}
		}
		return n >= attempts
	})
}

// until waits for what a working hub does within seconds.
func (h *hub) until(what string, reached func() bool) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !reached(); <-tick.C {
		if time.Now().After(deadline) {
			h.t.Errorf("%s: it does not happen", what)
			return
		}
	}
}

func (r *replay) compareDelivered(rec recording, got call) {
	want := rec.Received
	if path := r.fill(want.Path); want.Method != got.method || path != got.uri {
		r.differ(rec.ID, "%s %s, ours %s %s", want.Method, path, got.method, got.uri)
	}
	for name, value := range want.Headers {
		ours := got.header.Get(name)
		switch name = strings.ToLower(name); {
		case !governed(name):
		case ours == "":
			r.differ(rec.ID, "no header %s", name)
		case name == "content-type" && ours != value:
			r.differ(rec.ID, "header %s %s, ours %s", name, value, ours)
		}
	}
	for name := range got.header {
		if name = strings.ToLower(name); (governed(name) || strings.HasPrefix(name, "webhook-")) && want.Headers[name] == "" {
			r.differ(rec.ID, "header %s added", name)
		}
	}
	r.verify(rec.ID, got)
	recorded, err := decode(want.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	ours, err := decode([]byte(got.body))
	if err != nil {
		r.differ(rec.ID, "body is not JSON")
		return
	}
	r.compare(rec.ID, "", recorded, ours)
}

// verify checks both signatures (core §2.2, D7) as a receiver does, written from the specification alone.
func (r *replay) verify(id string, got call) {
	sum := func(parts ...string) []byte {
		mac := hmac.New(sha256.New, []byte(r.tokens["<CLIENT_TOKEN:ref-app>"]))
		io.WriteString(mac, strings.Join(parts, "."))
		return mac.Sum(nil)
	}
	ms, s := got.header.Get("X-Bailing-Timestamp"), got.header.Get("Webhook-Timestamp")
	if !milliseconds.MatchString(ms) || !seconds.MatchString(s) {
		r.differ(id, "timestamps are not in milliseconds and seconds")
	}
	if got.header.Get("X-Bailing-Signature") != "sha256="+hex.EncodeToString(sum(ms, got.body)) {
		r.differ(id, "signature does not fit")
	}
	want := "v1," + base64.StdEncoding.EncodeToString(sum(got.header.Get("Webhook-Id"), s, got.body))
	if got.header.Get("Webhook-Signature") != want {
		r.differ(id, "webhook-signature does not fit")
	}
}
