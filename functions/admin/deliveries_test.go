package admin_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/delivery"
	jobs "bailing/shared/job"
)

// deliveries answers as told and remembers what it was asked.
type deliveries struct {
	rows  []*delivery.Row
	err   error
	n     delivery.Replayed
	asked []any
}

func (d *deliveries) Letters(_ context.Context, resolved bool, limit int) ([]*delivery.Row, error) {
	d.asked = append(d.asked, resolved, limit)
	return d.rows, d.err
}

func (d *deliveries) Log(_ context.Context, jobID string) ([]*delivery.Row, error) {
	d.asked = append(d.asked, jobID)
	return d.rows, d.err
}

func (d *deliveries) Resend(_ context.Context, k jobs.OutboxKey, by string) error {
	d.asked = append(d.asked, "resend", k, by)
	return d.err
}

func (d *deliveries) Resolve(_ context.Context, k jobs.OutboxKey, by string) error {
	d.asked = append(d.asked, "resolve", k, by)
	return d.err
}

func (d *deliveries) Replay(_ context.Context, keys []jobs.OutboxKey, by string) (delivery.Replayed, error) {
	d.asked = append(d.asked, keys, by)
	return d.n, d.err
}

func (d *deliveries) ReplaySince(_ context.Context, since time.Time, by string) (delivery.Replayed, error) {
	d.asked = append(d.asked, since, by)
	return d.n, d.err
}

func setupDeliveries(t *testing.T) (*hub, *deliveries) {
	t.Helper()
	d := &deliveries{}
	return setup(t, func(deps *admin.Deps) { deps.Deliveries = d }), d
}

var letterKey = jobs.OutboxKey{JobID: job, Terminal: 1, Target: jobs.ToCallback}

const letters = "/admin/api/delivery-dlq"

// Core §2.6.
func TestDeadLettersAreListed(t *testing.T) {
	t.Parallel()
	h, d := setupDeliveries(t)
	d.rows = []*delivery.Row{
		{Key: letterKey, URL: "https://shop.example/cb", Preview: `{"from":"jo@shop.example"`, State: delivery.Dead, Reason: "status 410", DiedAt: now},
		{
			Key: jobs.OutboxKey{JobID: job, Terminal: 2, Target: jobs.ToDelivery}, URL: "https://shop.example/hook", State: delivery.Delivered,
			DiedAt: now, ResolvedAt: now.Add(time.Second),
		},
	}
	want(t, h.admin("GET", letters, ""), 200, `{"items":[
		{"id":"`+job+`_1_callback","parent_job_id":"`+job+`","channel":"callback","recipient":"https://shop.example/cb","content_preview":"{\"from\":\"[REDACTED_EMAIL]\"",
		 "error":"status 410","resolved":0,"created_at":"2026-11-30T15:52:48.906Z","resolved_at":null},
		{"id":"`+job+`_2_delivery","parent_job_id":"`+job+`","channel":"webhook","recipient":"https://shop.example/hook","content_preview":"",
		 "error":"","resolved":1,"created_at":"2026-11-30T15:52:48.906Z","resolved_at":"2026-11-30T15:52:49.906Z"}]}`)
	d.rows = nil
	want(t, h.admin("GET", letters+"?all=1&limit=7", ""), 200, `{"items":[]}`)
	want(t, h.admin("GET", letters+"?all=0", ""), 200, `{"items":[]}`)
	if asked := []any{false, 0, true, 7, false, 0}; !reflect.DeepEqual(d.asked, asked) {
		t.Errorf("asked %v, want %v", d.asked, asked)
	}
	for _, limit := range []string{"0", "-1", "x", "1.5"} {
		want(t, h.admin("GET", letters+"?limit="+limit, ""), 400, `{"error":"limit must be a positive integer"}`)
	}
}

