package conformance_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	recvSuffix = regexp.MustCompile(`-recv(-\d+)?$`)
	seconds    = regexp.MustCompile(`^[1-9][0-9]{9}$`)
)

// received compares a request of the hub as the business got it.
func (r *replay) received(rec recording) {
	base, n := attemptOf(rec.ID)
	recorded := ""
	for id, job := range r.jobs {
		if job.ID == base+"-job" {
			recorded = id
		}
	}
	ours := r.job(recorded)
	if ours == "" {
		r.t.Fatalf("%s: no recorded job %s-job", rec.ID, base)
	}
	r.await(ours, r.admin, terminal)
	calls := r.business.of(ours)
	switch {
	case rec.Received == nil && len(calls) > 0:
		r.differ(rec.ID, "no request, ours sent %d", len(calls))
		return
	case rec.Received == nil:
		return
	case len(calls) < n:
		r.differ(rec.ID, "request not sent")
		return
	}
	r.compareCall(rec, calls[n-1], ours)
}

func (r *replay) compareCall(rec recording, got call, job string) {
	want := rec.Received
	if want.Method != got.method || want.Path != got.uri {
		r.differ(rec.ID, "%s %s, ours %s %s", want.Method, want.Path, got.method, got.uri)
	}
	if want.BodyRaw != got.body {
		r.differ(rec.ID, "body %s, ours %s", want.BodyRaw, got.body)
	}
	if rec.Signed != nil && *rec.Signed != got.signed {
		r.differ(rec.ID, "signature fits the received path: %v, ours %v", *rec.Signed, got.signed)
	}
	headers := map[string]string{}
	for name, value := range want.Headers {
		if name = strings.ToLower(name); governed(name) {
			headers[name] = value
		}
	}
	ours := map[string]string{}
	for name, values := range got.header {
		if name = strings.ToLower(name); governed(name) {
			ours[name] = strings.Join(values, "\n")
		}
	}
	if headers["x-bailing-job-id"] != "" {
		headers["x-bailing-job-id"] = job
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, ok := ours[name]
		switch {
		case !ok:
			r.differ(rec.ID, "no header %s", name)
		case name == "x-bailing-timestamp":
			if !seconds.MatchString(value) {
				r.differ(rec.ID, "%s is not in seconds", name)
			}
		case name == "x-bailing-signature" || name == "x-bailing-idempotency-key": // of other ids
		case value != headers[name]:
			r.differ(rec.ID, "header %s %s, ours %s", name, headers[name], value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := headers[name]; !ok {
			r.differ(rec.ID, "header %s added", name)
		}
	}
}

// governed are the headers that the contract or the operation declares; the rest is the client library's.
func governed(name string) bool {
	return strings.HasPrefix(name, "x-") || name == "content-type" || name == "content-length"
}
