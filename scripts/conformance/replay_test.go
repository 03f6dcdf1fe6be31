package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/clock"
)

// replay sends recordings to a fresh hub. Ids differ from those recorded; what was the same id then must be the same id now.
type replay struct {
	*hub
	t          *testing.T
	business   *business
	modelClock *clock.Manual
	tokens     map[string]string    // by placeholder
	jobs       map[string]recording // the first answer that shows a job, by recorded job id
	ids        map[string]string    // recorded id -> ours
	recorded   map[string]string    // our id -> recorded
	told       map[string]string    // our job, by what the receiver's recordings are called
	first      map[string]time.Time // when the recorded receiver got the first attempt, by the same
	asked      map[string][]call    // what the business was asked about itself, by the exchange that made the hub ask
	requests   map[string]int       // how much the recorded one was asked, by the same
	questions  map[string]question  // recorded tickets, by number
	paced      string               // the recorded job that is met while it goes on after its approval
	diffs      map[string][]string  // by recording
}

// secret has the ends that the recorded masks show.
const secret = "ref-tool-secret-0123cdef"

func newReplay(t *testing.T, all []recording) *replay {
	modelClock := clock.NewManual(time.Now())
	r := &replay{
		hub: start(t, "", modelClock), t: t, business: startBusiness(t, secret), modelClock: modelClock,
		jobs: map[string]recording{}, ids: map[string]string{}, recorded: map[string]string{}, told: map[string]string{}, first: map[string]time.Time{},
		asked: map[string][]call{}, requests: map[string]int{}, questions: questionsOf(all), diffs: map[string][]string{},
	}
	r.tokens = map[string]string{
		"<ADMIN_TOKEN>": r.admin, "<TOOL_SECRET>": secret, "<EXECUTOR_TOKEN>": strings.Repeat("e", 32),
	}
	r.tokens["<ADMIN_PASSWORD>"] = r.password
	login := r.do(http.MethodPost, "/admin/login", asJSON(t, object{"username": "admin", "password": r.password}), "Content-Type", "application/json")
	session, _, _ := strings.Cut(strings.TrimPrefix(login.header.Get("Set-Cookie"), "bz_sess="), ";")
	r.tokens["<SESSION_ID>"] = session
	// Configuration that the reference hub had before the recording began, or that was not recorded.
	r.withModel()
	for _, rec := range all {
		if rec.ID == "admin-provider-upsert" {
			r.business.publish(specOf(t, rec), protected)
		}
		if rec.Received != nil && strings.HasPrefix(rec.ID, "provider-") {
			base, n := attemptOf(rec.ID)
			r.requests[base] = n
		}
		id, job := jobOf(rec)
		if id != "" && r.jobs[id].ID == "" && job["input_preview"] != nil {
			r.jobs[id] = rec
		}
		if rec.ID == "approval-continuing-job" {
			r.paced = id
		}
	}
	return r
}

// jobOf is the job that a recording reads, with its recorded id.
func jobOf(rec recording) (id string, job map[string]any) {
	if rec.Request == nil || rec.Request.Method != http.MethodGet || rec.Response == nil || rec.Response.Status != http.StatusOK {
		return "", nil
	}
	rest, ok := strings.CutPrefix(rec.Request.Path, "/jobs/")
	if v, err := decode(rec.Response.Body); ok && err == nil {
		job, _ = v.(map[string]any)
	}
	if job == nil {
		return "", nil
	}
	id, _, _ = strings.Cut(rest, "?")
	return id, job
}

// The recordings of the reference hub, sent to ours. What differs on purpose is in the table `deliberate`.
func TestReplay(t *testing.T) {
	t.Parallel()
	all := recordings(t)
	r := newReplay(t, all)
	var last []recording
	for _, rec := range all {
		switch {
		case !replayed(rec.ID):
		case told(rec.ID):
			last = append(last, rec)
		default:
			r.one(rec)
		}
	}
	for _, rec := range last {
		r.one(rec)
	}
	checkDeliberate(t, r.diffs)
	for prefix := range later {
		if !slices.ContainsFunc(all, func(rec recording) bool { return strings.HasPrefix(rec.ID, prefix) }) {
			t.Errorf("nothing recorded begins with %s", prefix)
		}
	}
}

func (r *replay) differ(id, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	for _, known := range r.diffs[id] {
		if known == what {
			return
		}
	}
	r.diffs[id] = append(r.diffs[id], what)
}

