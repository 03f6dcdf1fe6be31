package contracttest_test

import (
	"fmt"
	"testing"

	"bailing/shared/contract/contracttest"
)

// recorder is a testing.TB that remembers failures instead of failing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }

func TestResponse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, method, path string
		status             int
		body               string
		ok                 bool
	}{
		{"an answer as described", "POST", "/admin/pause", 200, `{"paused":true}`, true},
		{"a shared answer", "GET", "/jobs/{id}", 404, `{"error":"not found"}`, true},
		{"the path of the topology", "GET", "/schemas/{proxy+}", 404, `{"error":"not found"}`, true},
		{"a member of the wrong type", "POST", "/admin/pause", 200, `{"paused":"yes"}`, false},
		{"a status that is not described", "POST", "/admin/pause", 418, `{}`, false},
		{"a path that is not described", "GET", "/nowhere", 200, `{}`, false},
		{"no JSON", "POST", "/admin/pause", 200, `paused`, false},
		{"no body where none is described", "HEAD", "/health", 200, ``, true},
		{"a body where none is described", "HEAD", "/health", 200, `{}`, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			contracttest.Response(r, tc.method, tc.path, tc.status, []byte(tc.body))
			if ok := len(r.failures) == 0; ok != tc.ok {
				t.Errorf("ok = %v, want %v: %v", ok, tc.ok, r.failures)
			}
		})
	}
}

func TestClientAPI(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	contracttest.ClientAPI(r, "error-response.schema.json", []byte(`{"error":"not found"}`))
	if len(r.failures) > 0 {
		t.Errorf("a valid error: %v", r.failures)
	}
	contracttest.ClientAPI(r, "error-response.schema.json", []byte(`{"error":""}`))
	if len(r.failures) != 1 {
		t.Errorf("an empty error: %v", r.failures)
	}
}
