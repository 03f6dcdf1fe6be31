package store_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"bailing/shared/store"
)

// refusals is an S3 that refuses requests with these statuses and codes, one after another, and then takes them.
type refusals struct {
	t     *testing.T
	codes []string
	puts  int
}

func (r *refusals) Do(req *http.Request) (*http.Response, error) {
	r.puts++
	if body, err := io.ReadAll(req.Body); err != nil || !strings.Contains(string(body), "content") {
		r.t.Errorf("put %d: body %q, %v", r.puts, body, err)
	}
	status, text := http.StatusOK, ""
	if len(r.codes) > 0 {
		status, text = http.StatusConflict, "<Error><Code>"+r.codes[0]+"</Code></Error>"
		r.codes = r.codes[1:]
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
}

// S3 answers 409 to a conditional put while another one of the same key is under way, and asks to try again.
func TestPuttingWhatSomebodyElsePutsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const conflict = "ConditionalRequestConflict "
	for rule, tc := range map[string]struct {
		codes string
		puts  int
		ok    bool
	}{
		"a conflict, then room":              {conflict, 2, true},
		"a conflict, then it is there":       {conflict + "PreconditionFailed", 2, true},
		"conflicts to the last of the tries": {strings.Repeat(conflict, 3), 3, false},
		"another refusal is not tried again": {"OperationAborted", 1, false},
	} {
		r := &refusals{t: t, codes: strings.Fields(tc.codes)}
		client := s3.New(s3.Options{Region: "us-east-1", HTTPClient: r, Retryer: impatient()})
		address, err := (&store.S3Values{Client: client, Bucket: "b"}).PutValue(t.Context(), []byte("content"))
		if (err == nil) != tc.ok || r.puts != tc.puts || tc.ok && address != store.Address([]byte("content")) {
			t.Errorf("%s: %d puts, address %q, error %v", rule, r.puts, address, err)
		}
	}
}