func (r *replay) one(rec recording) {
	r.prepare(rec)
	switch {
	case rec.Responses != nil:
		r.race(rec)
	case strings.HasPrefix(rec.ID, "decision-"), strings.HasPrefix(rec.ID, "approval-admin-approve"):
		r.decision(rec)
	case rec.ID == "approval-admin-list":
		r.pending(rec)
	case rec.Received != nil && rec.Received.Path == "/approvals":
		r.askedAbout(rec)
	case rec.ID == "approval-executed-recv":
		r.approvedCall(rec)
	case rec.Request != nil:
		if told(rec.ID) {
			r.attempted(rec)
		}
		r.exchange(rec)
	case told(rec.ID):
		r.delivered(rec)
	case rec.Received != nil && strings.HasPrefix(rec.ID, "provider-"):
		r.governedBy(rec)
	case rec.Received != nil, strings.HasSuffix(rec.ID, "-recv-0"):
		r.received(rec)
	}
}

// specOf is the specification that a save brings inline.
func specOf(t *testing.T, rec recording) string {
	var body struct {
		Spec string `json:"spec_json"`
	}
	if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Spec
}

// prepare does what the recorder did between two recordings.
func (r *replay) prepare(rec recording) {
	if a, ok := accessOf[rec.ID]; ok {
		r.business.publish("", a)
	}
	switch rec.ID {
	case "run-rejected-thread-quota":
		var body map[string]any
		if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
			r.t.Fatal(err)
		}
		for i := range 6 {
			body["request_id"] = numbered("quota", i)
			r.submit(r.tokens["<CLIENT_TOKEN:ref-app>"], body)
		}
	case "run-long-app-id":
		r.tokens["<CLIENT_TOKEN:long>"] = r.client("ref-"+strings.Repeat("l", 35), "ref_plain")
	case "run-token-uppercase":
		r.tokens["<CLIENT_TOKEN:ref-app>"] = strings.ToUpper(r.tokens["<CLIENT_TOKEN:ref-app>"])
	case "run-cb-600":
		r.tokens["<CLIENT_TOKEN:ref-app>"] = strings.ToLower(r.tokens["<CLIENT_TOKEN:ref-app>"])
	case "approval-frozen-audit", "approval-denied-audit":
		ours := r.job(uuidForm.FindString(rec.Request.Path))
		r.until(rec.ID, func() bool {
			return slices.ContainsFunc(r.audit(ours), func(e map[string]any) bool { return e["event"] == "approval_intent_webhook" })
		})
	case "tool-inline-job":
		r.route("ref_inline", object{"tools": object{"max_calls": 3, "sources": []object{
			{"provider": "ref-biz", "allow": []string{"ref.item.*", "ref.pay.*"}, "subject_field": "operator_uid"},
		}}})
	}
}

// fill puts our addresses, tokens and ids into recorded text.
func (r *replay) fill(text string) string {
	text = strings.NewReplacer("http://127.0.0.1:19090", r.model, "http://127.0.0.1:19081", r.business.url).Replace(text)
	for placeholder, token := range r.tokens {
		text = strings.ReplaceAll(text, placeholder, token)
	}
	return text
}

var uuidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// bodyOf is the body of a recorded request as it was on the wire.
func (r *replay) bodyOf(rec recording) string {
	if member, ok := written[rec.ID]; ok {
		return r.write(rec, member.name, member.value())
	}
	var text string
	if json.Unmarshal(rec.Request.Body, &text) == nil {
		return text // no JSON at all, or null for no body
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, rec.Request.Body); err != nil {
		r.t.Fatal(err)
	}
	return compact.String()
}

func (r *replay) send(rec recording) answer {
	req := rec.Request
	path := r.fill(uuidForm.ReplaceAllStringFunc(req.Path, func(id string) string {
		if ours := r.job(id); ours != "" {
			return ours
		}
		return id
	}))
	body := r.bodyOf(rec)
	var headers []string
	for name, value := range req.Headers {
		headers = append(headers, name, r.fill(value))
	}
	if req.Headers["cookie"] != "" && req.Headers["origin"] == "" && req.Method != http.MethodGet && rec.ID != "admin-logout" {
		headers = append(headers, "origin", r.url) // the recorder's hub did not ask a page without an origin (core §0.2)
	}
	return r.do(req.Method, path, r.fill(body), headers...)
}

