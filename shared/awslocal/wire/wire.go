package wire

import (
	"net/http"
	"strings"

	"bailing/shared/awslocal/fault"
	"bailing/shared/clock"
)

// AccessKey returns the access key id of a request signed with Signature Version 4 in its Authorization header,
// or "". The signature is not checked.
func AccessKey(r *http.Request) string {
	_, rest, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !ok {
		return ""
	}
	key, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	return key
}

// Operation is one request to a stand-in, split so that a fault can take the place of its parts.
type Operation struct {
	Op fault.Op
	// Run performs the operation and writes its answer. duplicate is the fault of that kind.
	Run func(w http.ResponseWriter, duplicate bool)
	// Throttle and Fail write the service's throttling error and its internal error (HTTP 500).
	Throttle, Fail func(w http.ResponseWriter)
}

// Serve runs the operation as the injector decides. A dropped connection is a panic with [http.ErrAbortHandler], which
// net/http turns into a closed connection. A conflict is a fault of DynamoDB only and changes nothing here.
func Serve(w http.ResponseWriter, r *http.Request, faults *fault.Injector, clk clock.Clock, o Operation) {
	f := faults.Next(o.Op)
	if f.Delay > 0 {
		if err := clock.Sleep(r.Context(), clk, f.Delay); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	switch f.Kind {
	case fault.Throttle:
		o.Throttle(w)
	case fault.ErrorBefore:
		o.Fail(w)
	case fault.Drop:
		panic(http.ErrAbortHandler)
	case fault.ErrorAfterCommit:
		o.Run(discard{http.Header{}}, false)
		o.Fail(w)
	case fault.DropAfterCommit:
		o.Run(discard{http.Header{}}, false)
		panic(http.ErrAbortHandler)
	default:
		o.Run(w, f.Kind == fault.Duplicate)
	}
}

// discard is an answer that nobody receives.
type discard struct{ h http.Header }

func (d discard) Header() http.Header       { return d.h }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