func TestDeliveriesOfAJobAreListed(t *testing.T) {
	t.Parallel()
	h, d := setupDeliveries(t)
	d.rows = []*delivery.Row{{
		Key: letterKey, URL: "https://shop.example/cb", State: delivery.Pending, Attempts: 3, Reason: "status 503", NextAt: now.Add(time.Second),
		CreatedAt: now, UpdatedAt: now,
	}, {Key: letterKey, State: delivery.Delivered, Attempts: 1, NextAt: now, CreatedAt: now, UpdatedAt: now}}
	want(t, h.admin("GET", "/admin/api/runs/"+strings.ToUpper(job)+"/deliveries", ""), 200, `{"items":[
		{"id":"`+job+`_1_callback","terminal_seq":1,"channel":"callback","recipient":"https://shop.example/cb","state":"pending","attempts":3,
		 "error":"status 503","next_attempt_at":"2026-11-30T15:52:49.906Z","created_at":"2026-11-30T15:52:48.906Z",
		 "updated_at":"2026-11-30T15:52:48.906Z","resolved_at":null},
		{"id":"`+job+`_1_callback","terminal_seq":1,"channel":"callback","recipient":"","state":"delivered","attempts":1,
		 "error":null,"next_attempt_at":null,"created_at":"2026-11-30T15:52:48.906Z","updated_at":"2026-11-30T15:52:48.906Z","resolved_at":null}]}`)
	if !reflect.DeepEqual(d.asked, []any{job}) {
		t.Errorf("asked %v", d.asked)
	}
	want(t, h.admin("GET", "/admin/api/runs/nonsense/deliveries", ""), 404, `{"error":"not found"}`)
}

func TestCommandsOnADeadLetter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule   string
		err    error
		status int
		body   string
	}{
		{"done", nil, 200, `{"ok":true}`},
		{"resolved already", delivery.ErrResolved, 200, `{"ok":true,"note":"this dead letter was resolved already"}`},
		{"refused by the receiver", &delivery.Refused{Reason: "status 500"}, 502, `{"ok":false,"error":"status 500"}`},
		{"unknown", delivery.ErrNotFound, 404, `{"error":"not found"}`},
		{"under way", delivery.ErrPending, 409, `{"error":"this dead letter is being delivered"}`},
		{"taken by somebody else meanwhile", delivery.ErrLostClaim, 409, `{"error":"this dead letter is being delivered"}`},
	} {
		for _, command := range []string{"resend", "resolve"} {
			h, d := setupDeliveries(t)
			d.err = tc.err
			want(t, h.admin("POST", letters+"/"+letterKey.ID()+"/"+command, ""), tc.status, tc.body)
			if !reflect.DeepEqual(d.asked, []any{command, letterKey, "token"}) {
				t.Errorf("%s: asked %v", tc.rule, d.asked)
			}
		}
	}
	h, d := setupDeliveries(t)
	for _, id := range []string{"1", job, job + "_0_callback", job + "_1_other"} {
		want(t, h.admin("POST", letters+"/"+id+"/resend", ""), 404, `{"error":"not found"}`)
	}
	d.err = errors.New("store down")
	if w := h.admin("POST", letters+"/"+letterKey.ID()+"/resend", ""); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "store down") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// D44.
func TestReplay(t *testing.T) {
	t.Parallel()
	h, d := setupDeliveries(t)
	d.n = delivery.Replayed{Queued: 1}
	want(t, h.admin("POST", letters+"/replay", `{"ids":["`+letterKey.ID()+`"]}`), 200, `{"ok":true,"queued":1}`)
	d.n = delivery.Replayed{Queued: 1000, More: true}
	want(t, h.admin("POST", letters+"/replay", `{"since":"2026-11-30T15:52:48.906Z"}`), 200, `{"ok":true,"queued":1000,"more":true}`)
	if asked := []any{[]jobs.OutboxKey{letterKey}, "token", now, "token"}; !reflect.DeepEqual(d.asked, asked) {
		t.Errorf("asked %v, want %v", d.asked, asked)
	}
	ids := func(n int) string {
		return `{"ids":["` + strings.Repeat(letterKey.ID()+`","`, n-1) + letterKey.ID() + `"]}`
	}
	if w := h.admin("POST", letters+"/replay", ids(1000)); w.Code != 200 {
		t.Errorf("1000 ids: %d %s", w.Code, w.Body)
	}
	for rule, body := range map[string]string{
		"neither": `{}`, "both": `{"ids":["` + letterKey.ID() + `"],"since":"2026-11-30T15:52:48Z"}`, "no ids": `{"ids":[]}`, "1001 ids": ids(1001),
		"a foreign id": `{"ids":["x"]}`, "a number": `{"ids":[1]}`, "no array": `{"ids":"x"}`, "no time": `{"since":"yesterday"}`,
		"a number as time": `{"since":1}`, "another member": `{"since":"2026-11-30T15:52:48Z","all":true}`, "no object": `[]`,
	} {
		if w := h.admin("POST", letters+"/replay", body); w.Code != 400 {
			t.Errorf("%s: %d %s", rule, w.Code, w.Body)
		}
	}
}