// write is a valid submission with one member set; its request id is the recorded one.
func (r *replay) write(rec recording, name string, value any) string {
	o := object{"request_id": rec.ID, "route": "ref_plain", "input": "hello"}
	var answer struct {
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(rec.Response.Body, &answer) == nil && answer.RequestID != "" {
		o["request_id"] = answer.RequestID
	}
	o[name] = value
	return asJSON(r.t, o)
}

func (r *replay) exchange(rec recording) {
	want, err := decode(rec.Response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.settle(rec, want)
	r.business.take()
	got := r.send(rec)
	r.noteAsked(rec)
	if o, ok := want.(map[string]any); ok && o["token"] != nil {
		r.tokens[o["token"].(string)], _ = got.object(r.t)["token"].(string)
	}
	r.compareAnswer(rec.ID, *rec.Response, want, got)
}

func (r *replay) compareAnswer(id string, rec recordedAnswer, want any, got answer) {
	if rec.Status != got.status {
		r.differ(id, "status %d, ours %d", rec.Status, got.status)
		return
	}
	for _, name := range []string{"content-type", "cache-control"} {
		if w, g := fmt.Sprint(rec.Headers[name]), got.header.Get(name); rec.Headers != nil && w != g {
			r.differ(id, "%s %s, ours %s", name, w, g)
		}
	}
	if text, cutOff := want.(string); cutOff {
		if text == "" && len(got.body) > 0 {
			r.differ(id, "no body, ours has one")
		}
		return // the recorder kept only the beginning
	}
	ours, err := decode(got.body)
	if err != nil {
		r.differ(id, "body is not JSON")
		return
	}
	if strings.HasSuffix(id, "-audit") && id != "admin-config-audit" {
		r.compareAudit(id, want, ours)
		return
	}
	r.compare(id, "", want, ours)
}

// job is our id of a recorded job; a job whose submission was not recorded is submitted now. "" for one that never was.
func (r *replay) job(recorded string) string {
	if ours := r.ids[recorded]; ours != "" {
		return ours
	}
	rec, ok := r.jobs[recorded]
	if !ok {
		return ""
	}
	_, job := jobOf(rec)
	dispatch, _ := job["dispatch"].(map[string]any)
	input := strings.ReplaceAll(job["input_preview"].(string), "}]][[tool", "}]][[round]][[tool") // the recorder's model made one call a round
	if recorded == r.paced {
		input += pace
	}
	accepted := r.submit(r.tokens[fmt.Sprintf("<CLIENT_TOKEN:%s>", job["client_app_id"])], object{
		"request_id": job["request_id"], "route": dispatch["route_key"], "input": input, "metadata": job["metadata"],
	})
	ours := accepted["job_id"].(string)
	r.bind(recorded, ours)
	return ours
}

func (r *replay) bind(recorded, ours string) {
	r.ids[recorded], r.recorded[ours] = ours, recorded
}

// settle waits until a job is in the recorded state.
func (r *replay) settle(rec recording, want any) {
	o, _ := want.(map[string]any)
	id, _ := o["job_id"].(string)
	if id == "" && strings.HasSuffix(rec.ID, "-audit") {
		id = uuidForm.FindString(rec.Request.Path)
		o = map[string]any{"status": "done"}
	}
	_, isJob := jobOf(rec)
	if isJob != nil {
		r.job(id)
	}
	ours := r.ids[id]
	if ours == "" || (isJob == nil && !terminal(o)) {
		return
	}
	r.await(ours, r.admin, func(job map[string]any) bool {
		if o["status"] == "done" {
			r.modelClock.Advance(time.Minute) // whatever the model waits for
		}
		inState := job["status"] == o["status"] && (o["attempts"] == nil || job["attempts"] == o["attempts"])
		return terminal(job) || inState
	})
}

// race sends one request as often as recorded, all at once.
func (r *replay) race(rec recording) {
	answers := make([]answer, len(rec.Responses))
	rec.Request.Headers = map[string]string{"authorization": "Bearer <CLIENT_TOKEN:ref-app>", "content-type": "application/json"}
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = r.send(rec) })
	}
	wg.Wait()
	jobs := map[any]bool{}
	for _, a := range answers {
		if a.status != http.StatusAccepted {
			r.differ(rec.ID, "one of ours: status %d", a.status)
			continue
		}
		jobs[a.object(r.t)["job_id"]] = true
	}
	if len(jobs) != 1 {
		r.differ(rec.ID, "one job, ours %d", len(jobs))
	}
	for _, a := range rec.Responses {
		if a.Status != http.StatusAccepted {
			r.differ(rec.ID, "status %d, ours 202", a.Status)
		}
	}
}
